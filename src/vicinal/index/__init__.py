"""Nearest rows: one protocol, one order from every exact index.

Input: a matrix of training rows, then queries. Output: a
:class:`~vicinal.graph.neighbor_graph.NeighborGraph`. :mod:`~vicinal.index.protocol` says what an
index is, :mod:`~vicinal.index.reference` is the definition that exact ones answer to,
:func:`build_index` makes one by name or by a caller's factory, and
:mod:`~vicinal.index.training_rows` keeps a model's rows. May be imported by ``scoring`` and
everything after it.
"""

from vicinal.index.approximate import ApproximateIndex
from vicinal.index.build import algorithm_names, build_index, register_index
from vicinal.index.dense import DenseIndex
from vicinal.index.inverted import InvertedIndex
from vicinal.index.protocol import Index, MutableIndex
from vicinal.index.reference import ReferenceIndex
from vicinal.index.training_rows import TrainingRows

__all__ = [
    "ApproximateIndex",
    "DenseIndex",
    "Index",
    "InvertedIndex",
    "MutableIndex",
    "ReferenceIndex",
    "TrainingRows",
    "algorithm_names",
    "build_index",
    "register_index",
]
