"""The backend that suits the data."""

from typing import Protocol

from scipy import sparse

from vicinal.graph.neighbor_graph import NeighborGraph
from vicinal.index.dense import DenseIndex
from vicinal.index.inverted import InvertedIndex


class Index(Protocol):
    """What every backend offers."""

    @property
    def n_rows(self) -> int:
        """Number of rows searched."""

    @property
    def n_features(self) -> int:
        """Number of features of a row."""

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return the k nearest rows for each row of `Q`, dense or sparse."""

    def query_self(self, k: int) -> NeighborGraph:
        """Return the k nearest other rows for each indexed row."""


def build_index(X: object, metric: str, n_jobs: int | None = None) -> Index:
    """Return an exact index over the rows of `X`: inverted where `X` is sparse, else dense.

    Examples
    --------
    >>> build_index([[0.0], [1.0], [5.0]], "euclidean").query([[2.0]], 1).ids
    array([[1]], dtype=int32)
    """
    if sparse.issparse(X):
        return InvertedIndex(X, metric, n_jobs=n_jobs)
    return DenseIndex(X, metric, n_jobs=n_jobs)
