r"""Folds of a data set, ready for training: split, preprocessed, and with neighbours found.

The graph of all rows is searched with slightly more neighbours than needed. For each fold, rows
outside its training set are removed from every list, which leaves the nearest training rows in
order. A list that becomes too short and was full before may have had further candidates, so it is
searched again among the training rows. Both graphs of a fold, that of the training rows and that of
the held-out rows, therefore equal those of a new search.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from math import ceil, sqrt
from time import perf_counter
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from vicinal._core.arrays import Csr, Features, Int, Int32
from vicinal._core.checks import check_integer
from vicinal._core.labels import Labels, read_labels
from vicinal._core.validation import check_features
from vicinal.distances import COSINE
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph, check_graph, no_neighbors
from vicinal.index import TrainingRows
from vicinal.methods import NeighborEstimator
from vicinal.methods.fold import Fold
from vicinal.methods.instance_knn import joined
from vicinal.methods.training import Training
from vicinal.preprocess import TextVectorizer, make_steps
from vicinal.results import digest_of
from vicinal.selection.grid import Grid, Position, Search, farthest, search_of
from vicinal.selection.stratification import Split, read_splits, train_share

DEEPEST = 4
"""The search of all rows finds at most this many times the number of neighbours needed."""


class SharedSearch:
    """One search over all rows that serves every fold: about k / `train_share` neighbours."""

    def __init__(
        self,
        X: Features,
        metric: str,
        k: int,
        train_share: float,
        n_jobs: int | None,
        *,
        algorithm: object = "auto",
    ) -> None:
        self.k = k
        self._rows = TrainingRows(X, metric, n_jobs, algorithm=algorithm)
        self._depth = depth(k, train_share)
        self._graph: NeighborGraph | None = None

    @property
    def graph(self) -> NeighborGraph:
        """The leave-one-out graph of all rows, k or more neighbours, searched when needed."""
        if self._graph is None:
            self._graph = self._rows.query_self(self._depth)
        return self._graph

    def fold(self, split: Split) -> tuple[NeighborGraph, NeighborGraph]:
        """Return the graphs of training and of held-out rows, with training rows as neighbours."""
        rows, k = self._rows, self.k
        if k == 0:
            return no_fold(split, rows.metric)
        X = rows.X[split.train]
        others = TrainingRows(X, rows.metric, rows.n_jobs, algorithm=rows.algorithm)
        return fold_graphs(
            self.graph,
            split,
            k,
            lambda asked: others.query_rows(asked, k),
            lambda asked: others.query(rows.X[split.test[asked]], k),
        )

    def training(self, split: Split) -> NeighborGraph:
        """Return only the graph of the training rows."""
        return self.fold(split)[0]


def no_fold(split: Split, metric: str) -> tuple[NeighborGraph, NeighborGraph]:
    """Return the graphs of a fold for methods that use no neighbours."""
    n_rows = len(split.train)
    return no_neighbors(n_rows, n_rows, metric), no_neighbors(len(split.test), n_rows, metric)


def fold_graphs(
    graph: NeighborGraph,
    split: Split,
    k: int,
    ask_training: Callable[[Int], NeighborGraph],
    ask_held_out: Callable[[Int], NeighborGraph],
) -> tuple[NeighborGraph, NeighborGraph]:
    """Return the graphs of a fold; lists that become too short are asked for again, by place."""
    n_rows, n_train = graph.n_rows, len(split.train)
    rest, lost = graph.without(np.setdiff1d(np.arange(n_rows), split.train))
    if graph.k >= n_rows - 1:
        lost = lost[:0]  # a list as long as the number of other rows contains all of them
    place: Int32 = np.full(n_rows + 1, -1, dtype=np.int32)
    place[split.train] = np.arange(n_train)

    def nearest(rows: Int, width: int, ask: Callable[[Int], NeighborGraph]) -> NeighborGraph:
        ids, values = place[rest.ids[rows, :width]], rest.values[rows, :width]
        short = np.flatnonzero((ids[:, -1] < 0) & np.isin(rows, lost))
        if len(short):
            fresh = ask(short)
            ids[short], values[short] = fresh.ids, fresh.values
        return NeighborGraph(ids, values, graph.metric, n_train)

    training = nearest(split.train, max(1, min(k, n_train - 1)), ask_training)
    return training, nearest(split.test, min(k, n_train), ask_held_out)


def depth(k: int, train_share: float) -> int:
    """Return how many neighbours to search so that few lists become shorter than k in a fold."""
    mean, deviation = k / train_share, sqrt(k * (1 - train_share)) / train_share
    return min(DEEPEST * k, ceil(mean + 2 * deviation))


JOINT = Search("joint")
"""The search by the cosine of features and labels together, for second-order methods."""

Step = tuple[str, Any]


class Folds:
    """The folds of some rows, with the neighbours that each search finds.

    Each fold is preprocessed on its training rows and searched. If there are no steps and `shared`
    is True, all rows are searched once. If a graph is given, nothing is searched.
    """

    def __init__(
        self,
        X: object,
        Y: Csr,
        splits: Sequence[Split],
        widths: Mapping[Search, int],
        n_jobs: int | None,
        steps: Sequence[Step] = (),
        *,
        shared: bool = False,
        graph: NeighborGraph | None = None,
    ) -> None:
        self.X, self.Y, self.splits = X, Y, splits
        self._widths, self._steps, self._n_jobs = widths, steps, n_jobs
        self._shared, self._graph = shared and not steps, graph
        self._searches: dict[Search, SharedSearch] = {}
        self._number = -1
        self._rows: tuple[Features, Features] | None = None
        self._by_search: dict[Search, Fold] = {}
        if graph is not None:
            check_graph(graph, Y.shape[0], Y.shape[0], 1)

    @property
    def digest(self) -> str:
        """A digest of the row ids of all folds."""
        return digest_of(*(rows for each in self.splits for rows in (each.train, each.test)))[:16]

    def graph_of(self, wanted: Search) -> NeighborGraph | None:
        """Return the graph of all rows, or None if each fold is searched on its own."""
        if self._graph is not None:
            return self._graph
        return self._search(wanted).graph if self._shared else None

    def fold(self, number: int, search: Search) -> Fold:
        """Return a fold with the neighbours that a search finds; release those of other numbers."""
        if number != self._number:
            self._number, self._rows, self._by_search = number, None, {}
        if search not in self._by_search:
            self._by_search[search] = self._fold(self.splits[number], search)
        return self._by_search[search]

    def _fold(self, split: Split, search: Search) -> Fold:
        """Return the fold of a split."""
        train, test = self._features(split)
        began, k = perf_counter(), self._widths.get(search, 0)
        if self._graph is not None:
            graph, held_out = given_fold(self._graph, split, k)
        elif self._shared:
            graph, held_out = self._search(search).fold(split)
        else:
            rows = TrainingRows(train, search.metric, self._n_jobs, algorithm=search.algorithm)
            graph, held_out = rows.query_self(k), rows.query(test, k)
        seconds = perf_counter() - began
        training = Training(graph, self.Y[split.train], train)
        if self._widths.get(JOINT, 0):
            training = replace(training, joint=self._joint(split, training))
        return Fold(training, held_out, test, self.Y[split.test], seconds)

    def _joint(self, split: Split, training: Training) -> NeighborGraph:
        """Return the neighbours of the training rows by features and labels together."""
        if self._shared:
            return self._search(JOINT).training(split)
        both = joined(check_features(training.X), training.Y)
        return TrainingRows(both, COSINE.name, self._n_jobs).query_self(self._widths.get(JOINT, 0))

    def _search(self, wanted: Search) -> SharedSearch:
        """Return the search of all rows."""
        if wanted not in self._searches:
            k, share = self._widths.get(wanted, 0), train_share(self.splits, self.Y.shape[0])
            rows, metric = check_features(self.X), wanted.metric
            if wanted == JOINT:
                rows, metric = joined(rows, self.Y), COSINE.name
            self._searches[wanted] = SharedSearch(
                rows, metric, k, share, self._n_jobs, algorithm=wanted.algorithm
            )
        return self._searches[wanted]

    def _features(self, split: Split) -> tuple[Features, Features]:
        """Return the preprocessed rows of the current fold."""
        if self._rows is None:
            steps = [(name, clone(step)) for name, step in self._steps]
            train = fit_steps(steps, take_rows(self.X, split.train), self.Y[split.train])
            self._rows = train, transform(steps, take_rows(self.X, split.test))
        return self._rows


def given_fold(graph: NeighborGraph, split: Split, k: int) -> tuple[NeighborGraph, NeighborGraph]:
    """Return the graphs of a fold from a given graph, which cannot be searched again."""
    if k == 0:
        return no_fold(split, graph.metric)

    def refuse(short: Int) -> NeighborGraph:
        expected = f"enough neighbours per row that {k} of them are training rows in every fold"
        got = f"{graph.k} neighbours per row: too few for {len(short)} rows of a fold"
        raise InvalidArgumentError("graphs", expected, got)

    return fold_graphs(graph, split, k, refuse, refuse)


def fit_steps(steps: Sequence[Step], X: object, Y: object) -> Features:
    """Fit preprocessing steps one after the other and return the resulting features."""
    for _, step in steps:
        X = step.fit(X, Y).transform(X)
    return check_features(X)


def transform(steps: Sequence[Step], X: object) -> Features:
    """Return rows transformed by fitted steps."""
    for _, step in steps:
        X = step.transform(X)
    return check_features(X)


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a frame or a list."""
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X[np.asarray(rows)]


