"""Sparse matrices that are known to be valid, built in a microsecond and never checked again.

SciPy's constructor takes 40 microseconds, and checking every entry takes time proportional to the
number of entries; predicting one row builds a dozen matrices. The matrices built here from valid
arrays also store these arrays in the types of the compiled core, which marks them as checked: see
:func:`known_parts`. Their arrays are read-only.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Csr, Int, Int32
from vicinal._base.bare_csr import LARGEST, bare_csr
from vicinal._base.growing import GrowingArray

_MARK = "_vicinal_parts"


class Parts(NamedTuple):
    """The structure of a matrix in the types of the compiled core, and spare capacity for rows."""

    indptr: Int
    indices: Int32
    indptr32: Int32
    room: "Room | None" = None


class Room(NamedTuple):
    """Growing arrays of rows: row starts as int64 and as int32, column ids, values."""

    indptr: GrowingArray
    indptr32: GrowingArray
    indices: GrowingArray
    data: GrowingArray

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Omit spare capacity from pickles."""
        return type(None), ()


def checked_csr(
    data: NDArray[Any],
    indices: Int32,
    indptr: Int,
    shape: tuple[int, int],
    indptr32: Int32 | None = None,
    room: Room | None = None,
) -> Csr:
    """Return a matrix of arrays that are known to be canonical, finite and within `shape`.

    Parameters
    ----------
    data : ndarray
    indices : ndarray of int32
    indptr : ndarray of int64
    shape : tuple of int
    indptr32 : ndarray of int32, optional
        The same as `indptr`; SciPy keeps both index arrays in one type.
    room : Room, optional
        The growing arrays of which the others are views.

    Examples
    --------
    >>> matrix = checked_csr(np.ones(2), np.array([0, 1], np.int32), np.array([0, 1, 2]), (2, 3))
    >>> matrix.toarray()
    array([[1., 0., 0.],
           [0., 1., 0.]])
    """
    row_starts = indptr.astype(np.int32) if indptr32 is None else indptr32
    matrix = bare_csr(data, indices, row_starts, shape)
    matrix.__dict__[_MARK] = Parts(indptr, indices, row_starts, room)
    return matrix


def known_parts(matrix: object) -> Parts | None:
    """Return the structure of a matrix built by :func:`checked_csr`, or None for other matrices.

    Also None once SciPy has changed the structure of the matrix.
    """
    attributes = getattr(matrix, "__dict__", {})
    parts: Parts | None = attributes.get(_MARK)
    if parts is None or attributes["indices"] is not parts.indices:
        return None
    return parts if attributes["indptr"] is parts.indptr32 else None


def owned_csr(matrix: Csr) -> Csr:
    """Return a matrix with a copy of the structure, which the caller may change.

    It is checked again if it is passed back. Its values are not copied.
    """
    parts = known_parts(matrix)
    if parts is None:
        return matrix
    n_rows, n_columns = matrix.shape
    owned = checked_csr(
        matrix.data,
        parts.indices.copy(),
        parts.indptr,
        (int(n_rows), int(n_columns)),
        parts.indptr32.copy(),
    )
    del owned.__dict__[_MARK]
    return owned


def with_values(matrix: Csr, data: NDArray[Any]) -> Csr:
    """Return a matrix with the structure of a canonical one and other finite values.

    Zero values stay stored.
    """
    parts = known_parts(matrix)
    n_rows, n_columns = matrix.shape
    if parts is None:
        changed: Csr = sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        changed.has_canonical_format = True
        return changed
    shape = (int(n_rows), int(n_columns))
    return checked_csr(data, parts.indices, parts.indptr, shape, parts.indptr32)


