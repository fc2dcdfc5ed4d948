"""Lists of neighbours from several shards become one, in the order of every search."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from vicinal._base.arrays import Float, Int32

Found: TypeAlias = tuple[Int32, Float]
"""Places of rows (−1 for none) and their keys, smaller is nearer; one list per query."""


def merge_found(parts: Sequence[Found]) -> Found:
    """Return the nearest of several lists of the same width, by (key, place).

    Keys, not values, are compared: two squared distances may have one rounded root. The result does
    not depend on the order of the parts nor on how they are grouped.

    Examples
    --------
    >>> near = np.array([[4, -1]], np.int32), np.array([[0.5, 0.0]])
    >>> more = np.array([[7, 2]], np.int32), np.array([[0.1, 0.5]])
    >>> merge_found([near, more])
    (array([[7, 2]], dtype=int32), array([[0.1, 0.5]]))
    """
    if len(parts) == 1:
        return parts[0]
    width = parts[0][0].shape[1]
    places = np.hstack([places for places, _ in parts])
    keys = np.hstack([keys for _, keys in parts])
    order = np.lexsort((places, keys, places < 0), axis=1)[:, :width]
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(keys, order, axis=1)
