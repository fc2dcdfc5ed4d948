"""Exact nearest rows: one order from every backend.

Comes in: a matrix of training rows, then queries. Goes out: a
:class:`~vicinal.graph.neighbor_graph.NeighborGraph`. :func:`build_index` chooses the backend;
:mod:`~vicinal.index.reference` is the definition they all answer to. May be imported by ``scoring``
and everything after it.
"""

from vicinal.index.approximate import ApproximateIndex
from vicinal.index.build import Index, build_index
from vicinal.index.dense import DenseIndex
from vicinal.index.inverted import InvertedIndex

__all__ = ["ApproximateIndex", "DenseIndex", "Index", "InvertedIndex", "build_index"]