def adopted(matrix: Csr) -> Csr:
    """Return a canonical, finite matrix as a checked one, sharing arrays if their types fit.

    Matrices of 2^31 entries or more are returned unchanged.
    """
    if known_parts(matrix) is not None or int(matrix.indptr[-1]) >= LARGEST:
        return matrix
    n_entries = int(matrix.indptr[-1])
    indptr = np.ascontiguousarray(matrix.indptr, dtype=np.int64)
    indptr32 = np.ascontiguousarray(matrix.indptr, dtype=np.int32)
    indices = np.ascontiguousarray(matrix.indices[:n_entries], dtype=np.int32)
    data = np.ascontiguousarray(matrix.data[:n_entries])
    n_rows, n_columns = matrix.shape
    return checked_csr(data, indices, indptr, (int(n_rows), int(n_columns)), indptr32)


def plain_csr(matrix: Csr) -> Csr:
    """Return a copy as an ordinary SciPy matrix, to be pickled or saved."""
    if known_parts(matrix) is None:
        return matrix
    parts = (matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy())
    plain: Csr = sparse.csr_array(parts, shape=matrix.shape)
    plain.has_canonical_format = True
    return plain


def widened(matrix: Csr, n_columns: int) -> Csr:
    """Return the same rows with empty columns appended."""
    if matrix.shape[1] == n_columns:
        return matrix
    shape = (int(matrix.shape[0]), n_columns)
    parts = known_parts(matrix)
    if parts is None:
        return sparse.csr_array((matrix.data, matrix.indices, matrix.indptr), shape=shape)
    return checked_csr(matrix.data, parts.indices, parts.indptr, shape, matrix.indptr, parts.room)


def with_rows(matrix: Csr, fresh: Csr) -> Csr:
    """Return the rows of both; `fresh` is written into spare capacity after the others if possible.

    Both are canonical and have the same number of columns. Time: proportional to `fresh`, except
    when the capacity is exhausted and all rows are copied to larger arrays.

    Examples
    --------
    >>> eye = sparse.csr_array(np.eye(2))
    >>> once = with_rows(eye, eye)
    >>> twice = with_rows(once, eye[[0]])
    >>> once.shape, twice.toarray().tolist()
    ((4, 2), [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    """
    n_rows, n_columns = (int(size) for size in matrix.shape)
    old, more = adopted(matrix), adopted(fresh)
    parts, added = known_parts(old), known_parts(more)
    if parts is None or added is None:
        return sparse.vstack([matrix, fresh], format="csr")
    n_entries = int(parts.indptr[-1])
    starts = added.indptr[1:] + n_entries
    if int(starts[-1] if len(starts) else n_entries) >= LARGEST:
        return sparse.vstack([matrix, fresh], format="csr")
    room = parts.room or Room(
        GrowingArray(parts.indptr),
        GrowingArray(old.indptr),
        GrowingArray(parts.indices),
        GrowingArray(old.data),
    )
    room = Room(
        room.indptr.extended(n_rows + 1, starts),
        room.indptr32.extended(n_rows + 1, starts.astype(np.int32)),
        room.indices.extended(n_entries, added.indices),
        room.data.extended(n_entries, more.data),
    )
    stop = n_rows + int(fresh.shape[0])
    n_entries += len(added.indices)
    return checked_csr(
        room.data.head(n_entries),
        room.indices.head(n_entries),
        room.indptr.head(stop + 1),
        (stop, n_columns),
        room.indptr32.head(stop + 1),
        room,
    )


def stacked(matrices: Sequence[Csr]) -> Csr:
    """Return the rows of canonical matrices one below the other, in new arrays."""
    parts = [known_parts(matrix) for matrix in matrices]
    known = [each for each in parts if each is not None]
    if len(matrices) == 1:
        return matrices[0]
    total = sum(int(each.indptr[-1]) for each in known)
    if len(known) < len(matrices) or total >= LARGEST:
        return adopted(sparse.vstack(list(matrices), format="csr"))
    starts = [np.zeros(1, dtype=np.int64)]
    n_entries = 0
    for each in known:
        starts.append(each.indptr[1:] + n_entries)
        n_entries += int(each.indptr[-1])
    indptr = np.concatenate(starts)
    return checked_csr(
        np.concatenate([matrix.data for matrix in matrices]),
        np.concatenate([each.indices for each in known]),
        indptr,
        (len(indptr) - 1, int(matrices[0].shape[1])),
    )
