"""The blend, fitted: views, parts and the mixture that makes probabilities of what they say.

For a part that is left out of a sum, its score of the label and its best score of the row are 0.
The base is the log-odds of the label if all parts are left out: it depends on the label's share of
the training rows alone. A part's share is divided among the neighbours or features whose terms add
up to its own score, in proportion to them; co-occurrence, and parts whose terms nearly cancel, keep
their share.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from vicinal._core.arrays import Csr, Features, Float, Int
from vicinal._core.csr import take_rows
from vicinal._core.progress import blocks
from vicinal._core.state import State, read_array, read_count, read_part, read_value
from vicinal._core.threads import in_threads
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.explain.breakdown import Breakdown, Terms, mixture_breakdown
from vicinal.graph import NeighborGraph
from vicinal.methods._formulas import explain_scoring
from vicinal.methods.blend.mixture import (
    COLUMNS_PER_PART,
    Candidates,
    CellMaker,
    Cells,
    ConvexMix,
    Trees,
    can_learn,
    fit_boosting,
    score_spread,
)
from vicinal.methods.blend.network import Network, fit_network
from vicinal.methods.blend.parts import (
    CoOccurrence,
    FeatureSimilarityScoring,
    Part,
    View,
    best_votes,
    given_view,
    kernel_ridge,
    linear_ridge,
    scaled_view,
    weighted_view,
)
from vicinal.methods.blend.plan import (
    MOST_CELLS,
    BlendSettings,
    Plan,
    candidates_per_row,
    content_order,
    make_plan,
)
from vicinal.methods.training import (
    EveryLabel,
    Training,
    check_given,
    leave_one_out,
    read_indicator,
)
from vicinal.scores import Scores


def cell_breakdown(
    log_odds: Callable[[Cells], Float],
    names: Sequence[str],
    cell: Cells,
    breakdowns: Sequence[Breakdown | None],
) -> Breakdown:
    """Return the breakdown of one cell's log-odds.

    Parameters
    ----------
    log_odds : callable
        The mixture.
    names : sequence of str
        Of the parts.
    cell : ndarray of float32, shape (n_columns,)
    breakdowns : sequence of Breakdown or None
        What each part's score of the label consists of.
    """

    def mixed(speaks: Float) -> Float:
        keeps = np.repeat(speaks > 0, COLUMNS_PER_PART, axis=1)
        points = np.tile(cell, (len(speaks), 1))
        points[:, :-1] *= keeps
        return log_odds(points)

    n_parts = len(names)
    found = mixture_breakdown(mixed, names, np.ones(n_parts), np.zeros(n_parts), breakdowns)
    return replace(found, terms=_united(found.terms))


def _united(terms: Sequence[Terms]) -> tuple[Terms, ...]:
    """Return terms in which every neighbour, feature and input stands once.

    Examples
    --------
    >>> near, far = (Terms("neighbor", ids, np.ones(2)) for ids in ([4, 9], [9, 2]))
    >>> (one,) = _united([near, far])
    >>> one.ids.tolist(), one.shares.tolist()
    ([2, 4, 9], [1.0, 1.0, 2.0])
    """
    united = [each for each in terms if each.kind == "input"]
    for kind in ("feature", "neighbor"):
        same = [each for each in terms if each.kind == kind]
        if same:
            ids, place = np.unique(np.concatenate([each.ids for each in same]), return_inverse=True)
            shares = np.zeros(len(ids))
            np.add.at(shares, place, np.concatenate([each.shares for each in same]))
            united.append(Terms(kind, ids, shares))
    return tuple(united)


BLOCK_CELLS = 2**20
"""Rows × labels that a thread scores at a time: 8 MiB of float64 for each part."""
MOST_BLOCK_ROWS = 1024

Mixture = Trees | Network | ConvexMix


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Scores of training rows by mixtures that were not trained on them.

    Parameters
    ----------
    rows : ndarray of int64, shape (r,)
        Training rows that the mixture was trained on, rising.
    scores : Scores
        Of those rows.
    """

    rows: Int
    scores: Scores

    def blocks(self, n_rows: int) -> Iterator[Scores]:
        """Yield the scores of so many rows at a time."""
        for start in range(0, len(self.rows), n_rows):
            yield self.scores.take(np.arange(start, min(start + n_rows, len(self.rows))))


