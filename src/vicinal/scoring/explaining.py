"""Helpers for explanations, and a generic explanation for methods that do not define their own.

``scoring.explain(graph, labels, X)`` takes the graph (and features) of one query and returns a
:class:`~vicinal.explain.Breakdown` per label, in the symbols of the method's formulas.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Float, Int, row_ids
from vicinal._base.bare_csr import take_rows
from vicinal._base.errors import InvalidArgumentError
from vicinal.explain.breakdown import Breakdown, Terms
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores
from vicinal.scoring.training import Scoring


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
    places = nearest(graph, scoring.k)
    n_steps = len(places) + 1
    steps = picked(graph, [np.arange(n_shown) for n_shown in range(n_steps)], max(1, len(places)))
    rows = None if X is None else X[np.zeros(n_steps, dtype=np.int64)]
    scores = scoring.scores(steps, rows)
    chosen = np.array([cells(scores, step, labels) for step in range(n_steps)])
    return [
        Breakdown(float(column[0]), (Terms("neighbor", places, np.diff(column)),))
        for column in chosen.T
    ]


def nearest(graph: NeighborGraph, k: int) -> Int:
    """Return the places of the (at most k) neighbours of the one query of `graph`."""
    ids = graph.ids[0, :k]
    return ids[ids >= 0].astype(np.int64)


def picked(graph: NeighborGraph, picks: Sequence[Int], width: int) -> NeighborGraph:
    """Return copies of the one query of `graph`, one per pick, each with only these neighbours.

    Examples
    --------
    >>> ids = np.array([[4, 9, 2]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.array([[0.5, 0.25, 0.125]]), "cosine", n_rows=10)
    >>> picked(graph, [np.array([0, 2]), np.array([1])], width=2).ids
    array([[ 4,  2],
           [ 9, -1]], dtype=int32)
    """
    ids = np.full((len(picks), width), -1, dtype=np.int32)
    values = np.full((len(picks), width), graph.distance_kind.padding)
    for row, positions in enumerate(picks):
        ids[row, : len(positions)] = graph.ids[0, positions]
        values[row, : len(positions)] = graph.values[0, positions]
    return NeighborGraph(ids, values, graph.metric, graph.n_rows)


def said_by(rows: Csr, places: Int, labels: Sequence[int]) -> Float:
    """Return the values of these rows and labels, shape (places, labels).

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0, 1], [0, 1, 1]]))
    >>> said_by(Y, np.array([1, 0]), [2, 0])
    array([[1., 0.],
           [1., 1.]])
    """
    of_places = take_rows(rows, places)
    wanted, column_of = np.unique(np.asarray(labels, dtype=np.int64), return_inverse=True)
    found = np.zeros((len(places), len(wanted)))
    if len(wanted):
        at = np.minimum(np.searchsorted(wanted, of_places.indices), len(wanted) - 1)
        is_wanted = wanted[at] == of_places.indices
        found[row_ids(of_places)[is_wanted], at[is_wanted]] = of_places.data[is_wanted]
    return found[:, column_of]


def cells(scores: Scores, row: int, labels: Sequence[int]) -> Float:
    """Return the scores of one row for some labels.

    Examples
    --------
    >>> stored = sparse.csr_array(np.array([[0.0, 0.5, 0.0]]))
    >>> cells(Scores.sparse(stored, base=np.array([0.1, 0.2, 0.3])), 0, [2, 1])
    array([0.3, 0.5])
    """
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
