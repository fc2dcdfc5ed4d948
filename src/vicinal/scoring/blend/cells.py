"""Cells: the most promising labels of each row, with their scores by every part.

A cell has three numbers from each part (its score, that over the row's best, the row's best) and
the logarithm of the label's share of training rows. Cells are made of a block of rows at a time, so
that no more than a block has a number for every label; where labels are very many and parts sparse,
not even a block does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Float, Int32
from vicinal._base.bare_csr import bare_csr
from vicinal._base.errors import InvalidArgumentError
from vicinal.scores import Scores
from vicinal.scoring.blend.trees import Cells

COLUMNS_PER_PART = 3
LARGEST_SCORE = 1e9
"""What a part may say at most: sums of larger scores would cancel to nothing."""
LEAST_TOP = 1e-3
"""What a row's best score counts as at least, where others are divided by it."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """Candidate labels of rows and their cells.

    Parameters
    ----------
    labels : ndarray of int32, shape (n, C)
        Rising in each row.
    cells : ndarray of float32, shape (n × C, columns)
    """

    labels: Int32
    cells: Cells

    def scores(self, values: Float, n_labels: int) -> Scores:
        """Return one value per cell as sparse scores of rows and labels."""
        n_rows, width = self.labels.shape
        indptr = np.arange(0, n_rows * width + 1, max(width, 1))[: n_rows + 1]
        return Scores.sparse(
            bare_csr(values, self.labels.ravel(), indptr.astype(np.int32), (n_rows, n_labels))
        )


@dataclass(frozen=True, eq=False)
class CellMaker:
    """How cells are made of the parts' scores.

    Parameters
    ----------
    center, scale : ndarray of float64, shape (n_parts,)
        Mean and standard deviation of each part's scores, which standardise them.
    log_prior : ndarray of float64, shape (L,)
    width : int
        Candidates per row.
    """

    center: Float
    scale: Float
    log_prior: Float
    width: int

    @property
    def n_columns(self) -> int:
        """Numbers per cell."""
        return COLUMNS_PER_PART * len(self.scale) + 1

    def make(self, parts: Sequence[Scores]) -> Candidates:
        """Return the candidates of rows from their scores by every part."""
        if all(part.is_sparse for part in parts):
            return self._of_sparse([cast("Csr", part.values) for part in parts])
        return self._of_dense([part.toarray() for part in parts])

    def _of_dense(self, parts: list[Float]) -> Candidates:
        """Choose among all labels."""
        total = sum((part / scale for part, scale in zip(parts, self.scale, strict=True)), 0.0)
        labels = _largest(np.asarray(total), self.width)
        chosen = [np.take_along_axis(part, labels, axis=1) for part in parts]
        return self._cells(labels, chosen, [part.max(axis=1, keepdims=True) for part in parts])

    def _of_sparse(self, parts: list[Csr]) -> Candidates:
        """Choose among the labels that a part speaks of; others score 0 everywhere."""
        weighted = [part / scale for part, scale in zip(parts, self.scale, strict=True)]
        total = weighted[0]
        for other in weighted[1:]:
            total = total + other
        total = sparse.csr_array(total)
        total.sort_indices()
        labels = np.sort(Scores.sparse(total).top(self.width)[0], axis=1)
        rows = np.repeat(np.arange(labels.shape[0]), labels.shape[1])
        chosen = [np.asarray(part[rows, labels.ravel()]).reshape(labels.shape) for part in parts]
        tops = [part.max(axis=1).toarray().reshape(-1, 1) for part in parts]
        return self._cells(labels, chosen, tops)

    def _cells(self, labels: Int32, chosen: list[Float], tops: list[Float]) -> Candidates:
        """Lay out the numbers of each cell side by side."""
        cells = np.empty((*labels.shape, self.n_columns), dtype=np.float32)
        with np.errstate(over="ignore", invalid="ignore"):
            for place, (values, top) in enumerate(zip(chosen, tops, strict=True)):
                at = COLUMNS_PER_PART * place
                cells[..., at] = values
                cells[..., at + 1] = values / np.maximum(top, LEAST_TOP)
                cells[..., at + 2] = top
        cells[..., -1] = self.log_prior[labels]
        if not np.all(np.abs(cells) <= LARGEST_SCORE):  # false for NaN too
            raise InvalidArgumentError(
                "X", f"values whose scores are at most {LARGEST_SCORE:g}", "larger ones"
            )
        return Candidates(labels, cells.reshape(-1, self.n_columns))


def score_spread(parts: Sequence[Scores]) -> tuple[Float, Float]:
    """Return the mean and standard deviation of each part's scores; 1 for a constant one."""
    centers, scales = [], []
    for part in parts:
        values = part.values
        data = values if isinstance(values, np.ndarray) else values.data
        n_cells = max(1, part.shape[0] * part.shape[1])
        mean = float(data.sum()) / n_cells
        variance = float((data * data).sum()) / n_cells - mean * mean
        centers.append(mean)
        scales.append(np.sqrt(variance) if variance > 1e-12 else 1.0)
    return np.array(centers), np.array(scales)


def _largest(values: Float, width: int) -> Int32:
    """Return the columns of the largest values of each row, rising."""
    n_rows, n_labels = values.shape
    if width >= n_labels:
        return np.tile(np.arange(n_labels, dtype=np.int32), (n_rows, 1))
    chosen = np.argpartition(-values, width - 1, axis=1)[:, :width]
    return np.sort(chosen, axis=1).astype(np.int32)
