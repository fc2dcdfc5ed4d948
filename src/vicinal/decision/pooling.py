"""Pool all cells of training scores from blocks of rows, one block in memory at a time."""

from typing import Any

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Float, Int
from vicinal.scores import Scores

UNMERGED = 2**20
"""How many scores may be collected, beyond the number already kept, before they are merged."""


def pooled(scores: Scores, floor: float = -np.inf) -> tuple[Float, Int]:
    """Return the distinct scores of at least `floor`, descending, and their numbers of cells.

    Examples
    --------
    >>> stored = sparse.csr_array(np.array([[0.5, 0.2], [0.0, 0.5]]))
    >>> pooled(Scores.sparse(stored))
    (array([0.5, 0.2, 0. ]), array([2, 1, 1]))
    >>> pooled(Scores.sparse(stored), floor=0.2)
    (array([0.5, 0.2]), array([2, 1]))
    """
    stored = scores.values
    if not isinstance(stored, sparse.csr_array):
        values, counts = np.unique(stored[stored >= floor], return_counts=True)
        return values[::-1], counts[::-1].astype(np.int64)
    high = stored.data if floor == -np.inf else stored.data[stored.data >= floor]
    values, counts = np.unique(high, return_counts=True)
    bases, cells = _not_stored(scores, stored, floor)
    # Merging is cheaper than sorting everything again: there are few base scores and many scores.
    at = np.searchsorted(values, bases)
    known = at < np.searchsorted(values, bases, side="right")
    counts[at[known]] += cells[known]
    values = np.insert(values, at[~known], bases[~known])
    counts = np.insert(counts, at[~known], cells[~known])
    return values[::-1], counts[::-1]


def weighted_pooled(scores: Scores, weights: Float, floor: float = -np.inf) -> tuple[Float, Float]:
    """Return the same where each cell counts by the weight of its row.

    Examples
    --------
    >>> weighted_pooled(Scores.dense(np.array([[0.5, 0.2], [0.1, 0.5]])), np.array([3.0, 0.5]))
    (array([0.5, 0.2, 0.1]), array([3.5, 3. , 0.5]))
    """
    cells = scores.toarray()
    high = cells >= floor
    values, group = np.unique(cells[high], return_inverse=True)
    counts = np.zeros(len(values))
    np.add.at(counts, group, np.repeat(weights, high.sum(axis=1)))
    return values[::-1], counts[::-1]


def _not_stored(scores: Scores, stored: Csr, floor: float) -> tuple[Float, Int]:
    """Return the distinct base scores from `floor` up, ascending, and their numbers of cells."""
    n_rows, n_labels = scores.shape
    absent = n_rows - np.bincount(stored.indices, minlength=n_labels)
    counted = (absent > 0) & (scores.base >= floor)
    bases, group = np.unique(scores.base[counted], return_inverse=True)
    cells = np.zeros(len(bases), dtype=np.int64)
    np.add.at(cells, group, absent[counted])
    return bases, cells


class HighestScores:
    """The highest distinct scores of all cells that `wanted` cells reach, and the next one.

    Parameters
    ----------
    wanted : float

    Notes
    -----
    Once `wanted` cells have been collected, lower scores are discarded immediately. Memory: about
    50 bytes per wanted cell and per score of :data:`UNMERGED`.

    Examples
    --------
    >>> highest = HighestScores(wanted=2)
    >>> highest.add(Scores.dense(np.array([[0.1, 0.7]])))
    >>> highest.add(Scores.dense(np.array([[0.3, 0.9]])))
    >>> highest.merged()
    (array([0.9, 0.7, 0.3]), array([1, 1, 1]))
    """

    def __init__(self, wanted: float) -> None:
        self._wanted = wanted
        self._floor = -np.inf
        self._kept = 0
        self._parts: list[tuple[Float, Int | Float]] = []

    def add(self, scores: Scores, weights: Float | None = None) -> None:
        """Add the cells of a block, each by the weight of its row where there are weights."""
        if weights is None:
            self._parts.append(pooled(scores, self._floor))
        else:
            self._parts.append(weighted_pooled(scores, weights, self._floor))
        waiting = sum(len(values) for values, _ in self._parts) - self._kept
        if waiting > self._kept + UNMERGED:
            self.merged()

    def merged(self) -> tuple[Float, Int | Float]:
        """Return the distinct scores, descending, and their numbers of cells."""
        values, counts = _merged(self._parts)
        reached = int(np.searchsorted(np.cumsum(counts), self._wanted))
        values, counts = values[: reached + 2].copy(), counts[: reached + 2].copy()
        if len(values) == reached + 2:
            self._floor = float(values[-1])
        self._kept = len(values)
        self._parts = [(values, counts)]
        return values, counts


def _merged(parts: list[tuple[Float, Int | Float]]) -> tuple[Float, Int | Float]:
    """Return the distinct scores of several parts, descending, and their numbers of cells."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        return np.empty(0), np.empty(0, dtype=np.int64)
    ascending, group = np.unique(np.concatenate([each for each, _ in parts]), return_inverse=True)
    counts = np.concatenate([counts for _, counts in parts])
    cells = np.zeros(len(ascending), dtype=counts.dtype)
    np.add.at(cells, group, counts)
    return ascending[::-1], cells[::-1]


class CellsAbove:
    """The number of cells above each of several thresholds.

    Parameters
    ----------
    thresholds : ndarray of float64
        Ascending.

    Examples
    --------
    >>> above = CellsAbove(np.array([0.0, 0.5]))
    >>> above.add(Scores.dense(np.array([[0.1, 0.7]])))
    >>> above.add(Scores.dense(np.array([[0.0, 0.5]])))
    >>> above.counts
    array([3, 1])
    """

    def __init__(self, thresholds: Float) -> None:
        self._thresholds = thresholds
        self.counts: Int | Float = np.zeros(len(thresholds), dtype=np.int64)

    def add(self, scores: Scores, weights: Float | None = None) -> None:
        """Add the cells of a block, each by the weight of its row where there are weights."""
        counts: Int | Float
        values, counts = pooled(scores) if weights is None else weighted_pooled(scores, weights)
        passed: Any = np.zeros(len(self._thresholds) + 1, dtype=counts.dtype)
        np.add.at(passed, np.searchsorted(self._thresholds, values), counts)
        self.counts = self.counts + np.cumsum(passed[::-1])[::-1][1:]
