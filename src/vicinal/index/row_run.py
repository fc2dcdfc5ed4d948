"""A run of rows with ascending ids: plain CSR arrays, in memory or mapped from files."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Int, Int32
from vicinal._base.bare_csr import bare_csr
from vicinal._base.validation import csr_parts
from vicinal.index.row_ids import mark_removed, places_of

if TYPE_CHECKING:
    from vicinal.index.stored_postings import StoredPostings

BLOCK_ENTRIES = 2**22
"""Number of entries read, checked or copied at a time: 48 MiB of ids and float64 values."""

NO_TOMBSTONES: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class RowRun:
    """Rows that were written together.

    Parameters
    ----------
    indptr : ndarray of int64, shape (n + 1,)
    indices : ndarray of int32
        Ascending within a row.
    values : ndarray of float32 or float64
    ids : ndarray of int32, shape (n,)
        Ascending.
    n_features : int
    removed : ndarray of uint8
        1 for a removed row; empty if none has been removed.
    name : str
        Name of its folder on disk; empty for a run in memory.
    token : object
        Shared by versions of this run that differ only in removed rows.
    postings : tuple of StoredPostings
        Postings on disk, ordered by row; empty if searches build them.
    """

    indptr: Int
    indices: Int32
    values: NDArray[Any]
    ids: Int32
    n_features: int
    removed: NDArray[np.uint8] = field(default_factory=lambda: NO_TOMBSTONES)
    name: str = ""
    token: object = field(default_factory=object)
    postings: "tuple[StoredPostings, ...]" = ()

    @classmethod
    def of(cls, rows: Csr, first_id: int) -> "RowRun":
        """Return checked rows in memory as a run whose ids start at `first_id`."""
        ids = np.arange(first_id, first_id + rows.shape[0], dtype=np.int32)
        indptr, indices = csr_parts(rows)
        return cls(indptr, indices, rows.data[: indptr[-1]], ids, int(rows.shape[1]))

    def __len__(self) -> int:
        """Return the number of rows, including removed ones."""
        return len(self.ids)

    @property
    def n_entries(self) -> int:
        """Number of stored values."""
        return int(self.indptr[-1])

    def rows(self, start: int, stop: int) -> Csr:
        """Return rows `start` to `stop` (excluded); values and column ids are views."""
        starts = np.asarray(self.indptr[start : stop + 1])
        first, last = int(starts[0]), int(starts[-1])
        # SciPy's constructor would copy arrays that are small parts of others, into memory.
        return bare_csr(
            self.values[first:last],
            self.indices[first:last],
            _small(starts - first),
            (stop - start, self.n_features),
        )

    def removed_in(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return the removal marks of rows `start` to `stop`, empty if none is removed."""
        part = self.removed[start:stop]
        return np.ascontiguousarray(part) if part.any() else NO_TOMBSTONES

    def without(self, ids: Int) -> "RowRun":
        """Return this run with its rows among `ids` marked as removed."""
        places = places_of(ids, self.ids)
        if not len(places):
            return self
        return replace(self, removed=mark_removed(self.removed, places, len(self)))

    def ranges(self, entries: int) -> Iterator[tuple[int, int]]:
        """Yield (start, stop) of consecutive rows with at most `entries` entries, or of one row."""
        start = 0
        while start < len(self):
            most = int(self.indptr[start]) + entries
            stop = int(np.searchsorted(self.indptr, most, side="right")) - 1
            stop = min(max(stop, start + 1), len(self))
            yield start, stop
            start = stop

    def blocks_left(self) -> Iterator[tuple[Csr, Int32]]:
        """Yield the rows that are not removed, with their ids, in blocks."""
        for start, stop in self.ranges(BLOCK_ENTRIES):
            rows, ids = self.rows(start, stop), np.asarray(self.ids[start:stop])
            if self.removed_in(start, stop).any():
                kept = self.removed[start:stop] == 0
                rows, ids = rows[kept], ids[kept]
            yield rows, ids


def are_same_rows(X: Features, mapped: Csr) -> bool:
    """Tell whether `X` refers to the very arrays of `mapped`, all of them."""
    if not isinstance(X, sparse.csr_array) or X.shape != mapped.shape or X.nnz != mapped.nnz:
        return False
    pairs = (X.indices, mapped.indices), (X.data, mapped.data)
    return all(a.dtype == b.dtype and a.ctypes.data == b.ctypes.data for a, b in pairs)


def _small(starts: Int) -> NDArray[Any]:
    """Return row starts in the type that SciPy requires for int32 column ids: int32 if they fit.

    Read-only, so that a model does not copy mapped rows.
    """
    small = starts.astype(np.int32) if starts[-1] < 2**31 else starts
    small.flags.writeable = False
    return small
