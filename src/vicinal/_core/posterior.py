r"""The arithmetic of the ML-kNN family: prior, likelihood, posterior.

.. math::

    P(H_1) &= \frac{s + n_1}{2s + n}, \qquad P(H_0) = 1 - P(H_1) \\
    P(E \mid H_b) &= \frac{s + v_b}{s\,m + n_b} \\
    r &= \frac{P(H_1) P(E \mid H_1)}{P(H_1) P(E \mid H_1) + P(H_0) P(E \mid H_0)}

Of *n* rows, :math:`n_1` have the label and :math:`n_0` do not; :math:`v_1` of the former and
:math:`v_0` of the latter show the evidence *E*, one of *m* outcomes. Without smoothing (s = 0) a
probability of 0/0 counts as 0, and if both products of the posterior are 0, it is the prior. If
the two products are equal, the posterior is exactly 1/2, at which labels are predicted: products
that differ by no more than their rounding errors count as equal.

All functions work element-wise on arrays, so that the same counts give the same bits everywhere.
The module depends only on NumPy because the evaluation on a GPU uses it too.
"""

import numpy as np
from numpy.typing import NDArray

Float = NDArray[np.float64]
Int = NDArray[np.int64]


def prior(n_with: Int, n_rows: Int | int, smoothing: float) -> Float:
    """Return :math:`P(H_1)`."""
    return _ratio(smoothing + n_with, 2 * smoothing + n_rows)


def likelihood(
    shown: Int | NDArray[np.int32], n_rows: Int, smoothing: float, n_outcomes: int
) -> Float:
    """Return :math:`P(E | H_b)`; `shown` is :math:`v_b`, `n_rows` is :math:`n_b`."""
    return _ratio(smoothing + shown, smoothing * n_outcomes + n_rows)


def posterior(prior_with: Float, likelihood_with: Float, likelihood_without: Float) -> Float:
    """Return *r*."""
    joint_with = prior_with * likelihood_with
    joint_without = (1 - prior_with) * likelihood_without
    total = joint_with + joint_without
    undecided = total == 0
    result = joint_with / np.where(undecided, 1, total)
    # Three roundings of each product, and that of the prior, which 1 − P(H1) takes over.
    rounding = 2 * np.finfo(np.float64).eps * (total + prior_with * likelihood_without)
    result = np.where(np.abs(joint_with - joint_without) <= rounding, 0.5, result)
    return np.where(undecided, prior_with, result)


def vote_posterior(
    prior_with: Float, with_label: Int, without_label: Int, smoothing: float, k: int
) -> Float:
    """Return *r* for every number of votes, from tables of shape (…, L, width)."""
    likelihoods = [
        likelihood(table, table.sum(axis=-1, keepdims=True), smoothing, n_outcomes=k + 1)
        for table in (with_label, without_label)
    ]
    return posterior(prior_with[..., None], *likelihoods)


def wrong_cells(with_label: Int, without_label: Int, smoothing: float, k: int) -> int:
    """Count the cells that ML-kNN gets wrong, from its tables of shape (L, width)."""
    n_with = with_label.sum(axis=1)
    chances = prior(n_with, n_with + without_label.sum(axis=1), smoothing)
    predicted = vote_posterior(chances, with_label, without_label, smoothing, k) >= 0.5
    return int(with_label[~predicted].sum() + without_label[predicted].sum())


def _ratio(part: NDArray[np.floating], whole: NDArray[np.floating] | float) -> Float:
    """Return `part` / `whole`, or 0 for 0/0."""
    ratio: Float = part / np.where(whole == 0, 1.0, whole)
    return ratio
