"""Weighted sums of sparse rows, for instance and feature neighbours.

:mod:`vicinal._core.posterior` computes posteriors from these tables.

``scoring.explain(graph, labels, X)`` takes the graph (and features) of one query and returns a
:class:`~vicinal.explanation.Breakdown` per label, in the symbols of the method's formulas.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Float, Int, Int32, is_stored, row_ids
from vicinal._core.checks import check_integer
from vicinal._core.csr import checked_csr, no_rows, take_rows, trust, with_values
from vicinal._core.posterior import likelihood, posterior, prior, vote_posterior
from vicinal._core.threads import thread_count
from vicinal._core.validation import as_csr, csr_parts
from vicinal._native import SparseMatrix, column_search, row_sums
from vicinal.distances import COSINE
from vicinal.errors import InvalidArgumentError
from vicinal.explanation.breakdown import Breakdown, Terms
from vicinal.graph import NeighborGraph
from vicinal.methods.training import Scoring
from vicinal.scores import Scores


@dataclass(frozen=True, eq=False)
class RowSums:
    """Weighted sums of rows, one per query, and the sums of their weights."""

    values: Csr
    totals: Float

    def means(self) -> Csr:
        """Return the sums divided by their weights; a row without weight is empty, that is, 0."""
        if not np.isfinite(self.totals).all():
            raise InvalidArgumentError("values", "finite values", "NaN or infinity")
        per_entry = np.repeat(self.totals, np.diff(self.values.indptr))
        return with_values(self.values, self.values.data / per_entry)


def neighbor_weights(graph: NeighborGraph, power: float = 1.0) -> Float:
    r"""Return the weight of each neighbour: its similarity, 0 where that is negative, to a power.

    A Euclidean graph has distances *d* instead; their similarity is :math:`1 / (1 + d)`.
    """
    if graph.distance_kind.is_similarity:
        similarity = np.maximum(graph.similarity, 0.0)
    else:
        similarity = 1.0 / (1.0 + graph.distance)
    return similarity if power == 1 else similarity**power


def neighbor_sums(
    graph: NeighborGraph,
    rows: Csr,
    ks: Iterable[int],
    start: RowSums | None = None,
    power: float = 1.0,
) -> Iterator[RowSums]:
    r"""Yield :math:`\sum_{a \in N(x)} w_a \, r_a` over the k nearest rows, for each k of `ks`.

    Memory: 12 bytes per query and label that one of its neighbours has, and 9 per label and thread.
    """
    if rows.shape[0] != graph.n_rows:
        raise InvalidArgumentError("rows", f"{graph.n_rows} rows", rows.shape[0])
    ids = np.ascontiguousarray(graph.ids).ravel()
    weights = neighbor_weights(graph, power).ravel()
    first = np.arange(graph.n_queries, dtype=np.int64) * graph.k
    last = first + graph.found
    done, sums = 0, start
    for k in ks:
        begin, end = np.minimum(first + done, last), np.minimum(first + k, last)
        sums = _added(begin, end, ids, weights, rows, sums)
        done = k
        yield sums


def combined_rows(weights: Csr, rows: Csr, aggregate: str) -> RowSums:
    r"""Return :math:`\sum_j w_{ij} r_j` for each row of `weights`, or the largest :math:`r_j`.

    Weights that are not positive are ignored; with ``aggregate="max"`` the others only select rows.
    ``"kept-mean"`` divides each sum by the weights of the rows that store the column.
    """
    if weights.shape[1] != rows.shape[0]:
        raise InvalidArgumentError("X", f"{rows.shape[0]} features", weights.shape[1])
    indptr, indices = csr_parts(weights)
    values = np.ascontiguousarray(weights.data[: indptr[-1]], dtype=np.float64)
    return _added(indptr[:-1], indptr[1:], indices, values, rows, aggregate=aggregate)


def native_matrix(matrix: Csr) -> SparseMatrix:
    """Return a canonical matrix for the compiled core."""
    indptr, indices = csr_parts(matrix)
    values = np.ascontiguousarray(matrix.data[: indptr[-1]], dtype=np.float64)
    return SparseMatrix(indptr, indices, values, matrix.shape[1])


def _added(
    begin: Int,
    end: Int,
    ids: Int32,
    weights: Float,
    rows: Csr,
    start: RowSums | None = None,
    *,
    aggregate: str = "mean",
) -> RowSums:
    """Call the compiled loop; `begin` and `end` delimit each query's `ids` and `weights`."""
    before = start or RowSums(no_rows(int(rows.shape[1])), np.empty(0))
    indptr, indices, values, totals = row_sums(
        begin,
        end,
        ids,
        weights,
        native_matrix(rows),
        aggregate,
        native_matrix(before.values),
        before.totals,
        thread_count(),
    )
    shape = (len(begin), int(rows.shape[1]))
    return RowSums(checked_csr(values, indices, indptr, shape), totals)


