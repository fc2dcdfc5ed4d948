"""The exact index that suits the data."""

from scipy import sparse

from vicinal.distances import get_distance
from vicinal.index.dense import DenseIndex
from vicinal.index.inverted import InvertedIndex
from vicinal.index.protocol import Index
from vicinal.index.reference import ReferenceIndex


def exact_index(X: object, metric: str, n_jobs: int | None = None) -> Index:
    """Return an exact index over the rows of `X`: inverted if `X` is sparse, otherwise dense.

    A distance that the compiled core does not support is searched by its definition.
    """
    if get_distance(metric).native_code is None:
        return ReferenceIndex(X, metric)
    if sparse.issparse(X):
        return InvertedIndex(X, metric, n_jobs=n_jobs)
    return DenseIndex(X, metric, n_jobs=n_jobs)
