"""Validate label indicators: every 0/1 matrix that a user passes is checked here, once."""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Bool, Csr
from vicinal._base.bare_csr import LARGEST, bare_csr, dense_csr
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.quick_csr import is_canonical_indicator
from vicinal._base.validation import canonical_csr


def check_indicator(Y: object, name: str = "Y") -> Csr:
    """Return the label indicator `Y` as canonical CSR: int32 ones, sorted rows, no stored zeros.

    Parameters
    ----------
    Y : array-like or SciPy sparse, shape (n, L)
        Values 0 and 1 as bool, integer or float. Stored zeros are zeros.
    name : str
        Name of the argument in error messages.

    Notes
    -----
    Memory: 8 bytes per label of a row, whatever L is. The caller's arrays are never changed.

    Examples
    --------
    >>> check_indicator([[0, 1, 1], [0, 0, 0]]).indices
    array([1, 2], dtype=int32)
    >>> check_indicator([[0, 2]])
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: Y: expected values 0 and 1 only, got 2 in
    row 0
    """
    if isinstance(Y, np.matrix):
        raise InvalidArgumentError(name, "an ndarray or a sparse array", "numpy.matrix")
    ones = _sparse_ones(Y, name) if sparse.issparse(Y) else _dense_ones(Y, name)
    data = np.ones(ones.nnz, dtype=np.int32)
    n_rows, n_labels = ones.shape
    if max(ones.nnz, n_labels) >= LARGEST:  # SciPy requires one type for both
        wide = ones.indices.astype(np.int64), ones.indptr.astype(np.int64)
        return sparse.csr_array((data, *wide), shape=ones.shape)
    indices, indptr = ones.indices.astype(np.int32), ones.indptr.astype(np.int32)
    return bare_csr(data, indices, indptr, (int(n_rows), int(n_labels)))


def _sparse_ones(Y: object, name: str) -> Csr:
    """Return the pattern of a sparse indicator."""
    if is_canonical_indicator(Y, cast("Any", Y).shape[-1]):
        return Y
    matrix = canonical_csr(Y, name)
    _refuse_others(matrix.data, matrix.data == 1, name)
    return matrix


def _dense_ones(Y: object, name: str) -> Csr:
    """Return the pattern of a dense indicator."""
    array = _number_array(Y, name)
    if array.ndim != 2:
        raise InvalidArgumentError(name, "a two-dimensional array", f"shape {array.shape}")
    _refuse_others(array, (array == 0) | (array == 1), name)
    return dense_csr(array != 0)


def _number_array(Y: object, name: str) -> NDArray[Any]:
    """Return `Y` as an array of numbers; text is an error, even if it could be parsed."""
    try:
        array = np.asarray(Y)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidArgumentError(name, "rows of 0 and 1, all equally long", type(Y)) from None
    if array.dtype.kind not in "fiub":
        raise InvalidArgumentError(name, "values 0 and 1 only", f"dtype {array.dtype}")
    return array


def _refuse_others(values: NDArray[Any], allowed: Bool, name: str) -> None:
    """Raise an error that names the first value other than 0 and 1."""
    if not allowed.all():
        at = int(np.argmin(allowed))
        place = f" in row {at // values.shape[1]}" if values.ndim == 2 else ""
        raise InvalidArgumentError(name, "values 0 and 1 only", f"{values.ravel()[at]:g}{place}")
