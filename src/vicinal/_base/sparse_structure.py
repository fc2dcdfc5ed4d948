"""Validate the structure of sparse matrices before SciPy or native code reads them.

SciPy trusts ``indptr`` and the ids; wrong ones make its loops, and ours, read out of bounds. Its
``check_format`` subtracts consecutive row starts, and a difference can overflow: it accepts
``[0, 2, 2_000_000, -2**31]``. Here row starts are compared, never subtracted.
"""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vicinal._base.errors import InvalidArgumentError

MOST_ROWS = 2**31 - 2
"""Maximum number of rows and columns of a sparse matrix, as ids are 32-bit integers."""


def check_sparse_structure(X: object, name: str) -> None:
    """Raise for CSR, CSC, BSR or COO arrays that would make native code read out of bounds.

    Call this before SciPy converts or copies, because SciPy trusts the arrays. Any other object is
    accepted unchecked.
    """
    kind = getattr(X, "format", None)
    matrix = cast("Any", X)
    if kind == "coo":
        _check_coordinates(matrix, name)
    elif kind in ("csr", "csc", "bsr") and matrix.ndim == 2:
        n_rows, n_columns = matrix.shape
        if kind == "bsr":
            n_rows, n_columns = n_rows // matrix.blocksize[0], n_columns // matrix.blocksize[1]
        elif kind == "csc":
            n_rows, n_columns = n_columns, n_rows
        check_compressed(matrix.indptr, matrix.indices, len(matrix.data), (n_rows, n_columns), name)


def check_compressed(
    indptr: NDArray[Any],
    indices: NDArray[Any],
    n_values: int,
    shape: tuple[int, int],
    name: str,
    *,
    exact: bool = False,
) -> None:
    """Raise for row starts and column ids (of CSR; the reverse for CSC) that are inconsistent.

    Parameters
    ----------
    indptr : ndarray of integers, shape (rows + 1,)
        The first must be 0, and they must not decrease.
    indices : ndarray of integers
        Those in use must be valid column ids.
    n_values : int
        The number of stored values.
    shape : (rows, columns)
    name : str
        Name of the matrix in error messages.
    exact : bool
        Whether the last row must end where the ids and values do. SciPy allows longer arrays.

    Examples
    --------
    >>> starts = np.array([0, 2, 2_000_000, -(2**31)], dtype=np.int32)
    >>> check_compressed(starts, np.zeros(2, dtype=np.int32), 2, (3, 1), "X")
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: X: expected a valid sparse structure, got an indptr
    that falls, or that ends at -2147483648 with 2 entries stored
    """
    n_rows, n_columns = shape
    if max(n_rows, n_columns) > MOST_ROWS:
        raise InvalidArgumentError(name, "fewer than 2^31 - 1 rows and columns", tuple(shape))
    for what, array in (("indptr", indptr), ("indices", indices)):
        if array.ndim != 1 or array.dtype.kind not in "iu":
            _refuse(name, f"an {what} of {array.dtype}, {array.ndim}-dimensional")
    if len(indptr) != n_rows + 1:
        _refuse(name, f"an indptr of {len(indptr)} numbers for {n_rows} rows")
    first, last, n_stored = int(indptr[0]), int(indptr[-1]), min(len(indices), n_values)
    if first != 0:
        _refuse(name, f"an indptr that begins at {first}")
    is_full = last == len(indices) == n_values if exact else last <= n_stored
    if not is_full or np.any(indptr[1:] < indptr[:-1]):
        _refuse(
            name, f"an indptr that falls, or that ends at {last} with {n_stored} entries stored"
        )
    check_ids(indices[:last], n_columns, name)


def _check_coordinates(matrix: Any, name: str) -> None:
    """Raise for COO coordinates outside the matrix, or for fewer coordinates than values."""
    for ids, size in zip(matrix.coords, matrix.shape, strict=True):
        if ids.ndim != 1 or ids.dtype.kind not in "iu" or len(ids) != len(matrix.data):
            _refuse(name, f"{len(ids)} coordinates of {ids.dtype} for {len(matrix.data)} values")
        check_ids(ids, size, name)


def check_ids(ids: NDArray[Any], size: int, name: str) -> None:
    """Raise for ids of rows, columns or blocks that are out of range."""
    if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= size):
        raise InvalidArgumentError(name, f"ids from 0 to {size - 1}", f"{ids.min()} to {ids.max()}")


def _refuse(name: str, got: str) -> None:
    """Raise an error that describes the problem."""
    raise InvalidArgumentError(name, "a valid sparse structure", got)
