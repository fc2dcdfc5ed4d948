"""Sparse matrices of arrays that are known to be valid, built in a microsecond.

SciPy's constructors and indexing check, convert and copy for 40 to 100 microseconds, which is more
than a search for one row takes.
"""

from typing import Any, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Csr, Int, Int32

_TEMPLATE = dict(vars(sparse.csr_array((1, 1))))
LARGEST = int(np.iinfo(np.int32).max)
"""Fewer entries and columns than this are counted in 32 bits."""
FEW_ENTRIES = 10_000
"""Entries up to which NumPy takes rows in less time than SciPy checks and converts them in."""


def bare_csr(
    data: NDArray[Any], indices: Int32, indptr: Int32 | Int, shape: tuple[int, int]
) -> Csr:
    """Return a matrix of canonical arrays within `shape`.

    Examples
    --------
    >>> starts = np.array([0, 1], np.int32)
    >>> matrix = bare_csr(np.ones(1), np.array([1], np.int32), starts, (1, 2))
    >>> matrix.toarray()
    array([[0., 1.]])
    """
    matrix: Csr = object.__new__(sparse.csr_array)
    matrix.__dict__.update(
        _TEMPLATE,
        _shape=shape,
        data=data,
        indices=indices,
        indptr=indptr,
        _has_canonical_format=True,
        _has_sorted_indices=True,
    )
    return matrix


def dense_csr(array: NDArray[Any]) -> Csr:
    """Return the cells of a two-dimensional array that are not 0.

    SciPy's constructor returns the same in four times the time if rows are few.

    Examples
    --------
    >>> dense_csr(np.array([[0.0, 2.0], [0.0, 0.0]])).indptr
    array([0, 1, 1], dtype=int32)
    """
    n_rows, n_columns = array.shape
    cells = array.ravel()
    stored = np.flatnonzero(cells)
    if len(stored) >= LARGEST or n_columns >= LARGEST:
        found: Csr = sparse.csr_array(array)
        found.has_canonical_format = True
        return found
    indptr = np.searchsorted(stored, np.arange(n_rows + 1) * n_columns).astype(np.int32)
    indices = (stored % n_columns).astype(np.int32)
    return bare_csr(cells[stored], indices, indptr, (n_rows, n_columns))


@overload
def take_rows(matrix: Csr, rows: slice | NDArray[np.integer[Any]]) -> Csr: ...


@overload
def take_rows(matrix: NDArray[Any], rows: slice | NDArray[np.integer[Any]]) -> NDArray[Any]: ...


def take_rows(
    matrix: NDArray[Any] | Csr, rows: slice | NDArray[np.integer[Any]]
) -> NDArray[Any] | Csr:
    """Return rows of a dense or canonical matrix by their places.

    SciPy's indexing takes ten times as long where few entries are taken.

    Examples
    --------
    >>> take_rows(sparse.csr_array(np.eye(3)), np.array([2, 0])).indices
    array([2, 0], dtype=int32)
    """
    if not isinstance(matrix, sparse.csr_array) or isinstance(rows, slice) or not len(rows):
        return matrix[rows]
    if rows.dtype.kind != "i" or rows.min() < 0:
        return matrix[rows]
    first = matrix.indptr[rows]
    sizes = matrix.indptr[rows + 1] - first
    n_entries = int(sizes.sum())
    if n_entries > FEW_ENTRIES:
        return matrix[rows]
    indptr = np.zeros(len(rows) + 1, dtype=matrix.indptr.dtype)
    np.cumsum(sizes, out=indptr[1:])
    taken = np.arange(n_entries) + np.repeat(first - indptr[:-1], sizes)
    shape = (len(rows), int(matrix.shape[1]))
    return bare_csr(matrix.data[taken], matrix.indices[taken], indptr, shape)


def no_rows(n_columns: int) -> Csr:
    """Return a matrix of float64 without rows.

    Examples
    --------
    >>> no_rows(3).shape
    (0, 3)
    """
    starts = np.zeros(1, dtype=np.int32)
    return bare_csr(np.empty(0), np.empty(0, dtype=np.int32), starts, (0, n_columns))
