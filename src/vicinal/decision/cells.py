"""Scores with their true labels, grouped so that only stored scores cost time and memory."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Bool, Csr, Float, Int, is_stored, row_ids
from vicinal._base.errors import InvalidArgumentError
from vicinal.scores import Scores


@dataclass(frozen=True, eq=False)
class Cells:
    """Groups of (row, label) cells that share one score.

    Parameters
    ----------
    values : ndarray of float64
        The score of all cells of a group.
    units : ndarray of int64
        The row, or the label, that the cells belong to.
    true, false : ndarray of int64
        The number of cells whose label the row has, and the number of other cells.
    """

    values: Float
    units: Int
    true: Int
    false: Int

    def select(self, which: Bool | Int | slice) -> "Cells":
        """Return some of the groups."""
        return Cells(self.values[which], self.units[which], self.true[which], self.false[which])

    def descending(self) -> "Cells":
        """Return the groups sorted by unit, then by descending score."""
        return self.select(np.lexsort((-self.values, self.units)))

    def distinct(self) -> "Cells":
        """Return sorted groups, with groups of the same unit and score merged."""
        if len(self.values) == 0:
            return self
        new = (self.units[1:] != self.units[:-1]) | (self.values[1:] != self.values[:-1])
        first = np.flatnonzero(np.append(True, new))
        true, false = np.add.reduceat(self.true, first), np.add.reduceat(self.false, first)
        return Cells(self.values[first], self.units[first], true, false)


def joined(*blocks: Cells) -> Cells:
    """Return the groups of several blocks, without empty groups."""
    values = np.concatenate([block.values for block in blocks])
    units, true, false = (
        np.concatenate([getattr(block, part) for block in blocks]).astype(np.int64)
        for part in ("units", "true", "false")
    )
    return Cells(values, units, true, false).select(true + false > 0)


def starts(groups: Int) -> Int:
    """Return where each run of equal numbers starts.

    Examples
    --------
    >>> starts(np.array([0, 0, 4, 4, 4]))
    array([0, 2])
    """
    return np.flatnonzero(np.append(True, groups[1:] != groups[:-1])[: len(groups)])


def running(counts: Int, first: Int) -> Int:
    """Return cumulative sums that restart at each index of `first`.

    Examples
    --------
    >>> running(np.array([1, 2, 3, 4]), np.array([0, 2]))
    array([1, 3, 3, 7])
    """
    sums = np.cumsum(counts)
    lengths = np.diff(np.append(first, len(counts)))
    return sums - np.repeat(sums[first] - counts[first], lengths)


def check_truth(scores: Scores, Y: Csr) -> None:
    """Raise unless the labels have the same shape as the scores."""
    if scores.shape != Y.shape:
        raise InvalidArgumentError("Y", f"labels of shape {scores.shape}", Y.shape)


class ScoredTruth:
    """Training scores and the labels of the same rows.

    Memory: 25 bytes per stored score; dense scores store every cell.
    """

    def __init__(self, scores: Scores, Y: Csr) -> None:
        check_truth(scores, Y)
        self.n_rows, self.n_labels = scores.shape
        self.base = scores.base
        stored = scores.values
        if isinstance(stored, sparse.csr_array):
            self.rows = row_ids(stored)
            self.labels: Int = stored.indices.astype(np.int64)
            self.values: Float = stored.data
            self.is_true = is_stored(Y, stored)
            unseen = ~is_stored(stored, Y)
        else:
            self.rows = np.repeat(np.arange(self.n_rows, dtype=np.int64), self.n_labels)
            self.labels = np.tile(np.arange(self.n_labels, dtype=np.int64), self.n_rows)
            self.values = stored.ravel()
            self.is_true = Y.toarray().ravel() != 0
            unseen = np.zeros(Y.nnz, dtype=np.bool_)
        self.unseen_rows = row_ids(Y)[unseen]
        self.unseen_labels = Y.indices[unseen].astype(np.int64)

    def by_label(self) -> Cells:
        """Return the cells of each label: those stored, and one group for those not stored."""
        absent = self.n_rows - np.bincount(self.labels, minlength=self.n_labels)
        true = np.bincount(self.unseen_labels, minlength=self.n_labels)
        rest = Cells(self.base, np.arange(self.n_labels), true, absent - true)
        return joined(self._stored(self.labels), rest)

    def pooled(self) -> Cells:
        """Return all cells as a single unit."""
        cells = self.by_label()
        return Cells(cells.values, np.zeros_like(cells.units), cells.true, cells.false)

    def by_row(self) -> Iterator[Cells]:
        """Yield the cells of each row in blocks of descending score; no score is in two blocks.

        The cells not stored form one group per row and distinct base score. The work is therefore
        one step per stored score and one per row and distinct base score. A block ends at each base
        score, so that the caller can stop early.
        """
        stored = self._stored(self.rows).select(np.argsort(-self.values, kind="stable"))
        levels, level_of = np.unique(-self.base, return_inverse=True)
        ends = np.searchsorted(-stored.values, levels, side="right")
        in_level = _Grouped(level_of[self.labels], self.rows, len(levels))
        true_in_level = _Grouped(level_of[self.unseen_labels], self.unseen_rows, len(levels))
        sizes = np.bincount(level_of, minlength=len(levels))
        start = 0
        for level, end in enumerate(ends):
            absent = sizes[level] - in_level.counts(level, self.n_rows)
            true = true_in_level.counts(level, self.n_rows)
            at_base = np.full(self.n_rows, -levels[level])
            rest = Cells(at_base, np.arange(self.n_rows), true, absent - true)
            yield joined(stored.select(slice(start, int(end))), rest)
            start = int(end)
        yield stored.select(slice(start, None))

    def _stored(self, units: Int) -> Cells:
        """Return the stored cells, one per group."""
        true = self.is_true.astype(np.int64)
        return Cells(self.values, units, true, 1 - true)


class _Grouped:
    """The rows of each of several groups, found without visiting the other groups."""

    def __init__(self, groups: Int, rows: Int, n_groups: int) -> None:
        self._rows = rows[np.argsort(groups, kind="stable")]
        self._ends = np.cumsum(np.bincount(groups, minlength=n_groups))

    def counts(self, group: int, n_rows: int) -> Int:
        """Return how often each row occurs in a group."""
        start = self._ends[group - 1] if group else 0
        return np.bincount(self._rows[start : self._ends[group]], minlength=n_rows)
