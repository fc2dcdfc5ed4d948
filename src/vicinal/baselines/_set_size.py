r"""The threshold of each row, predicted from its scores.

For a training row, :math:`t(x)` is the threshold with the fewest labels on the wrong side,

.. math:: t(x) = \arg\min_t \; |\{k \in Y : f_k(x) \le t\}| + |\{k \notin Y : f_k(x) \ge t\}|.

The best values of t form an interval between two adjacent scores, and its midpoint is used. If
there are several such intervals, the widest is taken (the lowest of equally wide ones). Below the
lowest and above the highest score the interval counts as 1 wide, the margin of Rank-SVM. A
least-squares fit of t to the scores, :math:`t(x) \approx a \cdot f(x) + b`, then predicts the
threshold of new rows.

References
----------
A. Elisseeff, J. Weston, "A kernel method for multi-labelled classification", NIPS 2001.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from vicinal._base.arrays import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class SetSize:
    """A threshold that is linear in the scores of a row.

    Parameters
    ----------
    slopes : ndarray of float64, shape (L,)
    intercept : float
    """

    slopes: Float
    intercept: float

    @classmethod
    def fit(cls, scores: Float, has_label: Bool) -> Self:
        """Fit on training rows; among equally good fits, the one with the smallest coefficients."""
        wanted = best_cuts(scores, has_label)
        design = np.column_stack([scores, np.ones(len(scores))])
        solution = np.linalg.lstsq(design, wanted, rcond=None)[0].astype(np.float64)
        return cls(solution[:-1], float(solution[-1]))

    def thresholds(self, scores: Float) -> Float:
        """Return t(x) of each row."""
        cuts: Float = scores @ self.slopes + self.intercept
        return cuts


def best_cuts(scores: Float, has_label: Bool) -> Float:
    """Return the t(x) of each row with the fewest errors.

    Examples
    --------
    Three rows: labels separable just above 2; no labels; all labels.

    >>> scores = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    >>> best_cuts(scores, np.array([[0, 0, 1], [0, 0, 0], [1, 1, 1]], dtype=bool))
    array([2.5, 3.5, 0.5])
    """
    order = np.argsort(scores, axis=1, kind="stable")
    ascending = np.take_along_axis(scores, order, axis=1)
    is_true = np.take_along_axis(has_label, order, axis=1)
    mistakes = _mistakes(is_true)
    low = np.column_stack([ascending[:, :1] - 1.0, ascending])
    high = np.column_stack([ascending, ascending[:, -1:] + 1.0])
    width = np.where(high > low, high - low, -np.inf)  # no threshold fits between equal scores
    mistakes = np.where(high > low, mistakes, np.iinfo(np.int64).max)
    fewest = mistakes == mistakes.min(axis=1, keepdims=True)
    at = np.where(fewest, width, -np.inf).argmax(axis=1)
    rows = np.arange(len(scores))
    middle: Float = low[rows, at] / 2 + high[rows, at] / 2
    return middle


def _mistakes(is_true: Bool) -> Int:
    """Return the errors of a threshold below all scores, above the first, and so on."""
    start = np.zeros((len(is_true), 1), dtype=np.int64)
    missed = np.concatenate([start, np.cumsum(is_true, axis=1)], axis=1)
    let_go = np.concatenate([start, np.cumsum(~is_true, axis=1)], axis=1)
    wrong: Int = missed + let_go[:, -1:] - let_go
    return wrong
