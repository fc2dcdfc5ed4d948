r"""Exact Shapley values.

The share of input *i* of a function *f*, compared with a baseline, is its average contribution over
all orders in which the inputs can change from the baseline to their values:

.. math:: \phi_i = \sum_{S \not\ni i} \frac{|S|!\,(d - |S| - 1)!}{d!}
                   \bigl(f(x_{S \cup i}) - f(x_S)\bigr)

In :math:`x_S` the inputs in *S* have their values and the others those of the baseline. The shares
add up to :math:`f(x) - f(\text{baseline})`.

References
----------
L. S. Shapley, "A value for n-person games", Contributions to the Theory of Games II (1953).
"""

from collections.abc import Callable
from math import comb

import numpy as np

from vicinal._base.arrays import Float
from vicinal._base.errors import InvalidArgumentError

MOST_INPUTS = 16
"""The largest number of inputs: 65,536 evaluations of the function, 8 MiB of inputs."""


def exact_shapley(
    function: Callable[[Float], Float], inputs: Float, baseline: Float
) -> tuple[float, Float]:
    """Return the value at the baseline and the share of each input.

    Parameters
    ----------
    function : callable
        Maps points, one per row, shape (p, d), to finite values, shape (p,). Called once, with 2^d
        points.
    inputs, baseline : ndarray of float64, shape (d,)
        At most 16 inputs.

    Returns
    -------
    base : float
        The function at `baseline`.
    shares : ndarray of float64, shape (d,)
        ``base + shares.sum()`` is the function at `inputs`.

    Examples
    --------
    Two inputs contribute only together, so each gets half. The third contributes by itself.

    >>> product = lambda points: points[:, 0] * points[:, 1] + 3 * points[:, 2]
    >>> base, shares = exact_shapley(product, np.ones(3), np.zeros(3))
    >>> float(base), shares.round(12).tolist()
    (0.0, [0.5, 0.5, 3.0])
    """
    inputs, baseline = np.asarray(inputs, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    d = len(inputs)
    if inputs.shape != (d,) or baseline.shape != (d,):
        raise InvalidArgumentError(
            "baseline", f"the shape of inputs {inputs.shape}", baseline.shape
        )
    if d > MOST_INPUTS:
        raise InvalidArgumentError("inputs", f"at most {MOST_INPUTS} inputs", d)
    subsets = np.arange(2**d)
    present = (subsets[:, None] >> np.arange(d)) & 1 == 1
    values = np.asarray(function(np.where(present, inputs, baseline)), dtype=np.float64)
    if values.shape != (2**d,) or not np.isfinite(values).all():
        raise InvalidArgumentError("function", f"{2**d} finite values", f"shape {values.shape}")
    sizes = present.sum(axis=1)
    weight_of_size = np.array([1 / (d * comb(d - 1, size)) for size in range(d)])
    shares = np.empty(d)
    for i in range(d):
        without = subsets[~present[:, i]]
        gains = values[without | (1 << i)] - values[without]
        shares[i] = weight_of_size[sizes[without]] @ gains
    return float(values[0]), shares


def shapley_of_maximum(values: Float) -> Float:
    """Return the Shapley values of the maximum of non-negative numbers, compared with 0.

    All numbers share the step from 0 to the smallest; all but the smallest share the next step, and
    so on. Equal values get equal shares.

    References
    ----------
    S. C. Littlechild, G. Owen, "A simple expression for the Shapley value in a special case",
    Management Science 20 (1973).

    Examples
    --------
    >>> shapley_of_maximum(np.array([0.25, 1.0, 0.25])).round(4).tolist()
    [0.0833, 0.8333, 0.0833]
    """
    order = np.argsort(values, kind="stable")
    steps = np.diff(values[order], prepend=0.0) / np.arange(len(values), 0, -1)
    shares = np.empty(len(values))
    shares[order] = np.cumsum(steps)
    return shares
