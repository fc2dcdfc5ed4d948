"""Rows in several parts whose ids ascend from part to part, in memory or on disk."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Int, Int32
from vicinal.index.row_ids import ids_at


class RowPart(Protocol):
    """Rows with ascending ids, some of which may be marked as removed."""

    def __len__(self) -> int:
        """Return the number of rows, including removed ones."""

    @property
    def ids(self) -> Int32:
        """The id of each row."""

    @property
    def removed(self) -> NDArray[np.uint8]:
        """1 for a removed row; empty if none has been removed."""


Part = TypeVar("Part", bound=RowPart)


class RowParts(ABC, Generic[Part]):
    """All parts together: the place of a row is its position when the parts are concatenated.

    Ids ascend with places, so that ties have the same order by either.
    """

    n_ids: int
    """Number of ids assigned so far."""

    @property
    @abstractmethod
    def parts(self) -> Sequence[Part]:
        """The parts, in the order of their ids."""

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Place of each part's first row; the last entry is the number of rows."""
        return tuple(accumulate(map(len, self.parts), initial=0))

    @property
    def count(self) -> int:
        """Number of rows, including removed ones."""
        return self.starts[-1]

    @cached_property
    def ids(self) -> Int32 | None:
        """The id of the row at each place; None if ids equal places."""
        if self.count == self.n_ids:
            return None
        return np.concatenate([np.zeros(0, dtype=np.int32), *(part.ids for part in self.parts)])

    def ids_at(self, places: Int32) -> Int32:
        """Return the ids of the rows at `places`, −1 where there is none.

        For few places the parts are looked up one by one, without an array of all ids.
        """
        if self.count == self.n_ids:
            return places
        if places.size > self.count // 16:
            return ids_at(places, self.ids)
        found = np.full(places.shape, -1, dtype=np.int32)
        for start, part in self.placed():
            inside = (places >= start) & (places < start + len(part))
            found[inside] = part.ids[places[inside] - start]
        return found

    def placed(self) -> Iterator[tuple[int, Part]]:
        """Yield each part with the place of its first row."""
        return zip(self.starts, self.parts, strict=False)

    def removed(self) -> Int:
        """Return the places of removed rows that have not been compacted."""
        places = [np.flatnonzero(part.removed) + start for start, part in self.placed()]
        return np.concatenate([np.zeros(0, dtype=np.int64), *places])
