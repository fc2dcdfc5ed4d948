"""Arrays that can be appended to while other threads read their earlier entries.

New rows of a model are written after the existing ones, so that adding one row copies one row.
Existing views never change, because entries that were once returned are never overwritten.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.fork_lock import ForkLock

GROWTH = 0.125
"""Share of spare capacity when an array is copied to a larger one: while an array grows, each entry
is copied about 9 times in total, and at most an eighth of the memory is unused."""
LEAST_ROOM = 64
"""Minimum spare capacity in entries."""


class GrowingArray:
    """An array with spare capacity after the entries in use.

    Parameters
    ----------
    values : ndarray
        Kept by reference and never changed: adding the first entries makes a copy.

    Examples
    --------
    >>> first = GrowingArray(np.array([1, 2]))
    >>> second = first.extended(2, np.array([3]))
    >>> first.head(2), second.head(3)
    (array([1, 2]), array([1, 2, 3]))

    Two continuations of the same entries do not disturb each other:

    >>> other = second.extended(2, np.array([9]))
    >>> second.head(3), other.head(3)
    (array([1, 2, 3]), array([1, 2, 9]))
    """

    def __init__(self, values: NDArray[Any]) -> None:
        self._values = values
        self._used = len(values)
        self._writing = ForkLock()

    def head(self, count: int) -> NDArray[Any]:
        """Return the first entries, read-only."""
        view = self._values[:count]
        view.flags.writeable = False
        return view

    def extended(self, count: int, fresh: NDArray[Any]) -> "GrowingArray":
        """Return an array that consists of the first `count` entries, followed by `fresh`.

        It is this object if there is capacity and no other continuation has been written there.
        """
        if len(fresh) == 0:  # the array may be read-only
            return self
        stop = count + len(fresh)
        with self._writing:
            if self._takes(count, stop, fresh):
                self._values[count:stop] = fresh
                self._used = stop
                return self
        dtype = np.result_type(self._values, fresh)
        room = stop + max(LEAST_ROOM, int(GROWTH * stop))
        values = np.empty((room, *self._values.shape[1:]), dtype=dtype)
        values[:count] = self._values[:count]
        values[count:stop] = fresh
        larger = GrowingArray(values)
        larger._used = stop
        return larger

    def _takes(self, count: int, stop: int, fresh: NDArray[Any]) -> bool:
        """Tell whether `fresh` can be written in place from `count` on."""
        return (
            count == self._used
            and stop <= len(self._values)
            and np.can_cast(fresh.dtype, self._values.dtype, "safe")
        )
