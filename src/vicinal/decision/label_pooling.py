"""The cells of each label, from blocks of rows of which one is there at a time."""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Float, Int
from vicinal.decision.cells import Cells, joined, running, starts
from vicinal.scores import Scores

UNMERGED = 2**20
"""Scores that may wait before they are merged with those kept, besides as many as are kept."""


class HighestOfLabels:
    """The highest distinct scores of each label, as far down as `wanted` cells reach, and one more.

    Parameters
    ----------
    wanted : ndarray, shape (L,)
        How many cells of each label.

    Notes
    -----
    Scores below those that `wanted` cells of their label reach already never matter again, and are
    let go as soon as they come. Memory: about 100 bytes for each cell wanted and each label, and
    for each of :data:`UNMERGED`.

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
        """Add cells, and merge those that wait if they have become many."""
        self._parts.append(_by_label(scores, self._floors))
        waiting = sum(len(part.values) for part in self._parts) - self._kept
        if waiting > self._kept + UNMERGED:
            self.merged()

    def merged(self) -> Cells:
        """Return the groups sorted by label, then falling; all are counted as `false`."""
        cells = joined(*self._parts).falling().distinct()
        first = starts(cells.units)
        enough = running(cells.false, first) >= self._wanted[cells.units]
        after = running(enough.astype(np.int64), first)  # 1: enough are reached, 2: one more
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
    """Return groups of cells of which nobody asks whether they are true."""
    return Cells(values, labels, np.zeros_like(counts), counts)