TRIAL_ROWS = 10
"""Number of rows on which every value of a grid is tried before tuning starts."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels and folds."""

    given: object
    Y: object
    features: Features
    labels: Labels
    steps: list[Step]
    per_fold: bool
    splits: list[Split]
    graph: NeighborGraph | None = None

    @property
    def digest(self) -> str:
        """A digest of rows, labels, folds and the version of the library."""
        ids: list[Int] = [rows for split in self.splits for rows in (split.train, split.test)]
        steps = repr(self.steps) if self.per_fold else ""
        own = () if self.graph is None else (self.graph.ids, self.graph.values, self.graph.metric)
        return digest_of(version("vicinal"), self.features, self.labels.matrix, steps, *ids, *own)

    def folds(self, grids: Sequence[Grid], n_jobs: int | None) -> Folds:
        """Return the folds, with as many neighbours as the grids may need."""
        steps = self.steps if self.per_fold else []
        X, given = self.given if steps else self.features, (neighbor_widths(grids), n_jobs, steps)
        return Folds(X, self.labels.matrix, self.splits, *given, shared=True, graph=self.graph)

    def try_values(self, grids: Sequence[Grid]) -> None:
        """Fit every given value on a few rows, so that an invalid value is rejected immediately."""
        X, Y = self.features[:TRIAL_ROWS], self.labels.matrix[:TRIAL_ROWS]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for grid in grids:
                given = one_by_one(grid)[: 1 if grid.is_default else None]
                for model in map(grid.estimator, given):
                    if isinstance(model, NeighborEstimator):
                        model.fit(X, Y)


