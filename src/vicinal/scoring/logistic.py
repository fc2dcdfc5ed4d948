r"""Logistic regressions of many labels on the same features, some labels at a time.

For label *l*, with features :math:`f_i` and truth :math:`y_i \in \{0, 1\}`,

.. math::

    \min_{w, b} \; \tfrac12 \lVert w \rVert^2 + C \sum_i \log(1 + e^{z_i}) - y_i z_i, \qquad
    z_i = w \cdot f_i + b,

which is scikit-learn's convention for *C*; an infinite C means no penalty. There is one L-BFGS per
label, but a step of many labels is one sparse product, so that the cost is that of the products.
"""

from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from vicinal._base.arrays import Bool, Csr, Float, Int
from vicinal._base.threads import thread_count
from vicinal._base.warn import warn_user

GROUP = 64
"""Maximum number of labels solved together."""
GROUP_CELLS = 2**22
"""Maximum number of rows × labels solved together: 32 MiB per array."""
TOLERANCE = 1e-8
"""Largest derivative of the mean loss left at the end."""
MAX_STEPS = 1000
MEMORY = 10
"""Past steps that L-BFGS remembers."""

Objective: TypeAlias = Callable[[Float, Int], tuple[Float, Float]]
"""Maps parameters (one column per function) and function indices to values and gradients."""


