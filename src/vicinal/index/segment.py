"""A segment of an inverted index: a run of rows with its compiled index."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Csr, Float, Int32, contiguous
from vicinal._base.validation import csr_parts
from vicinal._native import InvertedIndexFloat32, InvertedIndexFloat64
from vicinal.distances import Distance
from vicinal.index.row_ids import mark_removed, places_of
from vicinal.index.simd import simd_level

FEW_PAIRS = 2**17
"""Up to this many pairs of a query and a row, one thread is as fast as several."""


@dataclass(frozen=True)
class Build:
    """How segments are built; see :class:`vicinal.index.InvertedIndex`."""

    distance: Distance
    block_rows: int
    simd: str
    patterns: bool

    @classmethod
    def standard(cls, distance: Distance) -> "Build":
        """Return how rows in files are indexed, so that stored postings fit everywhere."""
        return cls(distance, 65_536, simd_level(None), patterns=True)


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows with ascending ids.

    Parameters
    ----------
    rows : csr_array
    ids : ndarray of int32
        One per row, ascending.
    removed : ndarray of uint8
        1 for a removed row; empty if none has been removed.
    native : compiled index over `rows`
    """

    rows: Csr
    ids: Int32
    removed: NDArray[np.uint8]
    native: InvertedIndexFloat32 | InvertedIndexFloat64

    @classmethod
    def of(
        cls, rows: Csr, ids: Int32, build: Build, stored: NDArray[np.uint8] | None = None
    ) -> "Segment":
        """Index `rows`, or read the index that was `stored` of them; ValueError if it is not."""
        kind = InvertedIndexFloat32 if rows.dtype == np.float32 else InvertedIndexFloat64
        indptr, indices = csr_parts(rows)
        native = kind(
            indptr,
            indices,
            contiguous(rows.data[: indptr[-1]]),
            rows.shape[1],
            build.distance.native(),
            build.block_rows,
            build.simd,
            build.patterns,
            stored,
        )
        return cls(rows, ids, np.zeros(0, dtype=np.uint8), native)

    def __len__(self) -> int:
        """Return the number of rows, including removed ones."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, excluding the rows themselves and what is mapped from files."""
        return self.native.bytes() + self.ids.nbytes + self.removed.nbytes

    def without(self, ids: NDArray[np.int64]) -> "Segment":
        """Return this segment with its rows among `ids` marked as removed."""
        places = places_of(ids, self.ids)
        if not len(places):
            return self
        return replace(self, removed=mark_removed(self.removed, places, len(self)))

    def search(
        self,
        queries: Csr,
        excluded: Int32,
        found: tuple[Int32, Float],
        first: int,
        n_rows: int,
        n_threads: int,
        batch: int,
    ) -> None:
        """Merge this segment's rows into `found`: sorted places and keys.

        Its rows have the places from `first` on, of `n_rows` in all segments.
        """
        values = contiguous(queries.data, np.float64)
        few = len(self) * queries.shape[0] <= FEW_PAIRS
        self.native.search(
            *csr_parts(queries),
            values,
            excluded,
            self.removed,
            first,
            n_rows,
            *found,
            1 if few else n_threads,
            batch,
        )

    def search_self(
        self, found: tuple[Int32, Float], first: int, n_rows: int, n_threads: int, batch: int
    ) -> bool:
        """Find the neighbours of this segment's rows within it, each pair being scored once.

        `found` must be empty. Returns False, having found nothing, where :meth:`search` would cost
        less: with binary rows, with fewer rows than ten tiles (2,048 to 8,192 rows each), with a
        `k` above an eighth of a tile, where many rows have few or many equally near neighbours.
        """
        return self.native.search_self(self.removed, first, n_rows, *found, n_threads, batch)
