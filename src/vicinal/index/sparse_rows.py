"""The rows of an inverted index, in segments."""

from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Csr, Int, Int32
from vicinal._base.checked_csr import adopted, stacked
from vicinal.index.row_ids import should_compact
from vicinal.index.row_parts import RowParts
from vicinal.index.segment import Build, Segment

FEWEST_ROWS = 64
"""Segments of up to this many rows are merged with the next rows that are added, because building
them again costs less than searching them separately."""


@dataclass(frozen=True, eq=False)
class SparseRows(RowParts[Segment]):
    """An immutable version of the rows; changes create a new version, so running searches are safe.

    Parameters
    ----------
    segments : tuple of Segment
        At least one.
    n_ids : int
        Number of ids assigned so far.
    """

    segments: tuple[Segment, ...]
    n_ids: int

    @classmethod
    def of(cls, rows: Csr, build: Build) -> "SparseRows":
        """Index rows, whose ids start at 0."""
        n_rows = int(rows.shape[0])
        return cls((Segment.of(adopted(rows), np.arange(n_rows, dtype=np.int32), build),), n_rows)

    @property
    def parts(self) -> tuple[Segment, ...]:
        """The segments."""
        return self.segments

    def with_rows(self, fresh: Csr, build: Build) -> "SparseRows":
        """Return these rows with `fresh` appended, which gets the next ids.

        The new rows form a segment, merged with preceding segments that are small or not much
        larger; removed rows are dropped from those.
        """
        kept, count = list(self.segments), fresh.shape[0]
        n_ids = self.n_ids + count
        absorbed: list[Segment] = []
        while kept and len(kept[-1]) <= max(2 * count, FEWEST_ROWS):
            absorbed.insert(0, kept.pop())
            count += len(absorbed[0])
        rows, ids = _remaining(absorbed)
        rows.append(adopted(fresh))
        ids.append(np.arange(self.n_ids, n_ids, dtype=np.int32))
        return SparseRows((*kept, _joined(rows, ids, build)), n_ids)

    def without(self, ids: Int, build: Build) -> "SparseRows":
        """Return these rows without `ids`; segments with many removed rows are compacted."""
        segments = [segment.without(ids) for segment in self.segments]
        kept = [_compacted(s, build) if should_compact(s.removed) else s for s in segments]
        return self._of_segments(kept)

    def compacted(self, build: Build) -> "SparseRows":
        """Return these rows with all removed rows dropped."""
        return self._of_segments([_compacted(segment, build) for segment in self.segments])

    def joined(self) -> tuple[Csr, Int32]:
        """Return the remaining rows as one matrix, and their ids."""
        rows, ids = _remaining(list(self.segments))
        return stacked(rows), np.concatenate(ids)

    def _of_segments(self, segments: list[Segment]) -> "SparseRows":
        """Return the rows of these segments; empty segments are dropped, but at least one stays."""
        kept = tuple(segment for segment in segments if len(segment)) or (segments[0],)
        return SparseRows(kept, self.n_ids)


def _remaining(segments: list[Segment]) -> tuple[list[Csr], list[Int32]]:
    """Return the rows and ids of segments, without removed rows."""
    rows = [adopted(s.rows[s.removed == 0]) if s.removed.any() else s.rows for s in segments]
    return rows, [s.ids[s.removed == 0] if s.removed.any() else s.ids for s in segments]


def _joined(rows: list[Csr], ids: list[Int32], build: Build) -> Segment:
    return Segment.of(stacked(rows), np.concatenate(ids), build)


def _compacted(segment: Segment, build: Build) -> Segment:
    """Return a segment of the remaining rows."""
    return _joined(*_remaining([segment]), build) if segment.removed.any() else segment
