r"""The mixture in closed form: a convex combination of the parts' scores, made a probability.

.. math::

    s = \sum_j w_j f_j, \quad w_j \ge 0, \ \sum_j w_j = 1, \qquad
    P(l \mid x) = \frac{1}{1 + e^{-(a s + b)}}

The weights are those of non-negative least squares on the leave-one-out cells, scaled to sum to
one; a and b are fitted to the same cells by maximum likelihood.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import optimize

from vicinal._base.arrays import Float
from vicinal._base.state import FieldState, State, read_array, read_plain
from vicinal.scoring.blend.cells import COLUMNS_PER_PART
from vicinal.scoring.blend.trees import Cells

LEAST_SPREAD = 1e-12
"""Scores that differ by less count as equal: the slope on them would be without bound."""


@dataclass(frozen=True, eq=False)
class ConvexMix(FieldState):
    """Weights of the parts, and the line that makes their sum log-odds.

    Parameters
    ----------
    weights : ndarray of float64, shape (n_parts,)
        Sum to one.
    slope, intercept : float
    """

    weights: Float
    slope: float
    intercept: float

    @property
    def n_columns(self) -> int:
        """Numbers per cell."""
        return COLUMNS_PER_PART * len(self.weights) + 1

    @classmethod
    def fit(cls, cells: Cells, true: Float) -> Self:
        """Fit on leave-one-out cells."""
        scores = cells[:, 0:-1:COLUMNS_PER_PART].astype(np.float64)
        weights = optimize.nnls(scores, true)[0]
        if weights.sum() <= 0:
            weights = np.ones(scores.shape[1])
        weights /= weights.sum()
        slope, intercept = _logistic_line(scores @ weights, true)
        return cls(weights, slope, intercept)

    def log_odds(self, cells: Cells) -> Float:
        """Return the log-odds of each cell."""
        scores = cells[:, 0:-1:COLUMNS_PER_PART].astype(np.float64)
        return self.slope * (scores @ self.weights) + self.intercept

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return cls(
            read_array(state, "weights", np.float64, (None,)),
            read_plain(state, "slope", float),
            read_plain(state, "intercept", float),
        )


def _logistic_line(x: Float, true: Float) -> tuple[float, float]:
    """Return slope and intercept of the logistic regression on one number, slightly shrunk."""
    mean, spread = float(x.mean()), float(x.std())
    if spread < LEAST_SPREAD:
        spread = 1.0
    z = (x - mean) / spread
    slope, intercept = 0.0, 0.0
    for _ in range(50):
        p = 1.0 / (1.0 + np.exp(-(slope * z + intercept)))
        curvature = np.maximum(p * (1.0 - p), 1e-10)
        gradient = np.array([z @ (p - true) + 1e-3 * slope, (p - true).sum() + 1e-3 * intercept])
        cross = curvature @ z
        hessian = np.array([[curvature @ (z * z) + 1e-3, cross], [cross, curvature.sum() + 1e-3]])
        step = np.linalg.solve(hessian, gradient)
        largest = np.abs(step).max()
        step *= min(1.0, 4.0 / max(largest, 1e-12))
        slope, intercept = slope - float(step[0]), intercept - float(step[1])
        if largest < 1e-8:
            break
    return slope / spread, intercept - slope * mean / spread
