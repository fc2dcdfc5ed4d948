r"""The threshold that predicts as many labels on the training rows as they have.

With :math:`N = \sum_i |Y_i|` and leave-one-out scores of the training rows, the threshold *t* for
which the number of scores above *t* is closest to *N* is the (N+1)-th largest score or, if there
are ties, the next distinct score.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Float, Int, row_ids
from vicinal._core.checks import check_option
from vicinal._core.state import SaveableRecord
from vicinal.decision._cells import UNMERGED, check_truth
from vicinal.decision.threshold import Threshold
from vicinal.scores import Scores


def pooled(scores: Scores, floor: float = -np.inf) -> tuple[Float, Int]:
    """Return the distinct scores of at least `floor`, descending, and their numbers of cells."""
    stored = scores.values
    if not isinstance(stored, sparse.csr_array):
        values, counts = np.unique(stored[stored >= floor], return_counts=True)
        return values[::-1], counts[::-1].astype(np.int64)
    high = stored.data if floor == -np.inf else stored.data[stored.data >= floor]
    values, counts = np.unique(high, return_counts=True)
    n_rows, n_labels = scores.shape
    absent = n_rows - np.bincount(stored.indices, minlength=n_labels)
    counted = (absent > 0) & (scores.base >= floor)
    bases, group = np.unique(scores.base[counted], return_inverse=True)
    cells = np.zeros(len(bases), dtype=np.int64)
    np.add.at(cells, group, absent[counted])
    # Merging is cheaper than sorting everything again: there are few base scores and many scores.
    at = np.searchsorted(values, bases)
    known = at < np.searchsorted(values, bases, side="right")
    counts[at[known]] += cells[known]
    values = np.insert(values, at[~known], bases[~known])
    counts = np.insert(counts, at[~known], cells[~known])
    return values[::-1], counts[::-1]


def weighted_pooled(scores: Scores, weights: Float, floor: float = -np.inf) -> tuple[Float, Float]:
    """Return the same where each cell counts by the weight of its row."""
    cells = scores.toarray()
    high = cells >= floor
    values, group = np.unique(cells[high], return_inverse=True)
    counts = np.zeros(len(values))
    np.add.at(counts, group, np.repeat(weights, high.sum(axis=1)))
    return values[::-1], counts[::-1]


class HighestScores:
    """The highest distinct scores of all cells that `wanted` cells reach, and the next one.

    Once `wanted` cells have been collected, lower scores are discarded immediately. Memory: about
    50 bytes per wanted cell and per score of :data:`UNMERGED`.
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
    """The number of cells above each of several thresholds."""

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


@dataclass(frozen=True)
class CardinalityThreshold(SaveableRecord):
    """Fit one threshold so that the predicted label cardinality is closest to the true one.

    Parameters
    ----------
    method : {"exact", "two-pass"}
        ``"exact"`` uses the order statistic. ``"two-pass"`` is the procedure of the paper: t in {0,
        0.1, …, 1}, then the best ± 0.05 in steps of 0.01; the first of equally good values wins.

    Notes
    -----
    Fitted on blocks of rows. Memory, in addition to the scores of one block: about 50 bytes per
    label of the training rows for ``"exact"``
    (:class:`~vicinal.decision.cardinality.HighestScores`), negligible for ``"two-pass"``.

    Examples
    --------
    Three labels on the training rows, so the fourth largest score:

    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 1]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.9, 0.35], [0.8, 0.42]]))
    >>> CardinalityThreshold().fit(scores, Y)
    Threshold(value=0.35, inclusive=False)
    >>> CardinalityThreshold("two-pass").fit(scores, Y)
    Threshold(value=0.35, inclusive=False)
    """

    method: str = "exact"
    weighs_rows: ClassVar = True

    def __post_init__(self) -> None:
        """Check the method's name."""
        check_option("method", self.method, ("exact", "two-pass"))

    def fit(self, scores: Scores, Y: Csr) -> Threshold:
        """Return the threshold fitted on leave-one-out scores and labels of the training rows."""
        check_truth(scores, Y)
        return self.fit_blocks([scores], Y)

    def fit_blocks(
        self, blocks: Iterable[Scores], Y: Csr, weights: Float | None = None
    ) -> Threshold:
        """Return the same threshold from scores given in blocks of rows, which may have weights.

        A row of weight w counts as w rows. Memory with weights: as for ``"exact"``, with the
        distinct scores in place of the labels.
        """
        find = _exact if self.method == "exact" else _two_pass
        if weights is None:
            return find(((scores, None) for scores in blocks), int(Y.nnz))
        return find(_with_weights(blocks, weights), float(weights[row_ids(Y)].sum()))


Blocks: TypeAlias = Iterable[tuple[Scores, Float | None]]
"""Scores of some rows, with the weights of these rows where they differ."""


def _with_weights(blocks: Iterable[Scores], weights: Float) -> Blocks:
    """Yield each block with the weights of its rows."""
    start = 0
    for scores in blocks:
        stop = start + scores.shape[0]
        yield scores, weights[start:stop]
        start = stop


def _exact(blocks: Blocks, wanted: float) -> Threshold:
    """Return the score t for which the number of scores > t is closest to `wanted`.

    The cells above t = ``values[j + 1]`` are those that score at least ``values[j]``. If two values
    of t are equally close, the larger is taken, which is the (N+1)-th largest score itself.
    """
    highest = HighestScores(wanted)
    for scores, weights in blocks:
        highest.add(scores, weights)
    values, counts = highest.merged()
    if len(values) == 0:
        return Threshold(0.0)
    passing = np.concatenate([[0], np.cumsum(counts)])
    best = int(np.argmin(np.abs(passing - wanted)))
    if best < len(values):
        return Threshold(float(values[best]))
    return Threshold(float(values[-1]), inclusive=True)  # every cell passes


def _two_pass(blocks: Blocks, wanted: float) -> Threshold:
    """Return the paper's threshold: a coarse pass over [0, 1], then a fine one around its best."""
    hundredths = range(-5, 106)
    above = CellsAbove(np.array(hundredths) / 100)
    for scores, weights in blocks:
        above.add(scores, weights)
    miss = dict(zip(hundredths, np.abs(above.counts - wanted).tolist(), strict=True))
    coarse = min(range(0, 101, 10), key=miss.__getitem__)
    return Threshold(min(range(coarse - 5, coarse + 6), key=miss.__getitem__) / 100)