def column_graph(A: Features, B: Features, k: int, n_jobs: int | None = None) -> NeighborGraph:
    """Return, for each column of `A`, the k columns of `B` with the highest cosine.

    The order is the same as in every search: descending similarity, then ascending column id.
    Columns that share no row are not candidates.

    The search is exact; its cost is the number of pairs of an entry of `A` and one of `B` in the
    same row. Memory: 12 bytes per entry of `A` for its transpose and 8 of `B` where it is not
    float64, 12 for each result, and 9 per column of `B` and thread. No a × b matrix is built.
    """
    if A.shape[0] != B.shape[0]:
        raise InvalidArgumentError("B", f"{A.shape[0]} rows", B.shape[0])
    width = max(1, min(check_integer("k", k, low=1), B.shape[1]))
    items = as_csr(A).T.tocsr()
    ids, values = column_search(
        native_matrix(items), native_matrix(as_csr(B)), width, thread_count(n_jobs)
    )
    return NeighborGraph(ids, values, COSINE.name, B.shape[1])


def kept_similarities(graph: NeighborGraph) -> Csr:
    """Return the positive similarities of a graph as a matrix, queries × rows."""
    kept = (graph.ids >= 0) & (graph.similarity > 0)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(kept, axis=1))])
    shape = (graph.n_queries, graph.n_rows)
    parts = (graph.similarity[kept], graph.ids[kept], indptr)
    matrix = cast("Csr", sparse.csr_array(parts, shape=shape))
    matrix.sort_indices()
    return trust(matrix)


__all__ = ["likelihood", "posterior", "prior", "tally", "vote_posterior"]


def tally(counts: Csr, Y: Csr, width: int) -> tuple[Int, Int]:
    r"""Tabulate the votes of rows by label, number of votes and true value."""
    n_rows, n_labels = Y.shape
    carries = is_stored(Y, counts)
    cells = counts.indices.astype(np.int64) * width + counts.data
    with_label, without_label = (
        np.bincount(cells[chosen], minlength=n_labels * width).reshape(n_labels, width)
        for chosen in (carries, ~carries)
    )
    # Rows without votes are not stored; they are the remainder.
    positives = np.bincount(Y.indices, minlength=n_labels)
    with_label[:, 0] = positives - with_label.sum(axis=1)
    without_label[:, 0] = n_rows - positives - without_label.sum(axis=1)
    return with_label, without_label


Fitted = TypeVar("Fitted")

SAMPLED_ROWS = 4000
"""Rows that a choice is made on."""


