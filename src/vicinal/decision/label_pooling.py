"""Collect the cells of each label from blocks of rows, one block in memory at a time."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Float, Int
from vicinal.decision.cells import Cells, joined, running, starts
from vicinal.scores import Scores

UNMERGED = 2**20
"""How many scores may be collected, beyond the number already kept, before they are merged."""


class HighestOfLabels:
    """The highest distinct scores of each label that `wanted` cells reach, and the next one.

    Parameters
    ----------
    wanted : ndarray, shape (L,)
        The number of cells to collect for each label.

    Notes
    -----
    Once `wanted` cells of a label have been collected, lower scores are discarded immediately.
    Memory: about 100 bytes per wanted cell, per label, and per score of :data:`UNMERGED`.

    Examples
    --------
    >>> highest = HighestOfLabels(wanted=np.array([1, 0]))
    >>> highest.add(Scores.dense(np.array([[0.1, 0.7], [0.5, 0.7]])))
    >>> highest.add(Scores.dense(np.array([[0.3, 0.2], [0.9, 0.1]])))
    >>> cells = highest.merged()
    >>> cells.units, cells.values, cells.false
    (array([0, 0, 1, 1]), array([0.9, 0.5, 0.7, 0.2]), array([1, 1, 2, 1]))
    """

    def __init__(self, wanted: NDArray[np.number]) -> None:
        self._wanted = wanted
        self._floors = np.full(len(wanted), -np.inf)
        self._kept = 0
        nothing = np.empty(0, dtype=np.int64)
        self._parts = [_groups(np.empty(0), nothing, nothing)]

    def add(self, scores: Scores) -> None:
        """Add the cells of a block, a few rows at a time: sorting takes ten times their memory."""
        stored, n_rows = scores.values, scores.shape[0]
        n_stored = stored.nnz if isinstance(stored, sparse.csr_array) else stored.size
        step = max(1, UNMERGED * n_rows // max(n_stored, 1))
        for start in range(0, n_rows, step):
            self._add(scores.rows(start, start + step))

    def _add(self, scores: Scores) -> None:
        """Add cells, and merge the collected cells if there are too many."""
        self._parts.append(_by_label(scores, self._floors))
        waiting = sum(len(part.values) for part in self._parts) - self._kept
        if waiting > self._kept + UNMERGED:
            self.merged()

    def merged(self) -> Cells:
        """Return the groups sorted by label, then descending; all are counted as `false`."""
        cells = joined(*self._parts).descending().distinct()
        first = starts(cells.units)
        enough = running(cells.false, first) >= self._wanted[cells.units]
        after = running(enough.astype(np.int64), first)  # 1: enough cells, 2: one score more
        last = after == 2
        self._floors[cells.units[last]] = cells.values[last]
        cells = cells.select(after <= 2)
        self._kept = len(cells.values)
        self._parts = [cells]
        return cells


def _by_label(scores: Scores, floors: Float) -> Cells:
    """Return the cells whose score reaches the floor of their label."""
    stored, n_rows = scores.values, scores.shape[0]
    if not isinstance(stored, sparse.csr_array):
        high = stored >= floors
        labels = np.nonzero(high)[1]
        return _groups(stored[high], labels, np.ones(len(labels), dtype=np.int64))
    reach = stored.data >= floors[stored.indices]
    labels = stored.indices[reach].astype(np.int64)
    seen = _groups(stored.data[reach], labels, np.ones(len(labels), dtype=np.int64))
    absent = n_rows - np.bincount(stored.indices, minlength=len(floors))
    at_base = np.flatnonzero(scores.base >= floors)
    return joined(seen, _groups(scores.base[at_base], at_base, absent[at_base]))


def _groups(values: Float, labels: Int, counts: Int) -> Cells:
    """Return groups of cells for which it does not matter whether they are true."""
    return Cells(values, labels, np.zeros_like(counts), counts)
