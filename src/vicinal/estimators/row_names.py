"""Names of training rows: validated, updated when rows are added or removed, saved."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from vicinal._base.arrays import Int
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.growing import GrowingArray
from vicinal._base.scalars import check_encodable, check_sequence
from vicinal._base.state import State, read_array, read_part


@dataclass(frozen=True, eq=False)
class GrowingNames:
    """Names by place, with room behind them: a further name is added without a copy of the others.

    Parameters
    ----------
    room : GrowingArray
        Of objects.
    count : int
        How many of them are in use.

    Examples
    --------
    >>> first = GrowingNames.of(("a", "b"))
    >>> second = first.extended(("c",))
    >>> first.as_tuple, second.as_tuple, second[2]
    (('a', 'b'), ('a', 'b', 'c'), 'c')
    """

    room: GrowingArray
    count: int

    @classmethod
    def of(cls, names: tuple[str, ...]) -> "GrowingNames":
        """Return names that can grow."""
        return cls(GrowingArray(np.array(names, dtype=np.object_)), len(names))

    def extended(self, fresh: tuple[str, ...]) -> "GrowingNames":
        """Return these names, followed by others."""
        more = self.room.extended(self.count, np.array(fresh, dtype=np.object_))
        return GrowingNames(more, self.count + len(fresh))

    @cached_property
    def as_tuple(self) -> tuple[str, ...]:
        """All names, as users see them."""
        return tuple(self.room.head(self.count).tolist())

    def __len__(self) -> int:
        """Return the number of names."""
        return self.count

    def __getitem__(self, place: int) -> str:
        """Return the name of the row at a place."""
        return str(self.room.head(self.count)[place])

    def __iter__(self) -> Iterator[str]:
        """Return the names in order."""
        return iter(self.as_tuple)

    def __reduce__(self) -> tuple[object, ...]:
        """Leave the room out of pickles."""
        return GrowingNames.of, (self.as_tuple,)


RowNames: TypeAlias = tuple[str, ...] | GrowingNames
"""Names of rows as a version holds them."""


def check_row_names(names: object, n_rows: int, argument: str = "row_names") -> tuple[str, ...]:
    """Return one name per row; integers become strings, and names may repeat.

    Examples
    --------
    >>> check_row_names(["a", 7], n_rows=2)
    ('a', '7')
    >>> check_row_names(["a"], n_rows=2)
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: row_names: expected 2 names, one per row, got 1
    """
    given = check_sequence(argument, names)
    if len(given) != n_rows:
        raise InvalidArgumentError(argument, f"{n_rows} names, one per row", len(given))
    for name in given:
        if not isinstance(name, str | int | np.integer):
            raise InvalidArgumentError(argument, "strings or integers", repr(name))
    checked = tuple(str(name) for name in given)
    check_encodable(argument, checked)
    return checked


def extended_row_names(
    known: RowNames | None, fresh: tuple[str, ...] | None, row_ids: Int
) -> GrowingNames | None:
    """Return the names of known and new rows, in this order; a row without a name gets its id.

    Parameters
    ----------
    known, fresh : names, or None if those rows have no names
    row_ids : ndarray of int64
        Ids of all rows, the new ones last.

    Examples
    --------
    >>> extended_row_names(None, ("c",), np.array([0, 4, 5])).as_tuple
    ('0', '4', 'c')
    """
    if known is None and fresh is None:
        return None
    n_known = len(row_ids) - len(fresh) if known is None and fresh is not None else len(known or ())
    if known is None:
        known = tuple(map(str, row_ids[:n_known].tolist()))
    if fresh is None:
        fresh = tuple(map(str, row_ids[n_known:].tolist()))
    growing = known if isinstance(known, GrowingNames) else GrowingNames.of(known)
    return growing.extended(fresh)


def row_name(names: tuple[str, ...] | None, row_ids: Int, place: int) -> str:
    """Return the name of the training row at a place, or its id if rows have no names."""
    return str(row_ids[place]) if names is None else names[place]


def packed_names(names: RowNames | None) -> State:
    """Return names as two arrays, which take less space in a file than a list.

    Examples
    --------
    >>> unpacked_names({"row_names": packed_names(("é", "", "b"))}, n_rows=3)
    ('é', '', 'b')
    """
    if names is None:
        return None
    encoded = [name.encode() for name in names]
    lengths = np.array([len(name) for name in encoded], dtype=np.int64)
    return {"utf8": np.frombuffer(b"".join(encoded), dtype=np.uint8), "lengths": lengths}


def unpacked_names(state: Mapping[str, State], n_rows: int) -> tuple[str, ...] | None:
    """Return the names under ``row_names``, checked; None if the model was saved without."""
    if state.get("row_names") is None:
        return None
    packed = read_part(state, "row_names", dict)
    lengths = read_array(packed, "lengths", np.int64, (n_rows,))
    utf8 = read_array(packed, "utf8", np.uint8, (None,))
    ends = np.cumsum(lengths)
    if lengths.min(initial=0) < 0 or lengths.max(initial=0) > len(utf8):
        raise ModelFormatError("row_names: expected lengths from 0 to the number of bytes")
    if (int(ends[-1]) if n_rows else 0) != len(utf8):
        total = int(ends[-1]) if n_rows else 0
        raise ModelFormatError(
            f"row_names: expected lengths that add up to {len(utf8)}, got {total}"
        )
    stored, starts = utf8.tobytes(), ends - lengths
    try:
        return tuple(
            stored[start:end].decode()
            for start, end in zip(starts.tolist(), ends.tolist(), strict=True)
        )
    except UnicodeDecodeError:
        raise ModelFormatError("row_names: expected UTF-8") from None
