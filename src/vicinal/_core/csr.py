"""Sparse matrices of arrays that are known to be valid: checked once, built in a microsecond.

SciPy's constructor takes 40 microseconds, and checking every entry takes time proportional to their
number. Predicting one row builds a dozen matrices and takes less than that. The matrices built here
from valid arrays also store these arrays in the types of the compiled core, which marks them as
checked: see :func:`known_parts`. Their arrays are read-only. What a user passes is looked at in one
pass if it is plain and of the right width. Everything else takes the long way, which also says what
is wrong.

SciPy trusts ``indptr`` and the ids; wrong ones make its loops, and ours, read out of bounds. Its
``check_format`` subtracts consecutive row starts, and a difference can overflow: it accepts
``[0, 2, 2_000_000, -2**31]``. Here row starts are compared, never subtracted.

New rows of a model are written after the existing ones, so that adding one row copies one row.
Existing views never change, because entries that were once returned are never overwritten.
"""

import ctypes
import mmap
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeGuard, cast, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Int, Int32
from vicinal._core.threads import ForkLock
from vicinal.errors import InvalidArgumentError

_TEMPLATE = dict(vars(sparse.csr_array((1, 1))))
LARGEST = int(np.iinfo(np.int32).max)
"""Fewer entries and columns than this are counted in 32 bits."""
FEW_ENTRIES = 10_000
"""Entries up to which NumPy takes rows in less time than SciPy checks and converts them in."""


def bare_csr(
    data: NDArray[Any], indices: Int32, indptr: Int32 | Int, shape: tuple[int, int]
) -> Csr:
    """Return a matrix of canonical arrays within `shape`."""
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
    """Return the cells of an array that are not 0, four times as fast as SciPy if rows are few."""
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
    """Return rows of a dense or canonical matrix; few rows ten times as fast as SciPy."""
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


def take_columns(matrix: NDArray[Any] | Csr, first: int, behind: int) -> NDArray[Any] | Csr:
    """Return the columns from `first` to before `behind` of a dense or canonical matrix."""
    if not isinstance(matrix, sparse.csr_array):
        return np.ascontiguousarray(matrix[:, first:behind])
    n_entries = int(matrix.indptr[-1])
    indices = matrix.indices[:n_entries]
    kept = (indices >= first) & (indices < behind)
    before = np.zeros(n_entries + 1, dtype=np.int64)
    np.cumsum(kept, out=before[1:])
    shape = (int(matrix.shape[0]), behind - first)
    columns = (indices[kept] - first).astype(np.int32)
    return checked_csr(matrix.data[:n_entries][kept], columns, before[matrix.indptr], shape)


def side_by_side(blocks: Sequence[NDArray[Any] | Csr]) -> NDArray[Any] | Csr:
    """Return the columns of checked matrices of the same rows, sparse if one of them is."""
    if len(blocks) == 1:
        return blocks[0]
    dense = [block for block in blocks if isinstance(block, np.ndarray)]
    if len(dense) == len(blocks):
        return np.hstack(dense)
    rows = [block if isinstance(block, sparse.csr_array) else dense_csr(block) for block in blocks]
    if rows[0].shape[0] != 1:
        return trust(sparse.csr_array(sparse.hstack(rows, format="csr")))
    firsts = np.cumsum([0, *(block.shape[1] for block in rows)])
    columns = [block.indices + first for block, first in zip(rows, firsts, strict=False)]
    data = np.concatenate([block.data for block in rows])
    starts = np.array([0, len(data)], dtype=np.int64)
    return checked_csr(data, np.concatenate(columns).astype(np.int32), starts, (1, int(firsts[-1])))


def full_rows(matrix: NDArray[Any] | Csr) -> NDArray[Any]:
    """Return a matrix as a dense array, which is itself if it is one."""
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.toarray())


def no_rows(n_columns: int) -> Csr:
    """Return a matrix of float64 without rows."""
    starts = np.zeros(1, dtype=np.int32)
    return bare_csr(np.empty(0), np.empty(0, dtype=np.int32), starts, (0, n_columns))


GROWTH = 0.125
"""Share of spare capacity when a large array is copied to a larger one."""
MOST_DOUBLED = 2**26
"""Bytes up to which an array doubles instead: 64 MiB. What is not used takes addresses, but hardly
any memory, and hardly any new row waits for a copy of all others."""
LEAST_ROOM = 64
"""Minimum spare capacity in entries."""