def fit_logistic(features: Csr, Y: Csr, C: float, n_jobs: int | None = None) -> tuple[Float, Float]:
    """Return weights (d, L) and intercepts (L,) of one logistic regression per label.

    Parameters
    ----------
    features : csr_array of float64, shape (n, d)
    Y : csr_array, shape (n, L)
        Each label on some rows and not on all.
    C : float
        Inverse strength of the penalty; may be infinite.
    n_jobs : int or None
        Threads; they do not change the result.

    Notes
    -----
    Memory: 8 bytes per weight and about 100 MiB per thread.

    Examples
    --------
    Without a penalty and with one feature that is 0 or 1, probabilities are the shares of each
    half: here 1/2 and 3/4.

    >>> from scipy import sparse
    >>> features = sparse.csr_array(np.array([[0.0], [0], [1], [1], [1], [1]]))
    >>> Y = sparse.csr_array(np.array([[0], [1], [0], [1], [1], [1]]))
    >>> weights, intercepts = fit_logistic(features, Y, C=np.inf)
    >>> (1 / (1 + np.exp(-intercepts - [0, weights[0, 0]]))).round(4)
    array([0.5 , 0.75])
    """
    n_rows, n_labels = Y.shape
    size = max(1, min(GROUP, GROUP_CELLS // max(n_rows, 1)))
    by_label = Y.tocsc()
    backwards = features.T.tocsr()

    def solve(start: int) -> tuple[Float, Bool]:
        truth = by_label[:, start : start + size].toarray().astype(np.float64)
        regression = Regression(features, backwards, truth, 1 / (C * n_rows))
        return minimise(regression, regression.start())

    starts = range(0, n_labels, size)
    with ThreadPoolExecutor(thread_count(n_jobs)) as pool:
        solved = list((map if len(starts) == 1 else pool.map)(solve, starts))  # no thread for one
    _warn_unsolved(np.concatenate([np.ones(0, np.bool_), *(done for _, done in solved)]))
    nothing = np.empty((features.shape[1] + 1, 0))
    parameters = np.concatenate([nothing, *(columns for columns, _ in solved)], axis=1)
    return np.ascontiguousarray(parameters[:-1]), parameters[-1].copy()


def _warn_unsolved(converged: Bool) -> None:
    """Warn if some regressions did not converge."""
    unsolved = np.count_nonzero(~converged)
    if unsolved:
        warn_user(
            f"{unsolved} of {len(converged)} logistic regressions did not converge: "
            "scale the features, or lower C",
            ConvergenceWarning,
        )


@dataclass(frozen=True, eq=False)
class Regression:
    """The mean loss of some labels, as functions of weights and, in the last row, intercepts."""

    features: Csr
    backwards: Csr
    truth: Float
    penalty: float

    def start(self) -> Float:
        """Return the starting point: the best intercepts without features."""
        parameters = np.zeros((self.features.shape[1] + 1, self.truth.shape[1]))
        share = self.truth.mean(axis=0)
        parameters[-1] = np.log(share) - np.log1p(-share)
        return parameters

    def __call__(self, parameters: Float, labels: Int) -> tuple[Float, Float]:
        """Return losses and gradients of these labels."""
        weights, truth, n_rows = parameters[:-1], self.truth[:, labels], len(self.truth)
        margin = self.features @ np.ascontiguousarray(weights) + parameters[-1]
        small = np.exp(-np.abs(margin))
        losses = np.maximum(margin, 0) + np.log1p(small) - truth * margin
        residual = np.where(margin >= 0, 1, small) / (1 + small) - truth
        gradient = np.empty_like(parameters)
        gradient[:-1] = self.backwards @ residual / n_rows + self.penalty * weights
        gradient[-1] = residual.sum(axis=0) / n_rows
        squares = self.penalty / 2 * np.square(weights).sum(axis=0)
        return losses.sum(axis=0) / n_rows + squares, gradient


def minimise(objective: Objective, start: Float) -> tuple[Float, Bool]:
    """Minimise smooth convex functions, one per column, by L-BFGS.

    Returns
    -------
    parameters : ndarray, as `start`
    converged : ndarray of bool
        Whether all derivatives are within the tolerance, or no lower value can be distinguished.

    References
    ----------
    J. Nocedal, S. Wright, "Numerical Optimization", 2nd edition, algorithms 7.4 and 7.5.
    """
    at = start
    value, gradient = objective(at, np.arange(at.shape[1]))
    past: deque[tuple[Float, Float, Float]] = deque(maxlen=MEMORY)
    scale = np.ones(at.shape[1])
    active = np.abs(gradient).max(axis=0) > TOLERANCE
    for _ in range(MAX_STEPS):
        if not active.any():
            break
        direction = -_preconditioned(gradient, past, scale)
        direction[:, ~active] = 0
        moved, new_at, value, new_gradient = _step(objective, at, value, gradient, direction)
        step, change = new_at - at, new_gradient - gradient
        curvature = (step * change).sum(axis=0)
        usable = curvature > 0
        inverse = np.divide(1, curvature, out=np.zeros_like(curvature), where=usable)
        np.divide(curvature, np.square(change).sum(axis=0), out=scale, where=usable)
        past.append((step, change, inverse))
        at, gradient = new_at, new_gradient
        active &= moved & (np.abs(gradient).max(axis=0) > TOLERANCE)
    return at, ~active


def _preconditioned(
    gradient: Float, past: deque[tuple[Float, Float, Float]], scale: Float
) -> Float:
    """Return the gradient times the L-BFGS estimate of the inverse Hessian (two-loop recursion)."""
    result = gradient.copy()
    weights = []
    for step, change, inverse in reversed(past):
        weight = inverse * (step * result).sum(axis=0)
        result -= weight * change
        weights.append(weight)
    result *= scale
    for (step, change, inverse), weight in zip(past, reversed(weights), strict=True):
        result += (weight - inverse * (change * result).sum(axis=0)) * step
    return result


def _step(
    objective: Objective, at: Float, value: Float, gradient: Float, direction: Float
) -> tuple[Bool, Float, Float, Float]:
    """Line search along `direction`, halving each column's step until Armijo's rule holds."""
    slope = (gradient * direction).sum(axis=0)
    pending = np.flatnonzero(slope < 0)
    moved = np.zeros(at.shape[1], dtype=np.bool_)
    at, value, gradient = at.copy(), value.copy(), gradient.copy()
    length = 1.0
    for _ in range(40):
        if len(pending) == 0:
            break
        trial = at[:, pending] + length * direction[:, pending]
        trial_value, trial_gradient = objective(trial, pending)
        falls = trial_value <= value[pending] + 1e-4 * length * slope[pending]
        done = pending[falls]
        at[:, done], value[done] = trial[:, falls], trial_value[falls]
        gradient[:, done] = trial_gradient[:, falls]
        moved[done] = True
        pending = pending[~falls]
        length /= 2
    return moved, at, value, gradient
