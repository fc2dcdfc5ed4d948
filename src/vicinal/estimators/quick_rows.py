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
from vicinal._base.quick_csr import has_sound_structure

_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


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
    data = X.data
    if not has_sound_structure(X, n_features) or data.dtype not in _FLOATS:
        return None
    if not bool(data.all()) or not bool(np.isfinite(data).all()):
        return None
    return checked_csr(
        data,
        np.ascontiguousarray(X.indices, dtype=np.int32),
        np.ascontiguousarray(X.indptr, dtype=np.int64),
        (int(X.shape[0]), n_features),
        np.ascontiguousarray(X.indptr, dtype=np.int32),
    )
