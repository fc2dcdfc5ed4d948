"""Fast validation of rows that need no conversion.

scikit-learn's checks take longer than the search for one row. Plain arrays of the right type and
width are checked here in one pass; everything else goes through the full validation, which also
says what is wrong.
"""

from typing import cast

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features
from vicinal._base.checked_csr import checked_csr, known_parts

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))
_COLUMN_TYPES = (np.dtype(np.int32), np.dtype(np.int64))
_INT32_MAX = 2**31 - 1


def quick_rows(X: object, n_features: int) -> Features | None:
    """Return rows that are valid as they are, or None if they need the full validation.

    Examples
    --------
    >>> quick_rows(np.ones((1, 2)), n_features=2)
    array([[1., 1.]])
    >>> quick_rows(np.ones((1, 2)), n_features=3) is None
    True
    >>> quick_rows([[1.0, 2.0]], n_features=2) is None
    True
    """
    if type(X) is np.ndarray:
        fits = X.ndim == 2 and X.dtype in _FLOATS and X.shape[1] == n_features and len(X) > 0
        return X if fits and X.flags.c_contiguous and bool(np.isfinite(X).all()) else None
    if type(X) in (sparse.csr_array, sparse.csr_matrix):
        return _quick_csr(cast("Csr", X), n_features)
    return None


def _quick_csr(X: Csr, n_features: int) -> Csr | None:
    """Return a valid, canonical CSR matrix of the right width, or None."""
    if known_parts(X) is not None:
        return X if X.shape[1] == n_features and X.shape[0] > 0 else None
    indptr, indices, data = X.indptr, X.indices, X.data
    if (
        X.ndim != 2
        or not indptr.ndim == indices.ndim == data.ndim == 1
        or X.shape[1] != n_features
        or X.shape[0] < 1
        or data.dtype not in _FLOATS
        or indices.dtype not in _COLUMN_TYPES
        or indptr.dtype not in _COLUMN_TYPES
        or not len(indices) == len(data) < _INT32_MAX
        or n_features >= _INT32_MAX
        or len(indptr) != X.shape[0] + 1
        or indptr[0] != 0
        or indptr[-1] != len(indices)
        or not bool((indptr[1:] >= indptr[:-1]).all())
    ):
        return None
    if len(indices) and (
        indices.min() < 0
        or indices.max() >= n_features
        or not bool(data.all())
        or not bool(np.isfinite(data).all())
        or not _rises_within_rows(X)
    ):
        return None
    return checked_csr(
        data,
        np.ascontiguousarray(indices, dtype=np.int32),
        np.ascontiguousarray(indptr, dtype=np.int64),
        (int(X.shape[0]), n_features),
        np.ascontiguousarray(indptr, dtype=np.int32),
    )


def _rises_within_rows(X: Csr) -> bool:
    """Tell whether column ids are strictly increasing within each row."""
    rises = X.indices[1:] > X.indices[:-1]
    if X.shape[0] > 1:
        starts = X.indptr[1:-1]
        rises[starts[(starts > 0) & (starts < len(X.indices))] - 1] = True
    return bool(rises.all())
