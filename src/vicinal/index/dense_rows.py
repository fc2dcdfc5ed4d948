"""The rows of a dense index, in arrays with room for more."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Float, Int
from vicinal._base.validation import METRICS
from vicinal._native import DenseIndexFloat32, DenseIndexFloat64, dense_norms
from vicinal.index.products import Prepared, prepare


@dataclass(frozen=True, eq=False)
class Room:
    """Arrays that may be longer than the rows in them.

    Parameters
    ----------
    values : ndarray of float32 or float64, shape (capacity, d)
    norms : ndarray of float64, shape (capacity,)
    prepared : Prepared or None
        `values` for float32 products; None where those would say nothing.
    owned : bool
        False while `values` is the caller's array, which has no room.
    """

    values: NDArray[Any]
    norms: Float
    prepared: Prepared | None
    owned: bool = False

    @classmethod
    def joined(cls, old: NDArray[Any], fresh: NDArray[Any], metric: str) -> "Room":
        """Copy rows into new arrays, half as long again as need be."""
        count = len(old) + len(fresh)
        capacity = count + count // 2
        values = np.empty((capacity, old.shape[1]), dtype=np.result_type(old, fresh))
        values[: len(old)] = old
        values[len(old) : count] = fresh
        norms = np.empty(capacity)
        norms[:count] = dense_norms(values[:count])
        prepared = prepare(values[:count], metric, capacity)
        return cls(values, norms, prepared, owned=True)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, the caller's array not counted."""
        own = self.values.nbytes if self.owned else 0
        return own + self.norms.nbytes + (0 if self.prepared is None else self.prepared.nbytes)

    def takes(self, fresh: NDArray[Any], first: int) -> bool:
        """Say whether rows can be written from `first` on, exactly and with the same bounds."""
        fits = first + len(fresh) <= len(self.values)
        same = np.result_type(self.values, fresh) == self.values.dtype
        return fits and same and (self.prepared is None or self.prepared.takes(fresh))

    def write(self, fresh: NDArray[Any], first: int) -> None:
        """Write rows behind those there."""
        stop = first + len(fresh)
        self.values[first:stop] = fresh
        self.norms[first:stop] = dense_norms(self.values[first:stop])
        if self.prepared is not None:
            self.prepared.write(fresh, first)


@dataclass(frozen=True, eq=False)
class DenseRows:
    """The rows searched at one time; a change makes another, so that a search keeps what it has.

    Parameters
    ----------
    room : Room
        Shared with the rows after a change, which are written behind the first `count`.
    count : int
    removed : ndarray of uint8
        1 for a row that is no longer there; empty while all are.
    metric : str
    """

    room: Room
    count: int
    removed: NDArray[np.uint8]
    metric: str

    @classmethod
    def of(cls, rows: NDArray[Any], metric: str) -> "DenseRows":
        """Prepare rows, which are kept by reference."""
        room = Room(rows, dense_norms(rows), prepare(rows, metric))
        return cls(room, len(rows), np.zeros(0, dtype=np.uint8), metric)

    @classmethod
    def unprepared(cls, rows: NDArray[Any], metric: str) -> "DenseRows":
        """Keep rows that are searched elsewhere."""
        return cls(Room(rows, np.zeros(0), None), len(rows), np.zeros(0, dtype=np.uint8), metric)

    @property
    def values(self) -> NDArray[Any]:
        """The rows, removed ones among them."""
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
        return kind(self.values, self.room.norms[: self.count], METRICS.index(self.metric))

    def with_rows(self, fresh: NDArray[Any]) -> "DenseRows":
        """Return these rows and further ones behind them."""
        room = self.room
        if room.takes(fresh, self.count):
            room.write(fresh, self.count)
        else:
            room = Room.joined(self.values, fresh, self.metric)
        removed = self.removed
        if len(removed):
            removed = np.append(removed, np.zeros(len(fresh), dtype=np.uint8))
        return DenseRows(room, self.count + len(fresh), removed, self.metric)

    def without(self, ids: Int) -> "DenseRows":
        """Return these rows, those of `ids` taken out."""
        removed = self.removed.copy() if len(self.removed) else np.zeros(self.count, np.uint8)
        removed[ids] = 1
        return replace(self, removed=removed)
