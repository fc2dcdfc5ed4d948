"""Rows of CSV and TSV files."""

import csv
import io
import itertools
import re
import threading
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from vicinal._base.errors import DataFormatError
from vicinal.datasets.files import FilePath
from vicinal.datasets.tables.delimiters import SAMPLED_LINES, detect_delimiter
from vicinal.datasets.tables.options import TableOptions
from vicinal.datasets.tables.records import MOST_CHARACTERS, Record, Records, gather

DELIMITERS = {".csv": ",", ".tsv": "\t"}
_EXCEL_HINT = re.compile(r"\A\s*\"?sep=(.)\"?\r?\n")

# The csv module keeps its limit on the length of a cell for the whole process.
_cell_limit = threading.Lock()


def csv_records(
    content: str, path: FilePath, options: TableOptions, usual: str, wanted: Sequence[str]
) -> Records:
    """Return the rows of a CSV file.

    Parameters
    ----------
    content : str
    path : path
    options : TableOptions
    usual : str
        The delimiter to prefer: that of the extension or of an earlier file of the same kind.
    wanted : sequence of str
        Columns that the file must have; they help to detect the delimiter.
    """
    rows = csv_rows(io.StringIO(content, newline=""), path, options, usual, wanted)
    with long_cells():
        return gather(path, rows, rows.header, **rows.facts)


@contextmanager
def long_cells() -> Iterator[None]:
    """Let the csv module read cells of up to :data:`MOST_CHARACTERS` within."""
    with _cell_limit:
        before = csv.field_size_limit(MOST_CHARACTERS)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def csv_rows(
    lines: Iterable[str], path: FilePath, options: TableOptions, usual: str, wanted: Sequence[str]
) -> "CsvRows":
    """Return the rows of a CSV file, read line by line as they are asked for.

    Parameters
    ----------
    lines : iterable of str
        Lines with their ends; an empty first line does no harm.
    path, options, usual, wanted
        As for :func:`csv_records`.
    """
    remaining = iter(lines)
    head = "".join(itertools.islice(remaining, SAMPLED_LINES))
    hint = _EXCEL_HINT.match(head)  # Excel's own way of telling the delimiter
    head = head if hint is None else head[hint.end() :]
    delimiter = options.delimiter or (hint.group(1) if hint else None)
    with long_cells():
        if delimiter is None:
            delimiter = detect_delimiter(head, usual, wanted, quoting=options.quoting, path=path)
        every = itertools.chain(io.StringIO(head, newline=""), remaining)
        return CsvRows(every, delimiter, options, path, 1 if hint is None else 2)


class CsvRows:
    """The header of a CSV file, and its rows as an iterator."""

    def __init__(
        self,
        lines: Iterable[str],
        delimiter: str,
        options: TableOptions,
        path: FilePath,
        first: int,
    ) -> None:
        self._path, self._first, self._delimiter = path, first, delimiter
        self._reader = csv.reader(
            lines,
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if options.quoting else csv.QUOTE_NONE,
            strict=True,
        )
        self.header_line: int | None = None
        self.header = list(options.columns) if options.columns is not None else self._header()
        counts = Counter(self.header)
        self._repeated = {name: count for name, count in counts.items() if count > 1}

    def __iter__(self) -> Iterator[Record]:
        """Yield the rows; blank lines are skipped."""
        width = len(self.header)
        while (cells := self._next()) is not None:
            if len(cells) != width:
                expected = f"{width} cells, one per column"
                raise DataFormatError(str(self._path), expected, str(len(cells)), self._line)
            yield Record(self._by_column(cells), self._line)

    def _by_column(self, cells: Sequence[str]) -> dict[str, Any]:
        """Return the cells of a row by column; those of columns of one name as a list."""
        found: dict[str, Any] = dict(zip(self.header, cells, strict=True))
        if self._repeated:
            found |= {name: [] for name in self._repeated}
            for name, cell in zip(self.header, cells, strict=True):
                if name in self._repeated:
                    found[name].append(cell)
        return found

    @property
    def facts(self) -> dict[str, Any]:
        """What a table of these rows keeps besides them."""
        return {
            "header_line": self.header_line,
            "delimiter": self._delimiter,
            "repeated": self._repeated,
        }

    @property
    def _line(self) -> int:
        """The number of the current line."""
        return self._reader.line_num + self._first - 1

    def _next(self) -> list[str] | None:
        """Return the cells of the next row that is not blank."""
        try:
            return next((cells for cells in self._reader if cells), None)
        except csv.Error as error:
            expected = (
                "cells of a table, in quotes as a whole or not at all (quoting=False, "
                "--no-quotes: quotes are characters like others)"
            )
            raise DataFormatError(str(self._path), expected, str(error), self._line) from None

    def _header(self) -> list[str]:
        """Return the names of the columns."""
        cells = self._next()
        if cells is None:
            raise DataFormatError(str(self._path), "rows of a table", "an empty file")
        self.header_line = self._line
        return [cell.strip() for cell in cells]
