r"""Cell weights and confidences of AdaBoost.MH, used by both boosting baselines.

A cell is a pair of row and label, :math:`Y_i[l] = \pm 1`. Given the scores f so far, its weight is

.. math:: D(i, l) \propto w_i \exp(-Y_i[l]\, f_l(x_i)), \qquad \sum_{i,l} D(i, l) = 1,

where :math:`w_i` is the weight of the row, 1 by default: a row of weight w counts as w equal rows.

For a subset of the rows, let :math:`W_+` be the total weight of the rows that have label l and
:math:`W_-` the weight of those that do not. The score of the label in this subset is

.. math:: c_l = \tfrac12 \ln \frac{W_+ + \varepsilon}{W_- + \varepsilon}, \qquad
          \varepsilon = \frac{1}{nL}, \quad n = \sum_i w_i,

which minimises the loss up to ε and stays finite if all rows of the subset agree.

References
----------
R. E. Schapire, Y. Singer, "Improved boosting algorithms using confidence-rated predictions",
Machine Learning 37 (1999), and "BoosTexter", Machine Learning 39 (2000).
"""

import math

import numpy as np

from vicinal._base.arrays import Bool, Csr, Float

GRAIN_BITS = 51
"""Weights are multiples of 2⁻⁵¹: sums up to 4 are exact in float64, whatever their order."""


def signs(Y: Csr) -> Float:
    """Return +1 if a row has a label, −1 otherwise. Memory: 8 bytes per row and label."""
    dense: Float = 2.0 * Y.toarray() - 1.0
    return dense


def signed_distribution(targets: Float, scores: Float, row_weights: Float) -> Float:
    """Return Y · D: the weight of each cell, with the sign of its target.

    A row of weight w stands for w equal rows, whose cells are added up.

    Examples
    --------
    >>> signed_distribution(np.array([[1.0, -1.0]]), np.zeros((1, 2)), np.ones(1))
    array([[ 0.5, -0.5]])
    """
    loss = -targets * scores
    weights = np.exp(loss - loss.max())
    weights /= exact_total(weights, row_weights)
    # Rounded before and after: whole weights give what so many equal rows give.
    grains = np.rint(np.rint(np.ldexp(weights, GRAIN_BITS)) * row_weights[:, None])
    exact: Float = targets * np.ldexp(grains, -GRAIN_BITS)
    return exact


def exact_total(weights: Float, row_weights: Float) -> float:
    """Return Σ w D over all cells, each at most 1, the same in whatever order they are added.

    Each weight is cut into two whole numbers below 2²⁷, whose sums are exact. A sum that depends on
    the order would let a row of weight 2 break a tie otherwise than two equal rows.

    Examples
    --------
    >>> exact_total(np.array([[0.1], [0.3]]), np.array([3.0, 1.0]))
    0.6
    """
    scaled = np.ldexp(weights, 26)
    high = np.rint(scaled)
    low = np.rint(np.ldexp(scaled - high, 27))
    sums = [float((part * row_weights[:, None]).sum()) for part in (high, low)]
    return math.ldexp(sums[0] + math.ldexp(sums[1], -27), -26)


def confidences(signed: Float, members: Bool, smoothing: float) -> Float:
    """Return the confidence c of each label for the marked rows.

    Examples
    --------
    One row has the label; another row with three times the weight does not: ½ ln (0.25 / 0.75).

    >>> confidences(np.array([[0.25], [-0.75]]), np.array([True, True]), smoothing=0.0)
    array([-0.54930614])
    """
    part = signed[members]
    with_label = np.maximum(part, 0.0).sum(axis=0)
    without = np.maximum(-part, 0.0).sum(axis=0)
    ratio: Float = 0.5 * np.log((with_label + smoothing) / (without + smoothing))
    return ratio


def half_logistic(scores: Float) -> Float:
    """Return 1 / (1 + exp(−2f)), the probability that corresponds to an AdaBoost score f.

    Examples
    --------
    >>> half_logistic(np.array([0.0, 400.0, -400.0]))
    array([0.5, 1. , 0. ])
    """
    odds: Float = 0.5 * (1.0 + np.tanh(scores))
    return odds
