"""Differences of paired scores, without the noise of rounding."""

import numpy as np

from vicinal._base.arrays import Float

ROUNDING = 8.0
"""Differences of at most this many units in the last place count as 0: the same score computed
twice."""


def paired_differences(first: Float, second: Float) -> Float:
    """Return ``first − second``, exactly 0 where they differ only by rounding.

    Otherwise two methods that differ only in the last bit would be significantly different.

    Examples
    --------
    >>> paired_differences(np.array([0.1 + 0.2, 1.0]), np.array([0.3, 0.5]))
    array([0. , 0.5])
    """
    apart = first - second
    noise = ROUNDING * np.spacing(np.maximum(np.abs(first), np.abs(second)))
    return np.where(np.abs(apart) <= noise, 0.0, apart)
