r"""One threshold per label: SCut and PCut.

SCut maximises the label's F1 on the training rows,

.. math:: t_l = \arg\max_t \frac{2\,tp_l(t)}{\#\{i : f(x_i, l) > t\} + \#\{i : y_i(l) = 1\}}

For rare labels this overfits, because a single row may determine the threshold. If the best F1 of a
label is below *fbr*, SCutFBR.1 uses the label's highest training score as its threshold.

PCut predicts a label for as many rows as have it, times *x*:

.. math:: t_l : \quad \#\{i : f(x_i, l) > t_l\} \approx x \cdot \#\{i : y_i(l) = 1\}

The original strategy ranks the rows of a batch, so the prediction for a row depends on the other
rows. Here the threshold comes from the training rows, so each row is predicted independently.

References
----------
Y. Yang, "A study of thresholding strategies for text categorization", SIGIR 2001.
D. Lewis, Y. Yang, T. Rose, F. Li, "RCV1: a new benchmark collection for text categorization
research", JMLR 5 (2004).
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr, Float, Int
from vicinal._core.checks import check_integer, check_real
from vicinal._core.state import SaveableRecord
from vicinal.decision._cells import (
    UNMERGED,
    ScoreCells,
    check_truth,
    joined,
    running,
    starts,
    sweep_cells,
    sweep_labels,
)
from vicinal.decision.threshold import LabelThresholds
from vicinal.scores import Scores


@dataclass(frozen=True)
class PerLabelThreshold(SaveableRecord):
    """Fit one threshold per label that maximises its F1 on the training rows (SCut).

    Parameters
    ----------
    min_positives : int
        A label with fewer training rows is rare: its threshold is its highest training score, so it
        is only predicted for a higher score.
    fbr : float
        A label whose best F1 is below this value is treated in the same way.

    Notes
    -----
    Among equally good thresholds the highest wins. Each threshold lies midway between successive
    scores. Cost: one sort of the stored scores. Memory: the scores of all training rows and
    about 150 bytes per stored score and per label. No score can be dropped early, because a later
    row with the label may score between two others.

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.75, 0.5], [0.5, 0.25], [0.25, 0.125]]))
    >>> PerLabelThreshold(min_positives=1).fit(scores, Y).values.round(3)
    array([0.375, 0.125])
    >>> PerLabelThreshold(min_positives=2).fit(scores, Y).values
    array([0.375, 0.5  ])
    """

    min_positives: int = 3
    fbr: float = 0.0

    def __post_init__(self) -> None:
        """Check the fields."""
        check_integer("min_positives", self.min_positives, low=0)
        check_real("fbr", self.fbr, low=0, high=1)

    def fit(self, scores: Scores, Y: Csr) -> LabelThresholds:
        """Return the thresholds fitted on scores and labels of the training rows."""
        n_labels = scores.shape[1]
        sweep = sweep_labels(scores, Y)
        if len(sweep.labels) == 0:
            return LabelThresholds(np.zeros(n_labels))
        positives = np.bincount(Y.indices, minlength=n_labels)
        both = sweep.predicted + positives[sweep.labels]
        f1 = 2 * sweep.tp / np.maximum(both, 1)
        best = sweep.first_best(f1)
        rare = (positives < self.min_positives) | (f1[best] < self.fbr)
        return LabelThresholds(sweep.thresholds[np.where(rare, sweep.nothing(), best)])


class HighestOfLabels:
    """The highest distinct scores of each label that `wanted` cells reach, and the next one.

    `wanted`: the number of cells to collect for each label.

    Once `wanted` cells of a label have been collected, lower scores are discarded immediately.
    Memory: about 100 bytes per wanted cell, per label, and per score of :data:`UNMERGED`.
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
            self._parts.append(_by_label(scores.rows(start, start + step), self._floors))
            waiting = sum(len(part.values) for part in self._parts) - self._kept
            if waiting > self._kept + UNMERGED:
                self.merged()

    def merged(self) -> ScoreCells:
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


def _by_label(scores: Scores, floors: Float) -> ScoreCells:
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


def _groups(values: Float, labels: Int, counts: Int) -> ScoreCells:
    """Return groups of cells for which it does not matter whether they are true."""
    return ScoreCells(values, labels, np.zeros_like(counts), counts)


@dataclass(frozen=True)
class PCut(SaveableRecord):
    """Fit one threshold per label so that the label is predicted as often as it is true.

    Parameters
    ----------
    factor : float
        The *x* above: values above 1 predict labels more often than in training, values below 1
        less often.

    Notes
    -----
    If two thresholds are equally close to the desired count, the higher is taken. Each threshold
    lies midway between successive scores.

    Fitted on blocks of rows. Cost: sorting the stored scores of each block. Memory, in addition to
    one block: about 100 × `factor` bytes per label of the training rows
    (:class:`~vicinal.decision.label_thresholds.HighestOfLabels`).

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0], [0, 1]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.75, 0.5], [0.5, 0.25], [0.25, 0.125]]))
    >>> PCut().fit(scores, Y).values
    array([0.375, 0.375])
    """

    factor: float = 1.0

    def __post_init__(self) -> None:
        """Check the factor."""
        check_real("factor", self.factor, low=0)

    def fit(self, scores: Scores, Y: Csr) -> LabelThresholds:
        """Return the thresholds fitted on scores and labels of the training rows."""
        check_truth(scores, Y)
        return self.fit_blocks([scores], Y)

    def fit_blocks(self, blocks: Iterable[Scores], Y: Csr) -> LabelThresholds:
        """Return the same thresholds from scores given in blocks of rows."""
        n_labels = int(Y.shape[1])
        wanted = self.factor * np.bincount(Y.indices, minlength=n_labels)
        highest = HighestOfLabels(wanted)
        for scores in blocks:
            highest.add(scores)
        sweep = sweep_cells(highest.merged())
        if len(sweep.labels) == 0:
            return LabelThresholds(np.zeros(n_labels))
        best = sweep.first_best(-np.abs(sweep.predicted - wanted[sweep.labels]))
        return LabelThresholds(sweep.thresholds[best])
