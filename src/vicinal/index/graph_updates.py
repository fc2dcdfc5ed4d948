"""Update the leave-one-out graph after rows were added or removed, equal to a new search."""

import numpy as np

from vicinal._base.arrays import Features, Float, Int, Int32
from vicinal.graph.merging import merge_graphs
from vicinal.graph.neighbor_graph import NeighborGraph, no_neighbors
from vicinal.index.training_rows import TrainingRows


def graph_with(old: NeighborGraph, rows: TrainingRows, fresh: Features, k: int) -> NeighborGraph:
    """Return the leave-one-out graph of `rows`, whose last rows are `fresh`.

    Parameters
    ----------
    old : NeighborGraph
        The graph before the rows were added.
    rows : TrainingRows
        All rows, old and new.
    fresh : ndarray or csr_array
        The new rows.
    k : int
    """
    n_old, n_rows = old.n_queries, rows.n_rows
    if k == 0:
        return no_neighbors(n_rows, n_rows, rows.metric)
    width = rows.width_among_others(k)
    among_new = rows.build_index(fresh).query(rows.X[:n_old], min(width, fresh.shape[0]))
    shifted = np.where(among_new.ids < 0, -1, among_new.ids + n_old).astype(np.int32)
    merged, in_doubt = merge_graphs(
        NeighborGraph(old.ids, old.values, old.metric, n_rows),
        NeighborGraph(shifted, among_new.values, old.metric, n_rows),
        width,
    )
    asked = np.concatenate([in_doubt, np.arange(n_old, n_rows)])
    return _replaced(merged, rows, asked, width, k)


def graph_without(
    old: NeighborGraph, rows: TrainingRows, kept: Int, gone: Int, k: int
) -> NeighborGraph:
    """Return the leave-one-out graph of `rows`, which contains the `kept` old rows."""
    if k == 0:
        return no_neighbors(rows.n_rows, rows.n_rows, rows.metric)
    rest, short = old.without(gone)
    new_place = np.full(old.n_rows + 1, -1, dtype=np.int32)
    new_place[kept] = np.arange(len(kept))
    graph = NeighborGraph(new_place[rest.ids[kept]], rest.values[kept], old.metric, rows.n_rows)
    asked = new_place[np.intersect1d(short, kept)].astype(np.int64)
    return _replaced(graph, rows, asked, rows.width_among_others(k), k)


def _replaced(
    graph: NeighborGraph, rows: TrainingRows, asked: Int, width: int, k: int
) -> NeighborGraph:
    """Return `graph` with the given width and with the lists of the rows `asked` searched again."""
    ids: Int32 = np.full((rows.n_rows, width), -1, dtype=np.int32)
    values: Float = np.full((rows.n_rows, width), graph.distance_kind.padding)
    common = min(width, graph.k)
    ids[: graph.n_queries, :common] = graph.ids[:, :common]
    values[: graph.n_queries, :common] = graph.values[:, :common]
    if len(asked):
        fresh = rows.query_rows(asked, k)
        ids[asked], values[asked] = fresh.ids, fresh.values
    return NeighborGraph(ids, values, graph.metric, rows.n_rows)
