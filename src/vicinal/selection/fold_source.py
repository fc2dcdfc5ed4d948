"""Folds of a data set, ready for training: split, preprocessed, and with neighbours found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from vicinal._base.arrays import Csr, Features
from vicinal._base.validation import check_features
from vicinal.distances import COSINE
from vicinal.estimators.fold import Fold
from vicinal.estimators.joint import joined
from vicinal.index import TrainingRows
from vicinal.scoring import Training
from vicinal.selection.grid import Search
from vicinal.selection.shared_search import SharedSearch
from vicinal.selection.splits import Split, train_share

JOINT = Search("joint")
"""The search by the cosine of features and labels together, for second-order methods."""

Step = tuple[str, Any]


@dataclass(frozen=True)
class Widths:
    """The number of neighbours needed per search."""

    by_search: Mapping[Search, int]

    def of(self, search: Search) -> int:
        """Return the number of neighbours needed from a search."""
        return self.by_search.get(search, 0)


class SharedFolds:
    """Folds of rows that were preprocessed once, with one search of each kind for all folds.

    Memory: the graph of all rows, and the rows of one fold at a time.
    """

    def __init__(
        self, X: Features, Y: Csr, splits: Sequence[Split], widths: Widths, n_jobs: int | None
    ) -> None:
        self.X, self.Y, self.splits = X, Y, splits
        self._widths, self._n_jobs = widths, n_jobs
        self._searches: dict[Search, SharedSearch] = {}

    def search(self, wanted: Search) -> SharedSearch:
        """Return the search of all rows."""
        if wanted not in self._searches:
            k, share = self._widths.of(wanted), train_share(self.splits, self.Y.shape[0])
            rows, metric = self.X, wanted.metric
            if wanted == JOINT:
                rows, metric = joined(self.X, self.Y), COSINE.name
            self._searches[wanted] = SharedSearch(
                rows, metric, k, share, self._n_jobs, algorithm=wanted.algorithm
            )
        return self._searches[wanted]

    def fold(self, number: int, search: Search) -> Fold:
        """Return a fold with the neighbours that a search finds."""
        split = self.splits[number]
        graph, held_out = self.search(search).fold(split)
        training = Training(graph, self.Y[split.train], self.X[split.train])
        if self._widths.of(JOINT):
            training = replace(training, joint=self.search(JOINT).training(split))
        return Fold(training, held_out, self.X[split.test], self.Y[split.test])


class PreparedFolds:
    """Folds that are preprocessed separately on their training rows, with one search per fold."""

    def __init__(
        self,
        X: object,
        Y: Csr,
        splits: Sequence[Split],
        widths: Widths,
        steps: Sequence[Step],
        n_jobs: int | None,
    ) -> None:
        self.X, self.Y, self.splits = X, Y, splits
        self._widths, self._steps, self._n_jobs = widths, steps, n_jobs
        self._last: tuple[int, tuple[Features, Features] | None] = (-1, None)

    def fold(self, number: int, search: Search) -> Fold:
        """Return a fold with the neighbours that a search finds."""
        split = self.splits[number]
        train, test = self._rows(number)
        began = perf_counter()
        rows = TrainingRows(train, search.metric, self._n_jobs, algorithm=search.algorithm)
        k = self._widths.of(search)
        graph, held_out = rows.query_self(k), rows.query(test, k)
        seconds = perf_counter() - began
        training = Training(graph, self.Y[split.train], train)
        k = self._widths.of(JOINT)
        if k:
            both = TrainingRows(joined(train, training.Y), COSINE.name, self._n_jobs)
            training = replace(training, joint=both.query_self(k))
        return Fold(training, held_out, test, self.Y[split.test], seconds)

    def _rows(self, number: int) -> tuple[Features, Features]:
        """Return the preprocessed rows of a fold; those of the most recent fold are cached."""
        last, rows = self._last
        if rows is None or number != last:
            split = self.splits[number]
            steps = [(name, clone(step)) for name, step in self._steps]
            train = fit_steps(steps, take_rows(self.X, split.train), self.Y[split.train])
            rows = train, transform(steps, take_rows(self.X, split.test))
            self._last = number, rows
        return rows


Folds = SharedFolds | PreparedFolds


class CurrentFold:
    """The current fold, created once for all methods that use the same search."""

    def __init__(self, folds: Folds) -> None:
        self._folds = folds
        self._number = -1
        self._by_search: dict[Search, Fold] = {}

    def fold(self, number: int, search: Search) -> Fold:
        """Return a fold and release any other fold."""
        if number != self._number:
            self._number, self._by_search = number, {}
        if search not in self._by_search:
            self._by_search[search] = self._folds.fold(number, search)
        return self._by_search[search]


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
    """Return some rows of an array, a frame or a list.

    Examples
    --------
    >>> take_rows(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X[np.asarray(rows)]
