"""A short way through the door for CSR matrices that need no conversion.

SciPy's constructors and checks take longer than a search for one row. A plain matrix of the right
width is looked at here once, entry by entry; everything else takes the long way, which also says
what is wrong.
"""

from typing import TypeGuard, cast

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.bare_csr import LARGEST, bare_csr
from vicinal._base.checked_csr import checked_csr

_COLUMN_TYPES = (np.dtype(np.int32), np.dtype(np.int64))


def has_sound_structure(X: object, n_columns: int) -> bool:
    """Tell whether `X` is a CSR matrix with rows whose columns rise, and `n_columns` of them.

    Examples
    --------
    >>> has_sound_structure(sparse.csr_array(np.eye(2)), n_columns=2)
    True
    >>> has_sound_structure(sparse.csr_array(np.eye(2)), n_columns=3)
    False
    """
    if type(X) not in (sparse.csr_array, sparse.csr_matrix):
        return False
    matrix = cast("Csr", X)
    indptr, indices, data = matrix.indptr, matrix.indices, matrix.data
    if (
        matrix.ndim != 2
        or not indptr.ndim == indices.ndim == data.ndim == 1
        or matrix.shape[1] != n_columns
        or matrix.shape[0] < 1
        or indices.dtype not in _COLUMN_TYPES
        or indptr.dtype not in _COLUMN_TYPES
        or not len(indices) == len(data) < LARGEST
        or n_columns >= LARGEST
        or len(indptr) != matrix.shape[0] + 1
        or indptr[0] != 0
        or indptr[-1] != len(indices)
        or not bool((indptr[1:] >= indptr[:-1]).all())
    ):
        return False
    if not len(indices):
        return True
    return bool(indices.min() >= 0 and indices.max() < n_columns and _rises_within_rows(matrix))


def shared_csr(X: object) -> Csr | None:
    """Return a matrix of the same arrays if they need no conversion, or None: the long way then.

    Examples
    --------
    >>> eye = sparse.csr_array(np.eye(2))
    >>> shared_csr(eye).data is eye.data
    True
    """
    if not has_sound_structure(X, cast("Csr", X).shape[-1]):
        return None
    matrix = cast("Csr", X)
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    is_aligned = data.flags.aligned and indices.flags.aligned and indptr.flags.aligned
    if not is_aligned or indices.dtype != indptr.dtype:
        return None
    return bare_csr(data, indices, indptr, (int(matrix.shape[0]), int(matrix.shape[1])))


def quick_indicator(Y: object, n_rows: int, n_labels: int) -> Csr | None:
    """Return a copy of a sparse indicator that needs no conversion, or None: the long way then.

    Examples
    --------
    >>> quick_indicator(sparse.csr_array(np.eye(2)), n_rows=2, n_labels=2).dtype
    dtype('int32')
    >>> quick_indicator(2 * sparse.csr_array(np.eye(2)), n_rows=2, n_labels=2) is None
    True
    """
    if not is_canonical_indicator(Y, n_labels) or Y.shape[0] != n_rows:
        return None
    return copied_csr(Y, np.int32)


def is_canonical_indicator(Y: object, n_labels: int) -> TypeGuard[Csr]:
    """Tell whether `Y` is a CSR matrix of ones that needs no conversion but that of its types.

    Examples
    --------
    >>> is_canonical_indicator(sparse.csr_array(np.eye(2)), n_labels=2)
    True
    """
    if not has_sound_structure(Y, n_labels):
        return False
    matrix = cast("Csr", Y)
    return matrix.dtype.kind in "biuf" and bool((matrix.data == 1).all())


def copied_csr(matrix: Csr, dtype: DTypeLike | None = None) -> Csr:
    """Return a copy of a canonical matrix of fewer than 2^31 entries, which is never changed."""
    data = matrix.data.astype(matrix.dtype if dtype is None else dtype)
    indices = matrix.indices.astype(np.int32)
    starts, starts32 = matrix.indptr.astype(np.int64), matrix.indptr.astype(np.int32)
    for part in (data, indices, starts, starts32):
        part.flags.writeable = False
    n_rows, n_columns = matrix.shape
    return checked_csr(data, indices, starts, (int(n_rows), int(n_columns)), starts32)


def _rises_within_rows(X: Csr) -> bool:
    """Tell whether column ids rise strictly within each row."""
    rises = X.indices[1:] > X.indices[:-1]
    if X.shape[0] > 1:
        starts = X.indptr[1:-1]
        rises[starts[(starts > 0) & (starts < len(X.indices))] - 1] = True
    return bool(rises.all())