@dataclass(frozen=True, eq=False)
class BlendScoring:
    """Parts that score rows, and what makes one probability of it.

    Parameters
    ----------
    k : int
        Neighbours that the votes look at.
    views : tuple of View
    parts : tuple of Part
    co_occurrence : CoOccurrence or None
    maker : CellMaker
    mixture : Trees, Network or ConvexMix
    Y : csr_array of int32, shape (n, L)
    held_out : HeldOut or None
        Training scores, for thresholds; not saved.
    """

    k: int
    views: tuple[View, ...]
    parts: tuple[Part, ...]
    co_occurrence: CoOccurrence | None
    maker: CellMaker
    mixture: Mixture
    Y: Csr
    held_out: HeldOut | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The parts by name, in the order of the cells' columns."""
        more = () if self.co_occurrence is None else ("co-occurrence",)
        return (*(part.name for part in self.parts), *more)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Return probabilities of the candidate labels of each row; other labels score 0."""
        given = check_given(X, graph.n_queries)
        n_labels = self.Y.shape[1]

        def some(bounds: tuple[int, int]) -> Scores:
            rows = slice(*bounds)
            found = self.candidates(graph.some(rows), given[rows])
            return found.scores(probability(self.mixture.log_odds(found.cells)), n_labels)

        step = rows_at_once(self.parts, n_labels)
        found = in_threads(some, blocks(given.shape[0], step, "Blending"))
        return Scores.stack(found) if found else Scores.sparse(self.Y[:0].astype(np.float64))

    def candidates(self, graph: NeighborGraph, X: Features) -> Candidates:
        """Return the candidates of rows."""
        return self.maker.make(self.part_scores(graph, X))

    def part_scores(self, graph: NeighborGraph, X: Features) -> list[Scores]:
        """Return the scores of the rows of `X` by every part."""
        seen, near = self._seen(graph, X)
        found = [part.scoring.scores(near[part.view], seen[part.view]) for part in self.parts]
        if self.co_occurrence is not None:
            source = found[co_occurrence_source(self.parts)].toarray()
            found.append(Scores.dense(self.co_occurrence.scores(source)))
        return found

    def _seen(
        self, graph: NeighborGraph, X: Features
    ) -> tuple[list[Features], list[NeighborGraph]]:
        """Return the rows in each view, and their neighbours in it."""
        seen = [view.of(X) for view in self.views]
        wanted = [
            max((p.scoring.k for p in self.parts if p.view == v), default=0)
            for v in range(len(self.views))
        ]
        near = [
            view.nearest(rows, k) if view.rows is not None and k else graph
            for view, rows, k in zip(self.views, seen, wanted, strict=True)
        ]
        return seen, near

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return Shapley values of the parts, as log-odds; a label that is no candidate scores 0.

        See :mod:`vicinal.methods.blend.scoring`.
        """
        given = check_given(X, graph.n_queries)
        candidates = self.candidates(graph, given)
        seen, near = self._seen(graph, given)
        asked = [
            explain_scoring(part.scoring, near[part.view], labels, seen[part.view])
            for part in self.parts
        ]
        of_row = candidates.labels[0].tolist()
        found = []
        for place, label in enumerate(labels):
            if label not in of_row:
                found.append(Breakdown(0.0, facts={"candidate": "no"}))
                continue
            of_parts: list[Breakdown | None] = [each[place] for each in asked]
            if self.co_occurrence is not None:
                of_parts.append(None)
            cell = candidates.cells[of_row.index(label)]
            found.append(cell_breakdown(self.mixture.log_odds, self.names, cell, of_parts))
        return found

    def training_scores(self, training: Training, rows: slice | Int) -> Scores:
        """Return the scores of training rows by mixtures that were not trained on them."""
        asked = np.arange(training.n_rows)[rows]
        if self.held_out is None:
            raise InvalidArgumentError(
                "model",
                "one that was fitted in this process, which holds training scores",
                "a loaded one",
            )
        place = np.searchsorted(self.held_out.rows, asked)
        place = np.minimum(place, len(self.held_out.rows) - 1)
        if len(asked) and not np.array_equal(self.held_out.rows[place], asked):
            raise InvalidArgumentError(
                "rows", f"the {len(self.held_out.rows)} rows the mixture was trained on", "others"
            )
        return self.held_out.scores.take(place)

    def get_state(self) -> dict[str, State]:
        """Return the state as plain values, arrays and parts."""
        return {
            "k": self.k,
            "views": list(self.views),
            "parts": list(self.parts),
            "co_occurrence": self.co_occurrence,
            "center": self.maker.center,
            "scale": self.maker.scale,
            "log_prior": self.maker.log_prior,
            "width": self.maker.width,
            "mixture": self.mixture,
            "Y": self.Y,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        Y = read_indicator(state, "Y")
        views, parts = _read_list(state, "views", View), _read_list(state, "parts", Part)
        co_occurrence = read_value(state, "co_occurrence")
        if co_occurrence is not None:
            co_occurrence = read_part(state, "co_occurrence", CoOccurrence)
        n_parts = len(parts) + (co_occurrence is not None)
        maker = CellMaker(
            read_array(state, "center", np.float64, (n_parts,)),
            read_array(state, "scale", np.float64, (n_parts,)),
            read_array(state, "log_prior", np.float64, (Y.shape[1],)),
            read_count(state, "width"),
        )
        mixture = read_value(state, "mixture")
        if not isinstance(mixture, Trees | Network | ConvexMix):
            raise ModelFormatError(f"mixture: unexpected {type(mixture).__name__}")
        if mixture.n_columns != maker.n_columns or np.any(maker.scale <= 0):
            raise ModelFormatError("mixture: expected one of as many columns as the parts have")
        for part in parts:
            if part.view >= len(views) or part.scoring.Y.shape != Y.shape:
                raise ModelFormatError(f"parts: {part.name} does not fit the other parts")
        return cls(
            read_count(state, "k", low=0),
            tuple(views),
            tuple(parts),
            co_occurrence,
            maker,
            mixture,
            Y,
        )


def _read_list(state: Mapping[str, State], key: str, kind: type[Any]) -> list[Any]:
    """Return ``state[key]``, a list of parts of that type."""
    items: list[Any] = read_part(state, key, list)
    if not items or not all(isinstance(item, kind) for item in items):
        raise ModelFormatError(f"{key}: expected at least one {kind.__name__}")
    return items


def probability(log_odds: Float) -> Float:
    """Return the probabilities of log-odds, never exactly 0.

    Examples
    --------
    >>> probability(np.array([0.0, -2000.0])).tolist()
    [0.5, 1e-12]
    """
    p: Float = 1.0 / (1.0 + np.exp(-np.clip(log_odds, -700.0, 700.0)))
    return np.clip(p, 1e-12, 1.0)


def rows_at_once(parts: Sequence[Part], n_labels: int) -> int:
    """Return how many rows are blended at a time: fewer where a part scores every label."""
    if not any(isinstance(part.scoring, EveryLabel) for part in parts):
        return MOST_BLOCK_ROWS
    return max(1, min(MOST_BLOCK_ROWS, BLOCK_CELLS // n_labels))


def co_occurrence_source(parts: Sequence[Part]) -> int:
    """Return the place of the part whose scores co-occurrence spreads: the last ridge."""
    ridges = [place for place, part in enumerate(parts) if part.name.startswith("ridge")]
    return ridges[-1]


def left_out_scores(
    parts: Sequence[Part],
    trainings: Sequence[Training],
    co_occurrence: CoOccurrence | None,
    rows: Int,
) -> list[Scores]:
    """Return the leave-one-out scores of training rows by every part."""
    found = [leave_one_out(part.scoring, trainings[part.view], rows) for part in parts]
    if co_occurrence is not None:
        source = found[co_occurrence_source(parts)].toarray()
        labels = take_rows(trainings[0].Y, rows).astype(np.float64)
        found.append(Scores.dense(co_occurrence.training_scores(source, labels)))
    return found


JUDGED_ROWS, JUDGED_LABELS = 4000, 25_000
"""Rows, and labels that they have, by which k, powers and regularisations are chosen."""
SPREAD_ROWS = 500
"""Rows whose scores set the scale of each part."""


def fit_blend(training: Training, k: int, settings: BlendSettings) -> BlendScoring:
    """Choose views and parts by what the rows are and cost, and learn their mixture."""
    X = check_given(training.X, training.n_rows)
    co_occurrence = CoOccurrence.fit(training.Y)
    plan = make_plan(X, training.Y, co_occurrence.pairs.nnz, settings.max_memory)
    plan.warn()
    views, trainings = _views(training, plan, k)
    order = content_order(X, training.Y)
    parts = _parts(trainings, plan, settings, order)
    used = co_occurrence if plan.has_co_occurrence else None
    return fit_mixture(views, parts, used, trainings, k, settings, order)


def fit_mixture(
    views: Sequence[View],
    parts: Sequence[Part],
    co_occurrence: CoOccurrence | None,
    trainings: Sequence[Training],
    k: int,
    settings: BlendSettings,
    order: Int,
) -> BlendScoring:
    """Learn the mixture of fitted parts from their leave-one-out scores.

    Cells come in the `order` that the contents of the rows decide, and so do folds and sums.
    """
    Y = trainings[0].Y
    n_rows, n_labels = Y.shape
    width = candidates_per_row(Y)
    rows = order[_mixed_rows(n_rows, MOST_CELLS // width, settings.random_state)]
    few = rows[:: max(1, len(rows) // SPREAD_ROWS)]
    spread = score_spread(left_out_scores(parts, trainings, co_occurrence, few))
    share = (np.bincount(Y.indices, minlength=n_labels) + 0.5) / (n_rows + 1.0)
    maker = CellMaker(*spread, np.log(share), width)

    def some(bounds: tuple[int, int]) -> Candidates:
        return maker.make(left_out_scores(parts, trainings, co_occurrence, rows[slice(*bounds)]))

    step = rows_at_once(parts, n_labels)
    made = in_threads(some, blocks(len(rows), step, "Leaving rows out"))
    candidates = Candidates(
        np.concatenate([block.labels for block in made]),
        np.concatenate([block.cells for block in made]),
    )
    del made
    row_of = np.repeat(np.arange(len(rows)), width)
    true = np.asarray(
        take_rows(Y, rows).astype(np.float64)[row_of, candidates.labels.ravel()]
    ).ravel()
    mixture, log_odds = _mixture(candidates, true, row_of, settings)
    rising = np.argsort(rows)
    held_out = candidates.scores(probability(log_odds), n_labels).take(rising)
    return BlendScoring(
        k,
        tuple(views),
        tuple(parts),
        co_occurrence,
        maker,
        mixture,
        Y,
        HeldOut(rows[rising], held_out),
    )


def _mixture(
    candidates: Candidates, true: Float, row_of: Int, settings: BlendSettings
) -> tuple[Mixture, Float]:
    """Return the mixture, and the log-odds of its training cells."""
    if settings.combine == "mix" or not can_learn(true, row_of, settings.random_state):
        mix = ConvexMix.fit(candidates.cells, true)
        return mix, mix.log_odds(candidates.cells)
    if settings.combine == "network":
        network = fit_network(candidates.cells, true, row_of, settings.random_state)
        return network.network, network.held_out
    boosted = fit_boosting(candidates.cells, true, row_of, settings.random_state)
    return boosted.trees, boosted.held_out


def _views(training: Training, plan: Plan, k: int) -> tuple[list[View], list[Training]]:
    """Return the views of the rows, and the training rows and graph in each."""
    X = check_given(training.X, training.n_rows)
    first = given_view(X)
    views, trainings = [first], [replace(training, X=first.of(X))]
    second = None
    if plan.is_dense:
        second = scaled_view(X)
    elif plan.has_weights:
        second = weighted_view(X, training.Y)
    if second is not None:
        views.append(second)
        trainings.append(Training(second.nearest_others(k), training.Y, second.rows))
    return views, trainings


def _parts(
    trainings: Sequence[Training], plan: Plan, settings: BlendSettings, order: Int
) -> list[Part]:
    """Return the fitted parts of every view."""
    judged = order[: judged_rows(trainings[0].Y)]
    names = ("as given", "scaled" if plan.is_dense else "weighted")
    votes = in_threads(lambda training: best_votes(training, judged), trainings)
    parts = [Part(f"votes, {names[view]}", view, each) for view, each in enumerate(votes)]
    if plan.ridge_features:
        # Measurements as given differ in scale, which no ridge should depend on.
        first = 1 if plan.is_dense else 0

        def fit_ridge(view: int) -> Part:
            ridge = linear_ridge(trainings[view], plan, settings.max_memory, judged)
            return Part(f"ridge, {names[view]}", view, ridge)

        seen = range(first, len(trainings))
        parts += in_threads(fit_ridge, seen) if plan.solves_together else map(fit_ridge, seen)
    if plan.has_kernel:
        kernel = kernel_ridge(trainings[1], settings.max_memory, order, judged)
        parts.append(Part("ridge, kernel", 1, kernel))
    if plan.has_similarity and plan.has_weights:
        last = len(trainings) - 1
        similarity = FeatureSimilarityScoring.fit(trainings[last])
        parts.append(Part("feature similarity", last, similarity))
    return parts


def judged_rows(Y: Csr) -> int:
    """Return how many rows settings are chosen on: fewer where rows have many labels.

    Examples
    --------
    >>> from scipy import sparse
    >>> judged_rows(sparse.csr_array(np.ones((5_000, 2)))), judged_rows(sparse.csr_array((9, 2)))
    (4000, 4000)
    >>> judged_rows(sparse.csr_array(np.ones((5_000, 25))))
    1000
    """
    return min(JUDGED_ROWS, JUDGED_LABELS * Y.shape[0] // max(1, Y.nnz))


def _mixed_rows(n_rows: int, most: int, random_state: int) -> Int:
    """Return the places of the rows that the mixture is trained on: all, or some at random."""
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(random_state).permutation(n_rows)[:most])
