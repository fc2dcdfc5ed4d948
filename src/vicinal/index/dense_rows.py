"""The rows of a dense index, in arrays with spare capacity."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Float, Int, Int32
from vicinal._native import DenseIndexFloat32, DenseIndexFloat64, dense_norms
from vicinal.distances import Distance
from vicinal.index.products import Prepared, prepare
from vicinal.index.row_ids import mark_removed, places_of, should_compact


@dataclass(eq=False)
class Room:
    """Arrays with spare capacity for further rows.

    Parameters
    ----------
    values : ndarray of float32 or float64, shape (capacity, d)
    norms : ndarray of float64, shape (capacity,)
    prepared : Prepared or None
        `values` for float32 products; None if the bounds would be useless.
    used : int
        Rows written so far, by any of the versions that share the arrays.
    owned : bool
        False while `values` is the caller's array, which has no spare capacity.
    """

    values: NDArray[Any]
    norms: Float
    prepared: Prepared | None
    used: int
    owned: bool = False

    @classmethod
    def joined(cls, old: NDArray[Any], fresh: NDArray[Any], distance: Distance) -> "Room":
        """Copy rows into new arrays with half as much spare capacity."""
        count = len(old) + len(fresh)
        capacity = count + count // 2
        values = np.empty((capacity, old.shape[1]), dtype=np.result_type(old, fresh))
        values[: len(old)] = old
        values[len(old) : count] = fresh
        norms = np.empty(capacity)
        norms[:count] = dense_norms(values[:count])
        prepared = prepare(values[:count], distance, capacity)
        return cls(values, norms, prepared, count, owned=True)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, the caller's array not counted."""
        own = self.values.nbytes if self.owned else 0
        return own + self.norms.nbytes + (0 if self.prepared is None else self.prepared.nbytes)

    def takes(self, fresh: NDArray[Any], first: int) -> bool:
        """Tell whether rows can be written from `first` on, exactly and with the same bounds.

        They cannot if another version has already written there.
        """
        fits = first == self.used and first + len(fresh) <= len(self.values)
        same = np.result_type(self.values, fresh) == self.values.dtype
        return fits and same and (self.prepared is None or self.prepared.takes(fresh))

    def write(self, fresh: NDArray[Any], first: int) -> None:
        """Append rows."""
        stop = first + len(fresh)
        self.values[first:stop] = fresh
        self.norms[first:stop] = dense_norms(self.values[first:stop])
        if self.prepared is not None:
            self.prepared.write(fresh, first)
        self.used = stop


@dataclass(frozen=True, eq=False)
class DenseRows:
    """An immutable version of the rows; changes create a new version, so running searches are safe.

    Parameters
    ----------
    room : Room
        Shared with later versions, whose additional rows follow the first `count`.
    count : int
        Number of rows in the arrays, including removed ones. The index of a row there is its place.
    removed : ndarray of uint8
        1 for a removed row; empty if none has been removed.
    distance : Distance
    n_ids : int
        Number of ids assigned so far.
    ids : ndarray of int32, shape (count,), or None
        The id of the row at each place, ascending; None if ids equal places.
    """

    room: Room
    count: int
    removed: NDArray[np.uint8]
    distance: Distance
    n_ids: int
    ids: Int32 | None = None

    @classmethod
    def of(cls, rows: NDArray[Any], distance: Distance) -> "DenseRows":
        """Prepare rows, which are kept by reference."""
        room = Room(rows, dense_norms(rows), prepare(rows, distance), len(rows))
        return cls(room, len(rows), np.zeros(0, dtype=np.uint8), distance, len(rows))

    @classmethod
    def unprepared(cls, rows: NDArray[Any], distance: Distance) -> "DenseRows":
        """Keep rows that are searched elsewhere."""
        room = Room(rows, np.zeros(0), None, len(rows))
        return cls(room, len(rows), np.zeros(0, dtype=np.uint8), distance, len(rows))

    @property
    def values(self) -> NDArray[Any]:
        """The rows, including removed ones."""
        return self.room.values[: self.count]

    @cached_property
    def prepared(self) -> Prepared | None:
        """The rows for float32 products."""
        prepared = self.room.prepared
        return None if prepared is None else prepared.first(self.count)

    @cached_property
    def native(self) -> DenseIndexFloat32 | DenseIndexFloat64:
        """The compiled comparison by the definition."""
        kind = DenseIndexFloat32 if self.values.dtype == np.float32 else DenseIndexFloat64
        return kind(self.values, self.room.norms[: self.count], self.distance.native())

    def with_rows(self, fresh: NDArray[Any]) -> "DenseRows":
        """Return these rows with further rows appended, which get the next ids."""
        room, ids = self.room, self.ids
        if room.takes(fresh, self.count):
            room.write(fresh, self.count)
        else:
            room = Room.joined(self.values, fresh, self.distance)
        removed = self.removed
        if len(removed):
            removed = np.append(removed, np.zeros(len(fresh), dtype=np.uint8))
        n_ids = self.n_ids + len(fresh)
        if ids is not None:
            ids = np.append(ids, np.arange(self.n_ids, n_ids, dtype=np.int32))
        return DenseRows(room, self.count + len(fresh), removed, self.distance, n_ids, ids)

    def without(self, ids: Int) -> "DenseRows":
        """Return these rows without `ids`; compacted if many rows have been removed."""
        places = places_of(ids, self.ids)
        removed = mark_removed(self.removed, places, self.count)
        fewer = replace(self, removed=removed)
        return fewer.compacted() if should_compact(removed) else fewer

    def compacted(self) -> "DenseRows":
        """Return the remaining rows in new arrays."""
        if not self.removed.any():
            return self
        kept = np.flatnonzero(self.removed == 0)
        ids = kept.astype(np.int32) if self.ids is None else self.ids[kept]
        rows = DenseRows.of(self.values[kept], self.distance)
        return replace(rows, room=replace(rows.room, owned=True), n_ids=self.n_ids, ids=ids)
