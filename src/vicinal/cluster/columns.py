"""Neighbours between columns on a cluster: what feature kNN learns."""

from functools import partial

import numpy as np
from distributed import Client
from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.validation import as_csr, check_features, check_integer
from vicinal.cluster.shards import value
from vicinal.cluster.tasks import holding_data, in_flight
from vicinal.graph.neighbor_graph import NeighborGraph
from vicinal.scoring.column_graph import column_graph as local_column_graph


def column_graph(
    client: Client, A: object, B: object, k: int, *, block_columns: int = 50_000
) -> NeighborGraph:
    """Return, for each column of `A`, the k columns of `B` with the highest cosine.

    The same as :func:`vicinal.scoring.column_graph.column_graph`, to the bit: each task has all
    rows of some columns of `A`, so sums are added in the same order.

    Parameters
    ----------
    client : distributed.Client
    A, B : sparse arrays, shape (n, a) and (n, b)
    k : int
    block_columns : int
        Columns of `A` per task.

    Notes
    -----
    Network: `A` once, `B` once per worker. Memory of a worker: `B`, and a block of `A`.
    """
    check_integer("block_columns", block_columns, low=1)
    columns = sparse.csc_array(as_csr(check_features(A, "A")))
    labels = as_csr(check_features(B, "B"))
    with holding_data():
        shared = client.submit(value, labels)
        starters = [
            partial(
                client.submit, _block_graph, columns[:, start : start + block_columns], shared, k
            )
            for start in range(0, columns.shape[1], block_columns)
        ]
        found = list(in_flight(client, starters, max(4, 2 * len(client.nthreads()))))
    ids = np.concatenate([ids for ids, _ in found])
    values = np.concatenate([values for _, values in found])
    return NeighborGraph(ids, values, "cosine", int(labels.shape[1]))


def _block_graph(A: object, B: Csr, k: int) -> tuple[object, object]:
    """Return ids and similarities for a block of columns; a pure task."""
    graph = local_column_graph(as_csr(check_features(A)), B, k, n_jobs=1)
    return graph.ids, graph.values