def read_problem(
    X: object,
    Y: object,
    cv: object,
    preprocess: object,
    per_fold: bool,
    random_state: int | None,
    label_names: Sequence[str] | None = None,
    graph: NeighborGraph | None = None,
) -> Problem:
    """Validate rows, labels, folds and preprocessing."""
    if random_state is not None:
        check_integer("random_state", random_state, low=0)
    steps = read_steps(preprocess, X)
    features = fit_steps(steps, X, Y) if steps else check_features(X)
    labels = read_labels(Y, features.shape[0], label_names)
    splits = read_splits(cv, features, labels.matrix, random_state)
    return Problem(X, Y, features, labels, steps, per_fold, splits, graph)


def read_steps(preprocess: object, X: object = None) -> list[Step]:
    """Return preprocessing as unfitted, named steps."""
    if preprocess is None:
        return []
    if isinstance(preprocess, str):
        words = [count_words()] if is_texts(X) else []
        return [*words, *make_steps(preprocess, bool(words) or sparse.issparse(X))]
    listed: list[Any] = list(preprocess) if isinstance(preprocess, list | tuple) else [preprocess]
    named = [
        each if isinstance(each, tuple) else (type(each).__name__.lower(), each) for each in listed
    ]
    for name, step in named:
        if not (isinstance(name, str) and hasattr(step, "fit") and hasattr(step, "transform")):
            raise InvalidArgumentError("preprocess", "transformers", repr(step))
    return [(name, clone(step)) for name, step in named]


def count_words() -> Step:
    """Return the step that counts the words of texts, as ``vicinal train`` counts them."""
    return "words", TextVectorizer(weighting="counts", tokens="unicode")


def is_texts(X: Any) -> bool:
    """Tell whether rows are texts."""
    if isinstance(X, list | tuple):
        return bool(X) and all(isinstance(row, str) for row in X)
    is_column = len(getattr(X, "shape", ())) == 1
    return is_column and all(isinstance(row, str) for row in X)


def neighbor_widths(grids: Sequence[Grid]) -> dict[Search, int]:
    """Return the number of neighbours that the grids need, including their possible extensions."""
    widths: dict[Search, int] = {}
    for grid in map(farthest, grids):
        for position in one_by_one(grid):
            model = grid.estimator(position)
            if not isinstance(model, NeighborEstimator):
                continue
            k = model.needed_neighbors()
            search = search_of(model)
            widths[search] = max(widths.get(search, 0), k)
            if getattr(model, "second_order", False) is True:
                widths[JOINT] = max(widths.get(JOINT, 1), k - 1)
    deepest = max(widths.values(), default=0)
    # Axes are inspected one by one, so combinations of k and search that do not occur are covered
    # too.
    return {search: deepest if k else k for search, k in widths.items()}


def one_by_one(grid: Grid) -> list[Position]:
    """Return settings that cover every value of every axis, varying one axis at a time."""
    start = np.zeros(len(grid.axes), dtype=np.int64)
    positions = []
    for axis, values in enumerate(grid.axes.values()):
        for place in range(len(values)):
            position = start.copy()
            position[axis] = place
            positions.append(tuple(position.tolist()))
    return list(dict.fromkeys(positions))
