r"""Metrics of scores that are probabilities: log loss, Brier score and calibration error.

All are means over cells, that is, over every row and label, with :math:`y \in \{0, 1\}` and the
score :math:`p \in [0, 1]`:

.. math::

    \text{log-loss} &= -\frac{1}{nL} \sum y \ln p + (1 - y) \ln(1 - p) \\
    \text{brier-score} &= \frac{1}{nL} \sum (p - y)^2 \\
    \text{calibration-error} &= \sum_{b=1}^{15} \frac{n_b}{nL} \,
        \Bigl|\frac{1}{n_b} \sum_{b} p - \frac{1}{n_b} \sum_{b} y\Bigr|

The calibration error (ECE) has 15 bins of equal width. In the log loss, probabilities are kept
:math:`10^{-15}` away from 0 and 1. If a score lies outside [0, 1], all three are NaN. Cells whose
score is not stored are counted per label, so the cost does not depend on the number of labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Float, Int, is_stored
from vicinal.metrics._sums import (
    Size,
    SummedMetric,
    Sums,
    check_ranking,
    check_truth,
    mean_per_label,
)
from vicinal.scores import LOWEST, Scores

N_BINS = 15
LEAST = 1e-15
"""How near to 0 and 1 a probability in the log loss may be."""


@dataclass(frozen=True, eq=False)
class CellCounts:
    """Probabilities and how many true and false cells have each: 24 bytes per stored score."""

    truth: Csr
    scores: Scores

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.truth.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.truth.shape[1])

    @cached_property
    def counted(self) -> tuple[Float, Int, Int]:
        """Probabilities, and the numbers of true and of false cells that have each."""
        values = self.scores.values
        if not isinstance(values, sparse.csr_array):
            true = self.truth.toarray().ravel().astype(np.int64)
            return _probabilities(values.ravel(), true, 1 - true)
        is_true = is_stored(self.truth, values).astype(np.int64)
        stored = np.bincount(values.indices, minlength=self.n_labels)
        hit = np.bincount(values.indices, is_true, minlength=self.n_labels).astype(np.int64)
        labelled = np.bincount(self.truth.indices, minlength=self.n_labels)
        absent_true = labelled - hit
        absent_false = self.n_rows - stored - absent_true
        return _probabilities(
            np.concatenate([values.data, self.scores.base]),
            np.concatenate([is_true, absent_true]),
            np.concatenate([1 - is_true, absent_false]),
        )


def _probabilities(scores: Float, true: Int, false: Int) -> tuple[Float, Int, Int]:
    """Return scores, 0 for labels that the model does not know; all NaN if one is not in [0, 1]."""
    p = np.where(scores == LOWEST, 0.0, scores)
    used = p[(true + false) > 0]
    if len(used) and not (used.min() >= 0 and used.max() <= 1):
        p = np.full(len(p), np.nan)
    return p, true, false


def log_loss(Y_true: object, scores: object) -> float:
    """Return the mean over cells of −ln of the probability given to what is true.

    Examples
    --------
    The true cells have probabilities 1/2 and 1/4, the false ones 1/2 and 0:

    >>> round(log_loss([[1, 0], [0, 1]], [[0.5, 0.5], [0.0, 0.25]]), 4)
    0.6931
    >>> round((np.log(2) + np.log(2) + 0 + np.log(4)) / 4, 4)
    np.float64(0.6931)
    """
    return PROBABILITY["log-loss"](_check(Y_true, scores))


def brier_score(Y_true: object, scores: object) -> float:
    """Return the mean over cells of the squared difference of probability and truth.

    Examples
    --------
    >>> brier_score([[1, 0]], [[0.5, 0.5]])
    0.25
    """
    return PROBABILITY["brier-score"](_check(Y_true, scores))


def calibration_error(Y_true: object, scores: object) -> float:
    """Return the expected calibration error (ECE) over 15 bins of equal width.

    Examples
    --------
    Of four cells with probability 0.5, one is true:

    >>> calibration_error([[1, 0], [0, 0]], [[0.5, 0.5], [0.5, 0.5]])
    0.25
    """
    return PROBABILITY["calibration-error"](_check(Y_true, scores))


def reliability(Y_true: object, scores: object) -> tuple[Float, Float, Int]:
    """Return the mean probability, the share of true cells and the number of cells of each bin.

    Bins without cells are NaN, and all are without cells if a score lies outside [0, 1].

    Examples
    --------
    >>> predicted, true, cells = reliability([[1, 0]], [[0.5, 0.5]])
    >>> predicted[7], true[7], cells[7]
    (np.float64(0.5), np.float64(0.5), np.int64(2))
    """
    sums = np.array(_bins(_check(Y_true, scores))).reshape(3, N_BINS)
    count = np.where(sums[0] > 0, sums[0], np.nan)
    return sums[1] / count, sums[2] / count, np.nan_to_num(sums[0]).astype(np.int64)


def _check(Y_true: object, scores: object) -> CellCounts:
    truth = check_truth(Y_true)
    return CellCounts(truth, check_ranking(scores, truth))


def _log_loss(cells: CellCounts, *_: object) -> float:
    p, true, false = cells.counted
    kept = np.clip(p, LEAST, 1 - LEAST)
    return float(-(true @ np.log(kept)) - false @ np.log1p(-kept))


def _brier(cells: CellCounts, *_: object) -> float:
    p, true, false = cells.counted
    return float(true @ (1 - p) ** 2 + false @ p**2)


def _bins(cells: CellCounts, *_: object) -> tuple[float, ...]:
    """Return, for each bin, the number of cells, their probabilities and the true ones."""
    p, true, false = cells.counted
    if np.isnan(p).any():
        return (np.nan,) * (3 * N_BINS)
    place = np.minimum((np.clip(p, 0, 1) * N_BINS).astype(np.int64), N_BINS - 1)
    n_cells = true + false
    parts = (n_cells, n_cells * p, true)
    return tuple(float(x) for part in parts for x in np.bincount(place, part, minlength=N_BINS))


def _distance(sums: Sums, size: Size) -> float:
    _cells, predicted, true = np.array(sums).reshape(3, N_BINS)
    return float(np.abs(predicted - true).sum() / size.n_rows / size.n_labels)


PROBABILITY: Mapping[str, SummedMetric] = MappingProxyType(
    {
        "log-loss": SummedMetric(_log_loss, mean_per_label),
        "brier-score": SummedMetric(_brier, mean_per_label),
        "calibration-error": SummedMetric(_bins, _distance),
    }
)
