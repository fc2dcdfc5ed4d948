"""Nearest-neighbour search: one protocol, and the same results from every exact index.

Input: a matrix of training rows, then queries. Output: a
:class:`~vicinal.graph.NeighborGraph`. :mod:`~vicinal.index.protocol` defines the
interface, :mod:`~vicinal.index.reference` is the definition that exact indexes must match,
:func:`build_index` creates an index by name or with a caller's factory, and
:mod:`~vicinal.index.training_rows` manages a model's rows. May be imported by later layers.
"""

from vicinal.index.approximate import ApproximateIndex
from vicinal.index.build import algorithm_names, build_index, register_index
from vicinal.index.dense import DenseIndex
from vicinal.index.inverted import InvertedIndex
from vicinal.index.protocol import Index, MutableIndex
from vicinal.index.reference import ReferenceIndex
from vicinal.index.segmented import SegmentedAlgorithm, SegmentedIndex
from vicinal.index.training_rows import TrainingRows as TrainingRows

__all__ = [
    "ApproximateIndex",
    "DenseIndex",
    "Index",
    "InvertedIndex",
    "MutableIndex",
    "ReferenceIndex",
    "SegmentedAlgorithm",
    "SegmentedIndex",
    "algorithm_names",
    "build_index",
    "register_index",
]