def sampled_rows(n_rows: int) -> Int:
    """Return the rows that a choice is made on, evenly spaced; all where there are few."""
    return np.arange(0, n_rows, -(-n_rows // SAMPLED_ROWS) or 1)


def best_of(
    values: Sequence[float], fit: Callable[[float], tuple[Fitted, float]], *, climbs: bool = False
) -> Fitted:
    """Return what is fitted with the best of some values; the first of equals."""
    middle = min(1, len(values) - 1) if climbs else 0
    best, most = fit(values[middle])
    has_risen = False
    for value in values[middle + 1 :]:
        fitted, good = fit(value)
        if good > most:
            best, most, has_risen = fitted, good, True
        elif climbs:
            break
    if climbs and not has_risen and middle > 0:
        fitted, good = fit(values[middle - 1])
        best = fitted if good > most else best
    return best


def best_micro_f1(scores: Scores, Y: Csr) -> float:
    r"""Return the micro-F1 at the best threshold; ties of scores may be cut anywhere.

    Labels without a stored score are never predicted. If :math:`t_n` of the n largest scores are of
    true labels, their micro-F1 is :math:`F_n = 2 t_n / (n + p)`, where p is the number of true
    labels. Only t of these have a score, so that :math:`F_n \le 2 t / (n + p)`: once the largest
    scores have given some F, no n above :math:`2 t / F - p` can be better. Usually, all n up to
    there are among the 6 p + 100 that are looked at first.

    Memory: 17 bytes per score, and some 40 per score that is looked at: all of them if F is 0.
    """
    values, true = _pairs(scores, Y)
    first = min(len(values), 6 * Y.nnz + 100)
    best = _best_of_top(values, true, Y.nnz, first)
    n_scored = np.count_nonzero(true)
    useful = 2.0 * n_scored / best - Y.nnz + 1.0 if best else np.inf
    if n_scored and first < min(len(values), useful):
        best = max(best, _best_of_top(values, true, Y.nnz, int(min(len(values), useful))))
    return best


def _best_of_top(values: Float, true: NDArray[np.bool_], n_true: int, most: int) -> float:
    """Return the best micro-F1 of the 1, 2, …, `most` largest scores."""
    top = np.argpartition(-values, most - 1)[:most] if most < len(values) else np.arange(most)
    order = top[np.argsort(-values[top], kind="stable")]
    hits = np.cumsum(true[order])
    return float(np.max(2.0 * hits / (np.arange(1, most + 1) + n_true), initial=0.0))


def best_weighted_micro_f1(scores: Scores, Y: Csr, weights: Float) -> float:
    """Return the same where a row of weight w is there w times."""
    values, true = _pairs(scores, Y)
    each = np.repeat(weights, Y.shape[1])
    order = np.argsort(-values, kind="stable")
    hits, predicted = np.cumsum((each * true)[order]), np.cumsum(each[order])
    return float(np.max(2.0 * hits / (predicted + hits[-1]), initial=0.0))


def _pairs(scores: Scores, Y: Csr) -> tuple[Float, NDArray[np.bool_]]:
    """Return scores and truth, cell by cell; of sparse scores those stored."""
    if not isinstance(scores.values, sparse.csr_array):
        true = np.zeros(scores.values.size, dtype=np.bool_)
        true[row_ids(Y) * Y.shape[1] + Y.indices] = Y.data
        return scores.values.ravel(), true
    stored = scores.values
    if not stored.nnz:  # of no cells, SciPy returns a sparse array
        return stored.data, np.zeros(0, dtype=np.bool_)
    return stored.data, np.asarray(Y.astype(np.bool_)[row_ids(stored), stored.indices]).ravel()


@runtime_checkable
class Explaining(Protocol):
    """A scoring method that explains its scores."""

    def explain(
        self, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
    ) -> list[Breakdown]:
        """Return the breakdown of each label's score for the one query of `graph`."""


def explain_scoring(
    scoring: Scoring, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
) -> list[Breakdown]:
    """Return explanations of the scores of one query, for any scoring method."""
    if graph.n_queries != 1:
        raise InvalidArgumentError("graph", "the graph of one query", f"{graph.n_queries} queries")
    if isinstance(scoring, Explaining):
        return scoring.explain(graph, labels, X)
    return one_by_one(scoring, graph, labels, X)


def one_by_one(
    scoring: Scoring, graph: NeighborGraph, labels: Sequence[int], X: Features | None = None
) -> list[Breakdown]:
    """Return how the scores change when neighbours are added one at a time, nearest first.

    Exact for every method, because the shares are differences of its own scores. The base is the
    score without neighbours.
    """
    places = neighbor_places(graph, scoring.k)
    n_steps = len(places) + 1
    steps = with_neighbors(
        graph, [np.arange(n_shown) for n_shown in range(n_steps)], max(1, len(places))
    )
    rows = None if X is None else X[np.zeros(n_steps, dtype=np.int64)]
    scores = scoring.scores(steps, rows)
    chosen = np.array([cells(scores, step, labels) for step in range(n_steps)])
    return [
        Breakdown(float(column[0]), (Terms("neighbor", places, np.diff(column)),))
        for column in chosen.T
    ]


def neighbor_places(graph: NeighborGraph, k: int) -> Int:
    """Return the places of the (at most k) neighbours of the one query of `graph`."""
    ids = graph.ids[0, :k]
    return ids[ids >= 0].astype(np.int64)


def with_neighbors(graph: NeighborGraph, picks: Sequence[Int], width: int) -> NeighborGraph:
    """Return copies of the one query of `graph`, one per pick, each with only these neighbours."""
    ids = np.full((len(picks), width), -1, dtype=np.int32)
    values = np.full((len(picks), width), graph.distance_kind.padding)
    for row, positions in enumerate(picks):
        ids[row, : len(positions)] = graph.ids[0, positions]
        values[row, : len(positions)] = graph.values[0, positions]
    return NeighborGraph(ids, values, graph.metric, graph.n_rows)


def label_values(rows: Csr, places: Int, labels: Sequence[int]) -> Float:
    """Return the values of these rows and labels, shape (places, labels)."""
    of_places = take_rows(rows, places)
    wanted, column_of = np.unique(np.asarray(labels, dtype=np.int64), return_inverse=True)
    found = np.zeros((len(places), len(wanted)))
    if len(wanted):
        at = np.minimum(np.searchsorted(wanted, of_places.indices), len(wanted) - 1)
        is_wanted = wanted[at] == of_places.indices
        found[row_ids(of_places)[is_wanted], at[is_wanted]] = of_places.data[is_wanted]
    return found[:, column_of]


def cells(scores: Scores, row: int, labels: Sequence[int]) -> Float:
    """Return the scores of one row for some labels."""
    wanted = np.asarray(labels, dtype=np.int64)
    if not isinstance(scores.values, sparse.csr_array):
        of_row: Float = scores.values[row, wanted]
        return of_row
    begin, end = scores.values.indptr[row], scores.values.indptr[row + 1]
    stored = dict(
        zip(
            scores.values.indices[begin:end].tolist(),
            scores.values.data[begin:end].tolist(),
            strict=True,
        )
    )
    found = [stored.get(label, scores.base[label]) for label in wanted.tolist()]
    return np.array(found, dtype=np.float64)
