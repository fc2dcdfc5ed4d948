"""Column names that are generated on demand.

A header of a few bytes can declare ten million columns, and a nominal attribute with a long name
has one column per value. Lazy names take no memory until they are read.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload


class LazyNames(Sequence[str]):
    """A sequence of generated names; equal to a tuple of the same names."""

    @abstractmethod
    def name(self, column: int) -> str:
        """Return the name of a column, whose number is not negative."""

    @overload
    def __getitem__(self, column: int) -> str: ...

    @overload
    def __getitem__(self, column: slice) -> Sequence[str]: ...

    def __getitem__(self, column: int | slice) -> str | Sequence[str]:
        """Return one name, or a tuple for a slice."""
        columns = range(len(self))[column]
        if isinstance(columns, range):
            return tuple(self.name(each) for each in columns)
        return self.name(columns)

    def __add__(self, others: Sequence[str]) -> tuple[str, ...]:
        """Return a tuple of these names followed by others."""
        return (*self, *others)

    def __radd__(self, others: Sequence[str]) -> tuple[str, ...]:
        """Return a tuple of other names followed by these."""
        return (*others, *self)

    def __eq__(self, other: object) -> bool:
        """Compare with any sequence, name by name."""
        if not isinstance(other, LazyNames | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        """Hash as the tuple of the names."""
        return hash(tuple(self))


@dataclass(frozen=True, eq=False)
class NumberedNames(LazyNames):
    """Names that consist of a word and the number of the column, from 0.

    Examples
    --------
    >>> names = NumberedNames("label", 10_000_000)
    >>> names[0], names[-1], names[1:3]
    ('label0', 'label9999999', ('label1', 'label2'))
    >>> NumberedNames("label", 2) == ("label0", "label1")
    True
    """

    what: str
    n_columns: int

    def __len__(self) -> int:
        """Count the columns."""
        return self.n_columns

    def name(self, column: int) -> str:
        """Return the name of a column."""
        return f"{self.what}{column}"


@dataclass(frozen=True, eq=False)
class ValueNames(LazyNames):
    """Names of attributes, and ``attribute=value`` for columns of nominal values.

    Examples
    --------
    >>> list(ValueNames(["size", ("colour", "red"), ("colour", "blue")]))
    ['size', 'colour=red', 'colour=blue']
    """

    parts: Sequence[str | tuple[str, str]]

    def __len__(self) -> int:
        """Count the columns."""
        return len(self.parts)

    def name(self, column: int) -> str:
        """Return the name of a column."""
        part = self.parts[column]
        return part if isinstance(part, str) else f"{part[0]}={part[1]}"
