"""Arrays that grow at their end while others read what was there before.

Rows that a model learns are written behind those it has, so that learning one row copies one row.
Whoever holds a view of the rows before keeps exactly those: nothing that was once handed out is
written again.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.fork_lock import ForkLock

GROWTH = 0.125
"""Share of unused room when an array is copied to a larger one: an entry is copied 9 times in all
while an array grows from nothing, and an eighth of the memory is unused at most."""
LEAST_ROOM = 64
"""Entries of unused room at least."""


class GrowingArray:
    """An array with room behind the entries that are in use.

    Parameters
    ----------
    values : ndarray
        Kept by reference and never written to: the first entries that are added go to a copy.

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

    @property
    def nbytes(self) -> int:
        """Memory in bytes, unused room included."""
        return int(self._values.nbytes)

    def head(self, count: int) -> NDArray[Any]:
        """Return the first entries, read-only."""
        view = self._values[:count]
        view.flags.writeable = False
        return view

    def extended(self, count: int, fresh: NDArray[Any]) -> "GrowingArray":
        """Return the array whose first `count` entries are these, followed by `fresh`.

        It is this one where there is room and no other continuation was written there.
        """
        if len(fresh) == 0:  # nothing is written to an array that may be read-only
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
        """Tell whether entries can be written from `count` on as they are."""
        return (
            count == self._used
            and stop <= len(self._values)
            and np.can_cast(fresh.dtype, self._values.dtype, "safe")
        )
