"""Merge the neighbour lists of two sets of rows."""

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
        Graphs of the same queries, metric and ``n_rows``; no row is in both.
    width : int
        Each list must contain either all its candidates or at least `width` of them.

    Returns
    -------
    graph : NeighborGraph
    in_doubt : ndarray of int64
        Queries whose order cannot be decided from the values and which must be searched again.
        Euclidean neighbours are ordered by squared distance, and two different squared distances
        may have the same rounded square root.

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
        raise InvalidArgumentError(
            "second", "a graph of the same queries and metric", "a different one"
        )
    ids = np.hstack([first.ids, second.ids])
    values = np.hstack([first.values, second.values])
    distance = first.distance_kind
    # Among distances with the same rounded root, the order within each graph is more reliable than
    # the order of the ids.
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
    # If a run of equal distances contains both graphs, they alternate somewhere in it.
    return np.flatnonzero(np.any(equal & (from_second[:, :-1] != from_second[:, 1:]), axis=1))
