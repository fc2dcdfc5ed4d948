"""Graphs that grow: lists of neighbours from two sets of rows become one list."""

import numpy as np

from vicinal._base.arrays import Bool, Float, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal.graph.neighbor_graph import NeighborGraph


def merge_graphs(
    first: NeighborGraph, second: NeighborGraph, width: int
) -> tuple[NeighborGraph, Int]:
    """Return the nearest `width` rows of two graphs of the same queries over different rows.

    Parameters
    ----------
    first, second : NeighborGraph
        Of the same queries, metric and ``n_rows``; no row is in both.
    width : int
        At most as wide as what both know: each list must hold all its candidates or `width`.

    Returns
    -------
    graph : NeighborGraph
    in_doubt : ndarray of int64
        Queries whose order the values do not settle, to be asked again. The order of Euclidean
        neighbours is that of the squared distances, and two of those may have one rounded root.

    Examples
    --------
    >>> near = NeighborGraph(np.array([[0, 2]], np.int32), np.array([[0.9, 0.4]]), "cosine", 4)
    >>> more = NeighborGraph(np.array([[3]], np.int32), np.array([[0.4]]), "cosine", 4)
    >>> graph, in_doubt = merge_graphs(near, more, 2)
    >>> graph.ids, in_doubt
    (array([[0, 2]], dtype=int32), array([], dtype=int64))
    """
    if (first.n_queries, first.metric, first.n_rows) != (
        second.n_queries,
        second.metric,
        second.n_rows,
    ):
        raise InvalidArgumentError("second", "a graph of the same queries and metric", "another")
    ids = np.hstack([first.ids, second.ids])
    values = np.hstack([first.values, second.values])
    distance = first.distance_kind
    # Of distances with one rounded root a graph's own order knows better than the ids.
    later = np.broadcast_to(np.arange(ids.shape[1]), ids.shape) if distance.is_root else ids
    order = np.lexsort((later, distance.rising(values), ids < 0), axis=1)
    kept = NeighborGraph(
        np.take_along_axis(ids, order[:, :width], axis=1),
        np.take_along_axis(values, order[:, :width], axis=1),
        first.metric,
        first.n_rows,
    )
    if not distance.is_root:
        return kept, np.zeros(0, dtype=np.int64)
    return kept, _rounded_ties(np.take_along_axis(values, order, axis=1), order >= first.k)


def _rounded_ties(distances: Float, from_second: Bool) -> Int:
    """Return the queries where equal distances came from both graphs."""
    equal = (distances[:, :-1] == distances[:, 1:]) & np.isfinite(distances[:, 1:])
    # Within a run of equal distances the graphs alternate somewhere, if both are in it.
    return np.flatnonzero(np.any(equal & (from_second[:, :-1] != from_second[:, 1:]), axis=1))
