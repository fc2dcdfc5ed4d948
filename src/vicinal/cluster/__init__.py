"""Search on a cluster through Dask: the same neighbours, order and values as on one machine.

Comes in: a Dask client, and rows as a folder, a folder of shards, dask blocks or local arrays. Goes
out: a :class:`~vicinal.graph.NeighborGraph`. Tasks are pure functions of files and
queries, so Dask repeats those of a worker that died. Needs the extra ``[cluster]``.
"""

from importlib import import_module

from vicinal.cluster.index import (
    ClusterAlgorithm,
    ClusterIndex,
    ClusterTasks,
    column_graph,
    connected,
)
from vicinal.cluster.workers import WorkersLostError
from vicinal.errors import MissingExtraError

try:
    import_module("distributed")
except ImportError:
    raise MissingExtraError("distributed", "cluster") from None


__all__ = [
    "ClusterAlgorithm",
    "ClusterIndex",
    "ClusterTasks",
    "WorkersLostError",
    "column_graph",
    "connected",
]
