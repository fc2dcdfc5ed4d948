"""Stable row ids while an index is compacted."""

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Float, Int, Int32
from vicinal._base.errors import InvalidArgumentError

COMPACT_SHARE = 0.1
"""Share of removed rows above which an index is compacted."""

MOST_IDS = 2**31 - 1
"""Ids are int32, which limits the number of ids of an index or a model."""


def mark_removed(removed: NDArray[np.uint8], places: Int, n_rows: int) -> NDArray[np.uint8]:
    """Return a copy of the marks of `n_rows` rows, with 1 at `places`.

    Examples
    --------
    >>> mark_removed(np.zeros(0, dtype=np.uint8), np.array([1]), 3)
    array([0, 1, 0], dtype=uint8)
    """
    marks = removed.copy() if len(removed) else np.zeros(n_rows, dtype=np.uint8)
    marks[places] = 1
    return marks


def should_compact(removed: NDArray[np.uint8]) -> bool:
    """Tell whether more than :data:`COMPACT_SHARE` of the rows are marked as removed."""
    return bool(np.count_nonzero(removed) > COMPACT_SHARE * len(removed))


def check_room_for_ids(n_ids: int, n_more: int) -> None:
    """Raise if the new ids would not fit in an int32.

    Examples
    --------
    >>> check_room_for_ids(5, 2**31)
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: rows: expected fewer than 2^31 - 1 row ids in all,
    got 2147483653
    """
    if n_ids + n_more >= MOST_IDS:
        raise InvalidArgumentError("rows", "fewer than 2^31 - 1 row ids in all", n_ids + n_more)


def places_of(wanted: Int, ids: Int32 | None) -> Int:
    """Return the places of those ids in `wanted` that still exist.

    Examples
    --------
    >>> places_of(np.array([7, 3, 4]), np.array([1, 3, 7], dtype=np.int32))
    array([2, 1])
    """
    if ids is None:
        return wanted
    place = np.searchsorted(ids, wanted)
    there = place < len(ids)
    there[there] = ids[place[there]] == wanted[there]
    found: Int = place[there]
    return found


def ids_at(places: Int32, ids: Int32 | None) -> Int32:
    """Return the ids of rows at `places`, −1 where there is none.

    Examples
    --------
    >>> ids_at(np.array([[1, -1]], dtype=np.int32), np.array([4, 9], dtype=np.int32))
    array([[ 9, -1]], dtype=int32)
    """
    if ids is None or not len(ids):
        return places
    found: Int32 = np.where(places < 0, np.int32(-1), ids[places])
    return found


def by_row_id(
    found: Int32, values: Float, left: Int32, n_ids: int, padding: float
) -> tuple[Int32, Float]:
    """Expand lists of the remaining rows to all ids; removed rows have no neighbours."""
    ids = np.full((n_ids, found.shape[1]), -1, dtype=np.int32)
    spread = np.full(ids.shape, padding)
    ids[left], spread[left] = found, values
    return ids, spread
