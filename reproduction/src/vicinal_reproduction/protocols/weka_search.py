"""Neighbours as Weka's linear search returns them if rows are equally far.

Weka reads the training rows in order and keeps k of them in a binary heap, the farthest on top; a
nearer row takes the place of the top one. Among rows as far as the k-th, which ones are left at the
end depends on how they lie in the heap. Mulan's ML-kNN, DML-kNN and LAML-kNN count the k rows of
the heap (:func:`heap_graph`); its BRkNN counts all rows that are as near as the k-th
(:func:`tied_graph`). In data of a few words a row, where distances are roots of small integers,
that decides much of the result.
"""

from collections.abc import Iterator

import numpy as np

from vicinal._core.arrays import Features, Float, Int
from vicinal.graph import NeighborGraph
from vicinal.index import Index, build_index

AT_ONCE = 256
"""Number of queries whose distances to all rows are in memory at a time."""


def heap_graph(rows: Features, k: int, queries: Features | None = None) -> NeighborGraph:
    """Return the `k` rows that remain in Weka's heap, nearest first.

    Parameters
    ----------
    rows : ndarray or csr_array, shape (n, m)
        Training rows, in the order of the file.
    k : int
    queries : ndarray or csr_array or None
        None for the rows themselves, each left out of its own neighbours.

    Notes
    -----
    Memory: 256 × n distances, and 12 bytes per query and neighbour. Time: a step in Python for each
    query and row.
    """
    kept = min(k, rows.shape[0] - (queries is None))
    found = [
        _nearest_first(np.array(nearest_of_heap(distances.tolist(), kept, at)), distances)
        for at, distances in _all_distances(rows, queries)
    ]
    return _graph(found, rows.shape[0])


def tied_graph(rows: Features, k: int, queries: Features) -> NeighborGraph:
    """Return, for each query, the rows that are no farther than the k-th: at least `k`.

    Examples
    --------
    The second and the third row are equally far from 0:

    >>> tied_graph(np.array([[0.0], [1.0], [-1.0], [5.0]]), 2, np.array([[0.0]])).ids
    array([[0, 1, 2]], dtype=int32)
    """
    last = min(k, rows.shape[0]) - 1
    found = [
        _nearest_first(np.flatnonzero(distances <= np.partition(distances, last)[last]), distances)
        for _, distances in _all_distances(rows, queries)
    ]
    return _graph(found, rows.shape[0])


def nearest_of_heap(distances: list[float], k: int, left_out: int = -1) -> list[int]:
    """Return the `k` nearest rows; of tied rows, those that remain in the heap.

    Examples
    --------
    Of the three rows at distance 1, the heap has dropped the first:

    >>> sorted(nearest_of_heap([1.0, 1.0, 1.0, 0.0], 3))
    [1, 2, 3]
    """
    heap: list[tuple[float, int]] = []
    for row, distance in enumerate(distances):
        if row == left_out:
            continue
        if len(heap) == k:
            if distance >= heap[0][0]:
                continue
            _drop_farthest(heap)
        heap.append((distance, row))
        _rise(heap)
    return [row for _, row in heap]


def _nearest_first(ids: Int, distances: Float) -> tuple[Int, Float]:
    """Return rows by distance, then by number, with their distances."""
    ordered = ids[np.lexsort((ids, distances[ids]))]
    return ordered, distances[ordered]


def _graph(found: list[tuple[Int, Float]], n_rows: int) -> NeighborGraph:
    """Return lists of neighbours as a graph, as wide as the longest."""
    width = max((len(near) for near, _ in found), default=0)
    ids = np.full((len(found), width), -1, dtype=np.int32)
    values = np.full((len(found), width), np.inf)
    for at, (near, distances) in enumerate(found):
        ids[at, : len(near)], values[at, : len(near)] = near, distances
    return NeighborGraph(ids, values, "euclidean", n_rows)


def _rise(heap: list[tuple[float, int]]) -> None:
    """Move the last entry up past nearer ones; equal entries keep their positions."""
    at = len(heap) - 1
    while at and heap[at][0] > heap[(at - 1) // 2][0]:
        above = (at - 1) // 2
        heap[at], heap[above] = heap[above], heap[at]
        at = above


def _drop_farthest(heap: list[tuple[float, int]]) -> None:
    """Replace the top entry by the last one, and move it down past farther ones."""
    last = heap.pop()
    if not heap:
        return
    heap[0] = last
    at = 0
    while (below := _farther_child(heap, at)) is not None and heap[at][0] < heap[below][0]:
        heap[at], heap[below] = heap[below], heap[at]
        at = below


def _farther_child(heap: list[tuple[float, int]], at: int) -> int | None:
    """Return the farther child, or the right one if both are equally far."""
    left, right = 2 * at + 1, 2 * at + 2
    if left >= len(heap):
        return None
    return left if right >= len(heap) or heap[left][0] > heap[right][0] else right


def _all_distances(rows: Features, queries: Features | None) -> Iterator[tuple[int, Float]]:
    """Yield the distances of each query to all rows, and the row to exclude (−1 for none)."""
    index = build_index(rows, "euclidean")
    asked = rows if queries is None else queries
    for start in range(0, asked.shape[0], AT_ONCE):
        for at, distances in enumerate(_in_row_order(index, asked[start : start + AT_ONCE])):
            yield (start + at if queries is None else -1), distances


def _in_row_order(index: Index, queries: Features) -> Float:
    """Return the distances of some queries to all rows, shape (queries, rows)."""
    graph = index.query(queries, index.n_rows)
    distances = np.empty(graph.ids.shape)
    np.put_along_axis(distances, graph.ids.astype(np.int64), graph.distance, axis=1)
    return distances