class GrowingArray:
    """An array with spare capacity after the entries in use.

    `values`: kept by reference and never changed: adding the first entries makes a copy, unless
    they are mapped from a file (:func:`room_behind_map`).
    """

    def __init__(self, values: NDArray[Any], mapped: NDArray[Any] | None = None) -> None:
        self._values = values
        self._used = len(values)
        self._mapped = mapped
        self._writing = ForkLock()

    def head(self, count: int) -> NDArray[Any]:
        """Return the first entries, read-only."""
        view = self._values[:count]
        view.flags.writeable = False
        return view

    def extended(self, count: int, fresh: NDArray[Any]) -> "GrowingArray":
        """Return an array that consists of the first `count` entries, followed by `fresh`."""
        if len(fresh) == 0:  # the array may be read-only
            return self
        stop, dtype = count + len(fresh), self._values.dtype
        fits = np.can_cast(fresh.dtype, dtype, "safe") or (
            self._mapped is not None and _keeps(fresh, dtype)
        )
        with self._writing:
            if count == self._used and stop <= len(self._values) and fits:
                self._values[count:stop] = fresh
                self._used = stop
                return self
        return self._larger(count, fresh)

    def with_room(self, count: int) -> "GrowingArray":
        """Return an array of the first `count` entries that takes further ones without a copy."""
        has_room = count == self._used and count < len(self._values)
        return self if has_room else self._larger(count, self._values[:0])

    def _larger(self, count: int, fresh: NDArray[Any]) -> "GrowingArray":
        """Return the first entries and `fresh` in new memory, with spare capacity."""
        stop = count + len(fresh)
        head = self._values[:count] if self._mapped is None else self._mapped
        room = len(head) + self._room(stop - len(head))  # only what is behind a file is in memory
        values = room_behind_map(head, room) if count >= len(head) else None
        is_mapped = values is not None and _keeps(fresh, head.dtype)
        if values is None or not is_mapped:
            dtype = np.result_type(self._values, fresh)
            values = np.empty((self._room(stop), *self._values.shape[1:]), dtype=dtype)
        copied = len(head) if is_mapped else 0
        values[copied:count] = self._values[copied:count]
        values[count:stop] = fresh
        larger = GrowingArray(values, head if is_mapped else None)
        larger._used = stop
        return larger

    def _room(self, count: int) -> int:
        """Return for how many entries to make room in memory if there are so many now."""
        doubled = min(count, MOST_DOUBLED // max(1, self._values[:1].nbytes))
        return count + max(LEAST_ROOM, doubled, int(GROWTH * count))


def _keeps(fresh: NDArray[Any], dtype: np.dtype[Any]) -> bool:
    """Tell whether an array of this type can hold these very values."""
    if np.can_cast(fresh.dtype, dtype, "safe"):
        return True
    with np.errstate(over="ignore", invalid="ignore"):
        return dtype.kind == "f" and bool((fresh.astype(dtype) == fresh).all())


MAPPED_ROOM_FROM = 2**20
"""Bytes of a file from which on rows are added behind its mapping; less is copied in no time."""


class _Region:
    """Addresses that NumPy uses as an array: pages of a file, and memory behind them."""

    def __init__(self, first: int, shown: int, size: int) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._libc.mmap.restype = self._libc.mremap.restype = ctypes.c_void_p
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
        length, nowhere = ctypes.c_size_t(size), ctypes.c_void_p(None)
        found: int = self._libc.mmap(nowhere, length, 0, flags, -1, ctypes.c_long(0))
        if found == ctypes.c_void_p(-1).value:
            raise OSError(ctypes.get_errno(), "no addresses are left")
        self._size, self.address = ctypes.c_size_t(size), found
        start = ctypes.c_void_p(self.address)
        # Of an old size of 0, the old mapping stays. The flags are MAYMOVE and FIXED.
        moved = self._libc.mremap(ctypes.c_void_p(first), 0, ctypes.c_size_t(shown), 3, start)
        behind, rest = ctypes.c_void_p(self.address + shown), ctypes.c_size_t(size - shown)
        access = mmap.PROT_READ | mmap.PROT_WRITE
        if moved != self.address or self._libc.mprotect(behind, rest, access):
            raise OSError(ctypes.get_errno(), "a file could not be mapped again")

    def array(self, offset: int, count: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return an array from an offset on, which keeps the region."""
        place, numbers = (self.address + offset, False), {"typestr": dtype.str, "version": 3}
        self.__array_interface__ = {"data": place, "shape": (count,), **numbers}
        return np.asarray(self)

    def __del__(self) -> None:
        """Give the addresses back, once no array refers to them."""
        if hasattr(self, "address"):
            self._libc.munmap(ctypes.c_void_p(self.address), self._size)


def is_mapped(values: NDArray[Any]) -> bool:
    """Tell whether the entries of an array are those of a mapped file."""
    owner: object = values
    while isinstance(owner, np.ndarray | memoryview):
        owner = owner.base if isinstance(owner, np.ndarray) else owner.obj
    return isinstance(owner, mmap.mmap)


def room_behind_map(mapped: NDArray[Any], count: int) -> NDArray[Any] | None:
    """Return an array of `count` entries that begins with those of a mapped file, not copied.

    None if the entries are not mapped, are few, or the system cannot show a file at two addresses
    (it is not Linux). What is written behind them is in memory and never reaches the file.
    """
    offset = mapped.ctypes.data % mmap.PAGESIZE
    if (
        sys.platform != "linux"
        or not is_mapped(mapped)
        or mapped.ndim != 1
        or not mapped.flags.c_contiguous
        or mapped.nbytes < MAPPED_ROOM_FROM
        or offset % mapped.itemsize
    ):
        return None
    shown = (offset + mapped.nbytes) // mmap.PAGESIZE * mmap.PAGESIZE  # in whole pages
    try:
        region = _Region(mapped.ctypes.data - offset, shown, offset + count * mapped.itemsize)
    except OSError:
        return None
    values = region.array(offset, count, mapped.dtype)
    copied = (shown - offset) // mapped.itemsize
    values[copied : len(mapped)] = mapped[copied:]
    return values


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

    @classmethod
    def of(cls, matrix: Csr, parts: Parts) -> "Room":
        """Return arrays that contain the rows of a matrix and have no room yet."""
        starts, starts32 = GrowingArray(parts.indptr), GrowingArray(matrix.indptr)
        return cls(starts, starts32, GrowingArray(parts.indices), GrowingArray(matrix.data))

    def matrix(self, n_rows: int, n_columns: int) -> Csr:
        """Return the first rows as a matrix that keeps the room behind them."""
        indptr = self.indptr.head(n_rows + 1)
        n_entries = int(indptr[-1])
        data, indices = self.data.head(n_entries), self.indices.head(n_entries)
        shape = n_rows, n_columns
        return checked_csr(data, indices, indptr, shape, self.indptr32.head(n_rows + 1), self)

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
    """Return a matrix of arrays that are known to be canonical, finite and within `shape`."""
    if indptr[-1] >= LARGEST:  # SciPy then stores 64-bit ids, and no mark is set
        matrix: Csr = sparse.csr_array((data, indices, indptr), shape=shape)
        matrix.has_canonical_format = True
        return matrix
    row_starts = indptr.astype(np.int32) if indptr32 is None else indptr32
    matrix = bare_csr(data, indices, row_starts, shape)
    matrix.__dict__[_MARK] = Parts(indptr, indices, row_starts, room)
    return matrix


def known_parts(matrix: object) -> Parts | None:
    """Return the structure of a checked matrix; None for others and where SciPy has changed it."""
    attributes = getattr(matrix, "__dict__", {})
    parts: Parts | None = attributes.get(_MARK)
    if parts is None or attributes["indices"] is not parts.indices:
        return None
    return parts if attributes["indptr"] is parts.indptr32 else None


def private_copy(matrix: Csr) -> Csr:
    """Return a matrix with its own copy of the structure, which is checked again if passed back."""
    parts = known_parts(matrix)
    if parts is None:
        return matrix
    starts = parts.indptr, matrix.shape, parts.indptr32.copy()
    owned = checked_csr(matrix.data, parts.indices.copy(), *starts)
    del owned.__dict__[_MARK]
    return owned


def with_values(matrix: Csr, data: NDArray[Any]) -> Csr:
    """Return a matrix with the structure of a canonical one and other finite values."""
    parts = known_parts(matrix)
    if parts is None:
        changed: Csr = sparse.csr_array((data, matrix.indices, matrix.indptr), shape=matrix.shape)
        changed.has_canonical_format = True
        return changed
    return checked_csr(data, parts.indices, parts.indptr, matrix.shape, parts.indptr32)


def trust(matrix: Csr) -> Csr:
    """Return a canonical, finite matrix as a checked one, sharing arrays if their types fit."""
    if known_parts(matrix) is not None or int(matrix.indptr[-1]) >= LARGEST:
        return matrix
    n_entries = int(matrix.indptr[-1])
    indptr = np.ascontiguousarray(matrix.indptr, dtype=np.int64)
    indptr32 = np.ascontiguousarray(matrix.indptr, dtype=np.int32)
    indices = np.ascontiguousarray(matrix.indices[:n_entries], dtype=np.int32)
    data = np.ascontiguousarray(matrix.data[:n_entries])
    return checked_csr(data, indices, indptr, matrix.shape, indptr32)


def to_user(matrix: Csr) -> Csr:
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
    """
    n_rows, n_columns = matrix.shape
    old, more = trust(matrix), trust(fresh)
    parts, added = known_parts(old), known_parts(more)
    if parts is None or added is None:
        return sparse.vstack([matrix, fresh], format="csr")
    n_entries = int(parts.indptr[-1])
    starts = added.indptr[1:] + n_entries
    if int(starts[-1] if len(starts) else n_entries) >= LARGEST:
        return sparse.vstack([matrix, fresh], format="csr")
    room = parts.room or Room.of(old, parts)
    room = Room(
        room.indptr.extended(n_rows + 1, starts),
        room.indptr32.extended(n_rows + 1, starts.astype(np.int32)),
        room.indices.extended(n_entries, added.indices),
        room.data.extended(n_entries, more.data),
    )
    return room.matrix(n_rows + int(fresh.shape[0]), n_columns)


def with_room(matrix: Csr) -> Csr:
    """Return the same rows in arrays to which :func:`with_rows` adds rows without a copy."""
    whole = trust(matrix)
    parts, n_rows = known_parts(whole), int(matrix.shape[0])
    if parts is None or parts.room is not None:
        return whole
    n_entries, n_starts = int(parts.indptr[-1]), n_rows + 1
    counts = n_starts, n_starts, n_entries, n_entries
    arrays = zip(Room.of(whole, parts), counts, strict=True)
    return Room(*(each.with_room(count) for each, count in arrays)).matrix(*whole.shape)


def stacked(matrices: Sequence[Csr]) -> Csr:
    """Return the rows of canonical matrices one below the other, in new arrays."""
    parts = [known_parts(matrix) for matrix in matrices]
    known = [each for each in parts if each is not None]
    if len(matrices) == 1:
        return matrices[0]
    total = sum(int(each.indptr[-1]) for each in known)
    if len(known) < len(matrices) or total >= LARGEST:
        return trust(sparse.vstack(list(matrices), format="csr"))
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


_COLUMN_TYPES = (np.dtype(np.int32), np.dtype(np.int64))


def has_sound_structure(X: object, n_columns: int) -> bool:
    """Tell whether `X` is a CSR matrix with rows whose columns rise, and `n_columns` of them."""
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
    return bool(indices.min() >= 0 and indices.max() < n_columns and rises_within_rows(matrix))


def shared_csr(X: object) -> Csr | None:
    """Return a matrix of the same arrays if they need no conversion, or None: the long way then."""
    if not has_sound_structure(X, cast("Csr", X).shape[-1]):
        return None
    matrix = cast("Csr", X)
    data, indices, indptr = matrix.data, matrix.indices, matrix.indptr
    is_aligned = data.flags.aligned and indices.flags.aligned and indptr.flags.aligned
    if not is_aligned or indices.dtype != indptr.dtype:
        return None
    return bare_csr(data, indices, indptr, matrix.shape)


def quick_indicator(Y: object, n_rows: int, n_labels: int) -> Csr | None:
    """Return a copy of a sparse indicator that needs no conversion, or None: the long way then."""
    if not is_canonical_indicator(Y, n_labels) or Y.shape[0] != n_rows:
        return None
    return frozen_copy(Y, np.int32)


def is_canonical_indicator(Y: object, n_labels: int) -> TypeGuard[Csr]:
    """Tell whether `Y` is a CSR matrix of ones that needs no conversion but that of its types."""
    if not has_sound_structure(Y, n_labels):
        return False
    matrix = cast("Csr", Y)
    return matrix.dtype.kind in "biuf" and bool((matrix.data == 1).all())


def frozen(matrix: Csr) -> Csr:
    """Return a canonical matrix as a checked one, after making its arrays read-only."""
    checked = trust(matrix)
    known = known_parts(checked)
    starts = (known.indptr,) if known else ()
    for part in (checked.data, checked.indices, checked.indptr, *starts):
        part.flags.writeable = False
    return checked


def is_frozen(matrix: object) -> TypeGuard[Csr]:
    """Tell whether nobody can change a checked matrix."""
    if known_parts(matrix) is None:
        return False
    rows = cast("Csr", matrix)
    return not any(part.flags.writeable for part in (rows.data, rows.indices, rows.indptr))


def frozen_copy(matrix: Csr, dtype: DTypeLike | None = None) -> Csr:
    """Return a copy of a canonical matrix of fewer than 2^31 entries, which is never changed."""
    data = matrix.data.astype(matrix.dtype if dtype is None else dtype)
    indices = matrix.indices.astype(np.int32)
    starts, starts32 = matrix.indptr.astype(np.int64), matrix.indptr.astype(np.int32)
    for part in (data, indices, starts, starts32):
        part.flags.writeable = False
    return checked_csr(data, indices, starts, matrix.shape, starts32)


def rises_within_rows(X: Csr) -> bool:
    """Tell whether column ids rise strictly within each row."""
    rises = X.indices[1:] > X.indices[:-1]
    if X.shape[0] > 1:
        starts = X.indptr[1:-1]
        rises[starts[(starts > 0) & (starts < len(X.indices))] - 1] = True
    return bool(rises.all())


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
        for ids, size in zip(matrix.coords, matrix.shape, strict=True):
            if ids.ndim != 1 or ids.dtype.kind not in "iu" or len(ids) != len(matrix.data):
                _refuse(
                    name, f"{len(ids)} coordinates of {ids.dtype} for {len(matrix.data)} values"
                )
            check_ids(ids, size, name)
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
    """Raise for row starts and column ids (of CSR; the reverse for CSC) that are inconsistent."""
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


def check_ids(ids: NDArray[Any], size: int, name: str) -> None:
    """Raise for ids of rows, columns or blocks that are out of range."""
    if ids.size and (int(ids.min()) < 0 or int(ids.max()) >= size):
        raise InvalidArgumentError(name, f"ids from 0 to {size - 1}", f"{ids.min()} to {ids.max()}")


def _refuse(name: str, got: str) -> None:
    """Raise an error that describes the problem."""
    raise InvalidArgumentError(name, "a valid sparse structure", got)


def short_indices(X: Features) -> Features:
    """Return sparse rows with 32-bit indices in memory that may be written, as libraries ask."""
    if not isinstance(X, sparse.csr_array) or X.nnz > np.iinfo(np.int32).max:
        return X
    indices, indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    data = np.require(X.data, requirements="W")
    return sparse.csr_array((data, indices, indptr), shape=X.shape)


_FLOATS = (np.dtype(np.float64), np.dtype(np.float32))


def quick_rows(X: object, n_features: int) -> Features | None:
    """Return rows that are valid as they are, or None if they need the full validation."""
    if type(X) is np.ndarray:
        fits = X.ndim == 2 and X.dtype in _FLOATS and X.shape[1] == n_features and len(X) > 0
        return X if fits and X.flags.c_contiguous and bool(np.isfinite(X).all()) else None
    if type(X) in (sparse.csr_array, sparse.csr_matrix):
        matrix = cast("Csr", X)
        if known_parts(matrix) is not None:
            return matrix if matrix.shape[1] == n_features and matrix.shape[0] > 0 else None
        data = matrix.data
        if has_sound_structure(matrix, n_features) and data.dtype in _FLOATS:
            return trust(matrix) if bool(data.all()) and bool(np.isfinite(data).all()) else None
    return None
