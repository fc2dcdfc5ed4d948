"""The leave-one-out graph after rows came or went: equal to a fresh search, at less cost."""

import numpy as np

from vicinal._base.arrays import Features, Float, Int, Int32
from vicinal.estimators.search import Search, no_neighbors
from vicinal.graph import NeighborGraph, merge_graphs
from vicinal.index import build_index


def graph_with(old: NeighborGraph, search: Search, fresh: Features, k: int) -> NeighborGraph:
    """Return the leave-one-out graph of `search`, whose last rows are `fresh`.

    Parameters
    ----------
    old : NeighborGraph
        The graph before they came.
    search : Search
        All rows, old and new.
    fresh : ndarray or csr_array
        The new rows.
    k : int
    """
    n_old, n_rows = old.n_queries, search.n_rows
    if k == 0:
        return no_neighbors(n_rows, n_rows, search.metric)
    width = search.width_among_others(k)
    among_new = build_index(fresh, search.metric, search.n_jobs).query(
        search.X[:n_old], min(width, fresh.shape[0])
    )
    shifted = np.where(among_new.ids < 0, -1, among_new.ids + n_old).astype(np.int32)
    merged, in_doubt = merge_graphs(
        NeighborGraph(old.ids, old.values, old.metric, n_rows),
        NeighborGraph(shifted, among_new.values, old.metric, n_rows),
        width,
    )
    asked = np.concatenate([in_doubt, np.arange(n_old, n_rows)])
    return _replaced(merged, search, asked, width, k)


def graph_without(
    old: NeighborGraph, search: Search, kept: Int, gone: Int, k: int
) -> NeighborGraph:
    """Return the leave-one-out graph of `search`, which holds the `kept` rows of the old ones."""
    if k == 0:
        return no_neighbors(search.n_rows, search.n_rows, search.metric)
    rest, short = old.without(gone)
    new_place = np.full(old.n_rows + 1, -1, dtype=np.int32)
    new_place[kept] = np.arange(len(kept))
    graph = NeighborGraph(new_place[rest.ids[kept]], rest.values[kept], old.metric, search.n_rows)
    asked = new_place[np.intersect1d(short, kept)].astype(np.int64)
    return _replaced(graph, search, asked, search.width_among_others(k), k)


def _replaced(
    graph: NeighborGraph, search: Search, asked: Int, width: int, k: int
) -> NeighborGraph:
    """Return `graph`, `width` wide and with the lists of the rows `asked` searched afresh."""
    padding = np.inf if graph.metric == "euclidean" else 0.0
    ids: Int32 = np.full((search.n_rows, width), -1, dtype=np.int32)
    values: Float = np.full((search.n_rows, width), padding)
    common = min(width, graph.k)
    ids[: graph.n_queries, :common] = graph.ids[:, :common]
    values[: graph.n_queries, :common] = graph.values[:, :common]
    if len(asked):
        fresh = search.query_rows(asked, k)
        ids[asked], values[asked] = fresh.ids, fresh.values
    return NeighborGraph(ids, values, graph.metric, search.n_rows)
