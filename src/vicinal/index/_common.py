"""Stable row ids while an index is compacted."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import BLOCK_CELLS, Features, Float, Int, Int32
from vicinal._core.checks import check_option
from vicinal._native import simd_levels
from vicinal.errors import InvalidArgumentError, warn_user

COMPACT_SHARE = 0.1
"""Share of removed rows above which an index is compacted."""

MOST_IDS = 2**31 - 1
"""Ids are int32, which limits the number of ids of an index or a model."""


def mark_removed(removed: NDArray[np.uint8], places: Int, n_rows: int) -> NDArray[np.uint8]:
    """Return a copy of the marks of `n_rows` rows, with 1 at `places`."""
    marks = removed.copy() if len(removed) else np.zeros(n_rows, dtype=np.uint8)
    marks[places] = 1
    return marks


def should_compact(removed: NDArray[np.uint8]) -> bool:
    """Tell whether more than :data:`COMPACT_SHARE` of the rows are marked as removed."""
    return bool(np.count_nonzero(removed) > COMPACT_SHARE * len(removed))


def check_room_for_ids(n_ids: int, n_more: int) -> None:
    """Raise if the new ids would not fit in an int32."""
    if n_ids + n_more >= MOST_IDS:
        raise InvalidArgumentError("rows", "fewer than 2^31 - 1 row ids in all", n_ids + n_more)


def places_of(wanted: Int, ids: Int32 | None) -> Int:
    """Return the places of those ids in `wanted` that still exist."""
    if ids is None:
        return wanted
    place = np.searchsorted(ids, wanted)
    there = place < len(ids)
    there[there] = ids[place[there]] == wanted[there]
    found: Int = place[there]
    return found


def ids_at(places: Int32, ids: Int32 | None) -> Int32:
    """Return the ids of rows at `places`, −1 where there is none."""
    if ids is None or not len(ids):
        return places
    found: Int32 = np.where(places < 0, np.int32(-1), ids[places])
    return found


def by_row_id(
    found: Int32, values: Float, left: Int32, n_ids: int, padding: float
) -> tuple[Int32, Float]:
    """Expand lists of the remaining rows to all ids; removed rows have no neighbours."""
    ids = np.full((n_ids, found.shape[1]), -1, dtype=np.int32)
    spread = np.full(ids.shape, padding)
    ids[left], spread[left] = found, values
    return ids, spread


class RowPart(Protocol):
    """Rows with ascending ids, some of which may be marked as removed."""

    def __len__(self) -> int:
        """Return the number of rows, including removed ones."""

    @property
    def ids(self) -> Int32:
        """The id of each row."""

    @property
    def removed(self) -> NDArray[np.uint8]:
        """1 for a removed row; empty if none has been removed."""


Part = TypeVar("Part", bound=RowPart)


class RowParts(ABC, Generic[Part]):
    """All parts together: the place of a row is its position when the parts are concatenated.

    Ids ascend with places, so that ties have the same order by either.
    """

    n_ids: int
    """Number of ids assigned so far."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """The parts, in the order of their ids."""

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Place of each part's first row; the last entry is the number of rows."""
        return tuple(accumulate(map(len, self.parts), initial=0))

    @property
    def count(self) -> int:
        """Number of rows, including removed ones."""
        return self.starts[-1]

    @cached_property
    def ids(self) -> Int32 | None:
        """The id of the row at each place; None if ids equal places."""
        if self.count == self.n_ids:
            return None
        return np.concatenate([np.zeros(0, dtype=np.int32), *(part.ids for part in self.parts)])

    def ids_at(self, places: Int32) -> Int32:
        """Return the ids of the rows at `places`, −1 where there is none."""
        if self.count == self.n_ids:
            return places
        if places.size > self.count // 16:
            return ids_at(places, self.ids)
        found = np.full(places.shape, -1, dtype=np.int32)
        for start, part in self.placed():
            inside = (places >= start) & (places < start + len(part))
            found[inside] = part.ids[places[inside] - start]
        return found

    def placed(self) -> Iterator[tuple[int, Part]]:
        """Yield each part with the place of its first row."""
        return zip(self.starts, self.parts, strict=False)

    def removed(self) -> Int:
        """Return the places of removed rows that have not been compacted."""
        places = [np.flatnonzero(part.removed) + start for start, part in self.placed()]
        return np.concatenate([np.zeros(0, dtype=np.int64), *places])


ROWS = 2**16
"""Maximum number of rows of a chunk."""


def row_chunks(queries: Features) -> Iterator[tuple[int, int]]:
    """Cut rows into (start, stop) of at most :data:`ROWS` rows or, if dense, one block of cells."""
    n_rows, n_columns = queries.shape
    step = ROWS if sparse.issparse(queries) else min(ROWS, max(1, BLOCK_CELLS // max(1, n_columns)))
    for start in range(0, n_rows, step):
        yield start, min(start + step, n_rows)


def as_dense(rows: Features) -> Float:
    """Return `rows` as a C-contiguous float64 array."""
    array = rows.toarray() if isinstance(rows, sparse.csr_array) else rows
    return np.ascontiguousarray(array, dtype=np.float64)


WIDEST_PADDING = 1024
"""Maximum width to which lists are padded if k exceeds the number of rows."""


def graph_width(k: int, n_rows: int) -> int:
    """Return the width of a graph of the k nearest of `n_rows` rows.

    It is `k`. If `k` exceeds the number of rows, the additional columns are only padding, and
    columns beyond :data:`WIDEST_PADDING` are omitted, so that a huge `k` costs nothing.
    """
    return min(k, max(n_rows, WIDEST_PADDING))


def simd_level(asked: str | None) -> str:
    """Return the requested level, or that of ``VICINAL_SIMD``, or the best available."""
    level = os.environ.get("VICINAL_SIMD", "auto") if asked is None else asked
    return check_option("simd", level, ("auto", *simd_levels()))


BACKENDS = ("numpy", "torch")


def chosen_backend(backend: object, device: str | None) -> str:
    """Return the backend to use: ``"torch"`` without CUDA and without a named device falls back.

    The fallback is ``"numpy"``, the compiled core, which is faster on the CPU; a warning is issued.
    A named device (``"cpu"``, ``"cuda:1"``) is used, or an error is raised.
    """
    name = check_option("backend", backend, BACKENDS)
    if name == "numpy":
        if device is not None:
            raise InvalidArgumentError("device", "None unless the backend is 'torch'", repr(device))
        return name
    from vicinal.gpu import cuda_available, pick_device

    if device is None and not cuda_available():
        warn_user("backend 'torch': there is no CUDA device, so the CPU is used (backend 'numpy')")
        return "numpy"
    pick_device(device)
    return name
