"""Search on a cluster through Dask: the same neighbours, order and values as on one machine.

Comes in: a Dask client, and rows as a folder, a folder of shards, dask blocks or local arrays. Goes
out: a :class:`~vicinal.graph.neighbor_graph.NeighborGraph`. Tasks are pure functions of files and
queries, so Dask repeats those of a worker that died. Needs the extra ``[cluster]``.
"""

from importlib import import_module

from vicinal._base.errors import MissingExtraError

try:
    import_module("distributed")
except ImportError:
    raise MissingExtraError("distributed", "cluster") from None

from vicinal.cluster.algorithm import ClusterAlgorithm, connected
from vicinal.cluster.columns import column_graph
from vicinal.cluster.index import ClusterIndex
from vicinal.cluster.tasks import WorkersLostError

__all__ = ["ClusterAlgorithm", "ClusterIndex", "WorkersLostError", "column_graph", "connected"]
