"""Which labels of a row have cells, and the cells of many rows together."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from vicinal._core.arrays import Csr, Float, Int, Int32
from vicinal.methods.blend.mixture import Cells

FEW_LABELS = 30
"""Labels up to which every label of every row has a cell."""
BLOCK_ROWS = 2048
"""Rows whose cells are counted together."""


@dataclass(frozen=True, eq=False)
class CellPlan:
    """How many of the best labels of a part are candidates."""

    votes: int
    ridge: int
    centroids: int
    table: int
    every_label: bool

    @classmethod
    def of(cls, Y: Csr) -> Self:
        """Return more candidates than rows have labels.

        More than these would find further labels, but the mixture would learn less of the best
        ones: predictions are worse.
        """
        per_row = Y.nnz / max(1, Y.shape[0])
        usual = int(np.clip(per_row + max(6, per_row / 2), 10, 40))
        return cls(usual, usual, max(8, usual // 2), max(8, usual // 2), Y.shape[1] <= FEW_LABELS)

    def counts(self, below: int) -> Int:
        """Return the numbers as the compiled core takes them."""
        return np.array([self.votes, self.ridge, self.centroids, self.table, below], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Listed:
    """The labels of some rows that have a cell or a similarity."""

    indptr: Int
    labels: Int32
    cell: Int32
    similarity: Float
    cells: Cells

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    def cut(self, most_cells: int) -> "Listed":
        """Return the first blocks of rows, up to the one in which there are more cells."""
        ends = self.indptr[BLOCK_ROWS::BLOCK_ROWS]
        counts = np.cumsum(self.cell >= 0)[ends - 1] if len(ends) and ends[0] else ends
        beyond = np.flatnonzero(counts > most_cells)
        if not len(beyond):
            return self
        n_entries, n_cells = int(ends[beyond[0]]), int(counts[beyond[0]])
        return Listed(
            self.indptr[: BLOCK_ROWS * (int(beyond[0]) + 1) + 1],
            self.labels[:n_entries],
            self.cell[:n_entries],
            self.similarity[:n_entries],
            self.cells[:n_cells],
        )


def joined(found: Sequence[Listed]) -> Listed:
    """Return the cells of blocks of rows one after the other."""
    indptr, cell, entries, n_cells = [np.zeros(1, dtype=np.int64)], [], 0, 0
    for some in found:
        indptr.append(some.indptr[1:] + entries)
        cell.append(np.where(some.cell < 0, -1, some.cell + n_cells).astype(np.int32))
        entries, n_cells = entries + len(some.labels), n_cells + len(some.cells)
    return Listed(
        np.concatenate(indptr),
        np.concatenate([some.labels for some in found]),
        np.concatenate(cell),
        np.concatenate([some.similarity for some in found]),
        np.concatenate([some.cells for some in found]),
    )
