"""The rows of an inverted index: segments, and which ids they have."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from vicinal._base.arrays import Csr, Int, Int32
from vicinal._base.checked_csr import adopted, stacked
from vicinal.index.row_ids import should_compact
from vicinal.index.segment import Build, Segment

FEWEST_ROWS = 64
"""A segment of at most so many rows takes in the next ones: it costs less to build again than to be
searched on its own."""


@dataclass(frozen=True, eq=False)
class SparseRows:
    """The rows searched at one time; a change makes another, so that a search keeps what it has.

    Parameters
    ----------
    segments : tuple of Segment
        At least one. Rows are placed one after the other, 0 to `count` − 1; their ids rise with
        their places, so that both give one order.
    n_ids : int
        How many ids were given so far.
    """

    segments: tuple[Segment, ...]
    n_ids: int

    @classmethod
    def of(cls, rows: Csr, build: Build) -> "SparseRows":
        """Index rows, which get the ids from 0 on."""
        n_rows = int(rows.shape[0])
        return cls((Segment.of(adopted(rows), np.arange(n_rows, dtype=np.int32), build),), n_rows)

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Place of each segment's first row; the last entry is the number of rows."""
        return tuple(accumulate(map(len, self.segments), initial=0))

    @property
    def count(self) -> int:
        """Number of rows in the segments, removed ones among them."""
        return self.starts[-1]

    @cached_property
    def ids(self) -> Int32 | None:
        """The id of the row at each place; None where it is the place."""
        if self.count == self.n_ids:
            return None
        return np.concatenate([segment.ids for segment in self.segments])

    def removed(self) -> Int:
        """Return the places of removed rows that are still held."""
        parts = zip(self.starts, self.segments, strict=False)
        return np.concatenate([np.flatnonzero(s.removed) + start for start, s in parts])

    def with_rows(self, fresh: Csr, build: Build) -> "SparseRows":
        """Return these rows and further ones, which get the next ids.

        They go to a segment of their own, which takes in the segments before it that are small or
        not much larger, without the rows removed from those.
        """
        kept, count = list(self.segments), fresh.shape[0]
        n_ids = self.n_ids + count
        absorbed: list[Segment] = []
        while kept and len(kept[-1]) <= max(2 * count, FEWEST_ROWS):
            absorbed.insert(0, kept.pop())
            count += len(absorbed[0])
        rows, ids = _left_of(absorbed)
        rows.append(adopted(fresh))
        ids.append(np.arange(self.n_ids, n_ids, dtype=np.int32))
        return SparseRows((*kept, _joined(rows, ids, build)), n_ids)

    def without(self, ids: Int, build: Build) -> "SparseRows":
        """Return these rows, those of `ids` removed; a segment that lost many is built again."""
        segments = [segment.without(ids) for segment in self.segments]
        kept = [_compacted(s, build) if should_compact(s.removed) else s for s in segments]
        return self._of_segments(kept)

    def compacted(self, build: Build) -> "SparseRows":
        """Return these rows without any trace of removed ones."""
        return self._of_segments([_compacted(segment, build) for segment in self.segments])

    def joined(self) -> tuple[Csr, Int32]:
        """Return all rows that are left, and their ids."""
        rows, ids = _left_of(list(self.segments))
        return stacked(rows), np.concatenate(ids)

    def _of_segments(self, segments: list[Segment]) -> "SparseRows":
        """Return the rows of these segments; empty ones are left out, but one."""
        kept = tuple(segment for segment in segments if len(segment)) or (segments[0],)
        return SparseRows(kept, self.n_ids)


def _left_of(segments: list[Segment]) -> tuple[list[Csr], list[Int32]]:
    """Return rows and ids of segments, removed ones left out."""
    rows = [adopted(s.rows[s.left]) if s.removed.any() else s.rows for s in segments]
    return rows, [s.ids[s.left] if s.removed.any() else s.ids for s in segments]


def _joined(rows: list[Csr], ids: list[Int32], build: Build) -> Segment:
    return Segment.of(stacked(rows), np.concatenate(ids), build)


def _compacted(segment: Segment, build: Build) -> Segment:
    """Return a segment of the rows that are left."""
    return _joined(*_left_of([segment]), build) if segment.removed.any() else segment
