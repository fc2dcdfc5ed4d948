"""Matrices of a data set from the arrays that the parsers return."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Float, Int, Int32

SPARSE_BELOW = 0.25
"""Features are CSR if less than this share of the cells is non-zero, otherwise dense."""


def features_of(indptr: Int, indices: Int32, values: Float, n_features: int) -> Features:
    """Return parsed rows as CSR or, if the content is not sparse, as a dense array."""
    shape = (len(indptr) - 1, n_features)
    return by_content(sparse.csr_array((values, indices, indptr), shape=shape))


def labels_of(indptr: Int, indices: Int32, n_labels: int) -> Csr:
    """Return parsed label sets as an indicator."""
    ones = np.ones(len(indices), dtype=np.int32)
    return sparse.csr_array((ones, indices, indptr), shape=(len(indptr) - 1, n_labels))


def by_content(X: NDArray[Any] | Csr) -> Features:
    """Return `X` as a sparse or dense matrix, depending on its share of non-zero cells.

    A dense array takes at most 8/3 of the memory of the CSR that it replaces: 8 bytes per cell
    instead of 12 for each of at least a quarter of the cells.

    Examples
    --------
    >>> by_content(np.eye(5)).nnz
    5
    >>> by_content(sparse.csr_array(np.eye(2)))
    array([[1., 0.],
           [0., 1.]])
    """
    n_cells = X.shape[0] * X.shape[1]
    nonzero = X.nnz if isinstance(X, sparse.csr_array) else int(np.count_nonzero(X))
    is_sparse = nonzero < SPARSE_BELOW * n_cells
    if isinstance(X, sparse.csr_array):
        return X if is_sparse else X.toarray()
    return sparse.csr_array(X) if is_sparse else X
