"""Sparse matrices whose arrays do not fit each other never reach native code."""

import numpy as np
import pytest
from scipy import sparse

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_features


def broken(kind, *, indptr=None, indices=None):
    matrix = kind(np.eye(3))
    if indptr is not None:
        matrix.indptr = np.array(indptr, dtype=np.int32)
    if indices is not None:
        matrix.indices = np.array(indices, dtype=np.int32)
    return matrix


@pytest.mark.parametrize(
    "kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.csc_matrix]
)
@pytest.mark.parametrize(
    "arrays",
    [
        {"indptr": [0, 2, 1, 3]},
        {"indptr": [0, 1, 2, 9]},
        {"indptr": [1, 1, 2, 3]},
        {"indices": [0, 1, 3]},
        {"indices": [0, -1, 2]},
    ],
)
def test_inconsistent_arrays_are_refused(kind, arrays):
    with pytest.raises(InvalidArgumentError, match=r"^X: expected"):
        check_features(broken(kind, **arrays))


@pytest.mark.parametrize("X", [np.eye(2) * 1j, sparse.csr_array(np.eye(2) * 1j)])
def test_complex_numbers_are_refused(X):
    with pytest.raises(InvalidArgumentError, match="real numbers"):
        check_features(X)
