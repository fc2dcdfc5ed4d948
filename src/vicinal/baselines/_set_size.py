r"""Where to cut a ranking: a threshold for each row, predicted from its scores.

For a training row, :math:`t(x)` is where the fewest labels are on the wrong side,

.. math:: t(x) = \arg\min_t \; |\{k \in Y : f_k(x) \le t\}| + |\{k \notin Y : f_k(x) \ge t\}|.

The best t are an interval between two neighbouring scores; its middle is taken, of several the
widest (the lowest of equally wide ones). Below the lowest score and above the highest the interval
counts as 1 wide, the margin that Rank-SVM asks for. A least-squares fit of t by the scores,
:math:`t(x) \approx a \cdot f(x) + b`, then serves new rows.

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
        """Fit on training rows; of equally good fits the one with the smallest coefficients."""
        wanted = best_cuts(scores, has_label)
        design = np.column_stack([scores, np.ones(len(scores))])
        solution = np.linalg.lstsq(design, wanted, rcond=None)[0].astype(np.float64)
        return cls(solution[:-1], float(solution[-1]))

    def thresholds(self, scores: Float) -> Float:
        """Return t(x) of each row."""
        cuts: Float = scores @ self.slopes + self.intercept
        return cuts


def best_cuts(scores: Float, has_label: Bool) -> Float:
    """Return the t(x) of each row with the fewest mistakes.

    Examples
    --------
    Right above 2, then one mistake at any cut; no label at all; all of them.

    >>> scores = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    >>> best_cuts(scores, np.array([[0, 0, 1], [0, 0, 0], [1, 1, 1]], dtype=bool))
    array([2.5, 3.5, 0.5])
    """
    order = np.argsort(scores, axis=1, kind="stable")
    rising = np.take_along_axis(scores, order, axis=1)
    is_true = np.take_along_axis(has_label, order, axis=1)
    mistakes = _mistakes(is_true)
    low = np.column_stack([rising[:, :1] - 1.0, rising])
    high = np.column_stack([rising, rising[:, -1:] + 1.0])
    width = np.where(high > low, high - low, -np.inf)  # no cut fits between equal scores
    mistakes = np.where(high > low, mistakes, np.iinfo(np.int64).max)
    fewest = mistakes == mistakes.min(axis=1, keepdims=True)
    at = np.where(fewest, width, -np.inf).argmax(axis=1)
    rows = np.arange(len(scores))
    middle: Float = low[rows, at] / 2 + high[rows, at] / 2
    return middle


def _mistakes(is_true: Bool) -> Int:
    """Return the mistakes of a cut below all scores, above the first, and so on."""
    start = np.zeros((len(is_true), 1), dtype=np.int64)
    missed = np.concatenate([start, np.cumsum(is_true, axis=1)], axis=1)
    let_go = np.concatenate([start, np.cumsum(~is_true, axis=1)], axis=1)
    wrong: Int = missed + let_go[:, -1:] - let_go
    return wrong
