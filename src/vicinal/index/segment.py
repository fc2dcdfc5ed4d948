"""A run of rows with its compiled index: what an inverted index is made of."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Csr, Float, Int32
from vicinal._base.validation import METRICS, csr_parts
from vicinal._native import InvertedIndexFloat32, InvertedIndexFloat64


@dataclass(frozen=True)
class Build:
    """How segments are built; see :class:`vicinal.index.InvertedIndex`."""

    metric: str
    block_rows: int
    simd: str
    patterns: bool


@dataclass(eq=False)
class Segment:
    """Rows with ids from `first_id` on.

    Parameters
    ----------
    rows : csr_array
    first_id : int
    removed : ndarray of uint8
        1 for a row that is no longer there; empty while all are.
    native : compiled index over `rows`
    """

    rows: Csr
    first_id: int
    removed: NDArray[np.uint8]
    native: InvertedIndexFloat32 | InvertedIndexFloat64

    @classmethod
    def of(cls, rows: Csr, first_id: int, build: Build) -> "Segment":
        """Index `rows`."""
        kind = InvertedIndexFloat32 if rows.dtype == np.float32 else InvertedIndexFloat64
        indptr, indices = csr_parts(rows)
        native = kind(
            indptr,
            indices,
            np.ascontiguousarray(rows.data[: indptr[-1]]),
            rows.shape[1],
            METRICS.index(build.metric),
            build.block_rows,
            build.simd,
            build.patterns,
        )
        return cls(rows, first_id, np.zeros(0, dtype=np.uint8), native)

    @property
    def stop_id(self) -> int:
        """One more than the last row id."""
        return self.first_id + int(self.rows.shape[0])

    def remove(self, ids: NDArray[np.int64]) -> None:
        """Take out the rows of `ids` that lie in this segment."""
        local = ids[(ids >= self.first_id) & (ids < self.stop_id)] - self.first_id
        if len(local):
            removed = self.removed if len(self.removed) else np.zeros(self.rows.shape[0], np.uint8)
            removed = removed.copy()  # a search that is under way keeps the one it has
            removed[local] = 1
            self.removed = removed

    def search(
        self,
        queries: Csr,
        excluded: Int32,
        found: tuple[Int32, Float],
        n_rows: int,
        n_threads: int,
        batch: int,
    ) -> None:
        """Let this segment's rows take part in what was `found`: ids and keys, sorted."""
        values = np.ascontiguousarray(queries.data, dtype=np.float64)
        self.native.search(
            *csr_parts(queries),
            values,
            excluded,
            self.removed,
            self.first_id,
            n_rows,
            *found,
            n_threads,
            batch,
        )
