"""All distinct thresholds of each label, with their numbers of predictions."""

from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Csr, Float, Int
from vicinal.decision.cells import Cells, ScoredTruth, running, starts
from vicinal.scores import Scores


@dataclass(frozen=True, eq=False)
class LabelSweep:
    """Candidate thresholds, sorted by label, then descending.

    Parameters
    ----------
    labels : ndarray of int64
    thresholds : ndarray of float64
        The first threshold of each label is its highest score, so that nothing is predicted. The
        others lie midway between successive distinct scores; the last is below all scores.
    tp, predicted : ndarray of int64
        The numbers of true positives and of predicted rows at each threshold.
    """

    labels: Int
    thresholds: Float
    tp: Int
    predicted: Int

    def first_best(self, quality: Float | Int) -> Int:
        """Return each label's candidate of highest quality; the highest threshold wins ties."""
        return first_best(self.labels, quality)

    def nothing(self) -> Int:
        """Return the candidate of each label that predicts nothing."""
        return starts(self.labels)


def sweep_labels(scores: Scores, Y: Csr) -> LabelSweep:
    """Return the candidates of every label.

    Cost: one sort of the stored scores. Memory: about 150 bytes per stored score and per label.

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1], [0], [1]], dtype=np.int32))
    >>> sweep = sweep_labels(Scores.dense(np.array([[0.75], [0.5], [0.5]])), Y)
    >>> sweep.thresholds.round(3), sweep.tp, sweep.predicted
    (array([0.75 , 0.625, 0.5  ]), array([0, 1, 2]), array([0, 1, 3]))
    """
    return sweep_cells(ScoredTruth(scores, Y).by_label().descending().distinct())


def sweep_cells(cells: Cells) -> LabelSweep:
    """Return the candidates of groups sorted by label and descending score, all distinct."""
    labels, values = cells.units, cells.values
    first = starts(labels)
    ends = np.append(first[1:], len(labels))[: len(first)] - 1
    below = np.append(values[1:], 0.0)
    cuts = midway(values, below)
    with np.errstate(over="ignore"):  # below the lowest float there is −inf
        cuts[ends] = np.nextafter(values[ends], -np.inf)
    return LabelSweep(
        np.insert(labels, first, labels[first]),
        np.insert(cuts, first, values[first]),
        np.insert(running(cells.true, first), first, 0),
        np.insert(running(cells.true + cells.false, first), first, 0),
    )


def midway(high: Float, low: Float) -> Float:
    """Return numbers t with low ≤ t < high, halfway between them if floating point allows.

    Examples
    --------
    >>> midway(np.array([1.0, 5e-324]), np.array([0.5, 0.0]))
    array([0.75, 0.  ])
    """
    half = low / 2 + high / 2
    return np.where(half < high, half, low)


def first_best(groups: Int, quality: Float | Int) -> Int:
    """Return the index of the first best element of each group; a group is a run of equal numbers.

    Examples
    --------
    >>> first_best(np.array([0, 0, 4, 4, 4]), np.array([1, 2, 5, 7, 7]))
    array([1, 3])
    """
    first = starts(groups)
    lengths = np.diff(np.append(first, len(groups)))
    best = np.repeat(np.maximum.reduceat(quality, first), lengths)
    winners = np.flatnonzero(quality == best)
    return winners[starts(groups[winners])]
