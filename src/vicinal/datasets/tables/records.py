"""The cells of a table by column, and the line number of each row."""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from vicinal._base.errors import DataFormatError
from vicinal.datasets.files import FilePath

MOST_CHARACTERS = 2**24
"""Maximum length of a cell of a CSV file and of a line of a JSON file."""
MISSING = object()
"""Marks the cells of keys that a row of a JSON file lacks."""


class Record(NamedTuple):
    """A row: its cells by column, and its line number, which starts at 1."""

    cells: dict[str, Any]
    line: int


@dataclass
class Records:
    """A table by column. Memory: 8 bytes per cell and per row in addition to the cells themselves.

    Parameters
    ----------
    path : path
        The file, for messages.
    columns : dict of str to list
        The cells of each column: strings, or JSON and Parquet values.
    lines : array of int
        The line number of each row, or its row number if the format has no lines.
    header_line : int or None
        The line number of the header.
    encoding, delimiter : str or None
        As given or detected; None if the format has none.
    repeated : mapping of str to int
        How many columns of a CSV file have the same name, if several do; their cells are lists of
        the strings in these columns.
    """

    path: FilePath
    columns: dict[str, list[Any]]
    lines: Sequence[int]
    header_line: int | None = None
    encoding: str | None = None
    delimiter: str | None = None
    repeated: Mapping[str, int] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)

    @property
    def names(self) -> list[str]:
        """Names of the columns, in the order of the file."""
        return list(self.columns)

    def cells(self, column: str) -> list[Any]:
        """Return the cells of a column, or raise if a row lacks it or another has its name."""
        self.require_one([column])
        return self.cells_or_lists(column)

    def cells_or_lists(self, column: str) -> list[Any]:
        """Return the cells of a column, which are lists if it is among `repeated`."""
        self.require([column])
        found = self.columns[column]
        for at, cell in enumerate(found):
            if cell is MISSING:
                raise self.error(at, f"a column {column!r} in every row", "a row without it")
        return found

    def require(self, wanted: Iterable[str], option: str | None = None) -> None:
        """Raise if a column does not exist; the error names the line of the header."""
        for column in wanted:
            if column not in self.columns:
                how = "" if option is None else f" (see {option})"
                got = "columns " + ", ".join(map(repr, self.columns))
                raise DataFormatError(
                    str(self.path), f"a column {column!r}{how}", got[:200], self.header_line
                )

    def require_one(self, wanted: Iterable[str]) -> None:
        """Raise if a column does not exist, or if there are several of its name."""
        for column in wanted:
            self.require([column])
            if column in self.repeated:
                got = f"{self.repeated[column]} columns of that name"
                raise DataFormatError(
                    str(self.path), f"one column {column!r}", got, self.header_line
                )

    def error(self, at: int, expected: str, got: str) -> DataFormatError:
        """Return the error for a cell of row `at`."""
        return DataFormatError(str(self.path), expected, got[:80], self.lines[at])


def gather(
    path: FilePath, rows: Iterable[Record], names: Sequence[str] = (), **facts: Any
) -> Records:
    """Return rows by column, with :data:`MISSING` for the columns that a row lacks.

    Examples
    --------
    >>> found = gather("x.jsonl", [Record({"a": 1}, 1), Record({"b": 2}, 3)])
    >>> found.names, found.columns["b"][1], found.columns["b"][0] is MISSING
    (['a', 'b'], 2, True)
    """
    columns: dict[str, list[Any]] = {name: [] for name in names}
    lines = array("q")
    for row in rows:
        for name, cell in row.cells.items():
            column = columns.get(name)
            if column is None:
                column = columns[name] = [MISSING] * len(lines)
            column.append(cell)
        lines.append(row.line)
        if len(row.cells) < len(columns):
            for column in columns.values():
                if len(column) < len(lines):
                    column.append(MISSING)
    if not len(lines):
        raise DataFormatError(str(path), "rows of a table", "only a header" if names else "none")
    return Records(path, columns, lines, **facts)
