"""Rows of CSV and TSV files."""

import csv
import io
import re
import threading
from collections.abc import Iterator, Sequence

from vicinal._base.errors import DataFormatError
from vicinal.datasets.files import FilePath
from vicinal.datasets.tables.delimiters import detect_delimiter
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
    hint = _EXCEL_HINT.match(content)  # a line "sep=;" by which Excel states the delimiter
    first = 1 if hint is None else 2
    content = content if hint is None else content[hint.end() :]
    with _cell_limit:
        before = csv.field_size_limit(MOST_CHARACTERS)
        try:
            delimiter = options.delimiter or (hint.group(1) if hint else None)
            if delimiter is None:
                delimiter = detect_delimiter(
                    content, usual, wanted, quoting=options.quoting, path=path
                )
            rows = _Rows(content, delimiter, options, path, first)
            header = rows.header
            found = gather(path, rows, header, header_line=rows.header_line, delimiter=delimiter)
        finally:
            csv.field_size_limit(before)
    return found


class _Rows:
    """The header of a CSV file, and its rows as an iterator."""

    def __init__(
        self, content: str, delimiter: str, options: TableOptions, path: FilePath, first: int
    ) -> None:
        self._path, self._first = path, first
        self._reader = csv.reader(
            io.StringIO(content, newline=""),
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if options.quoting else csv.QUOTE_NONE,
            strict=True,
        )
        self.header_line: int | None = None
        self.header = list(options.columns) if options.columns is not None else self._header()

    def __iter__(self) -> Iterator[Record]:
        """Yield the rows; blank lines are skipped."""
        width = len(self.header)
        while (cells := self._next()) is not None:
            if len(cells) != width:
                expected = f"{width} cells, one per column"
                raise DataFormatError(str(self._path), expected, str(len(cells)), self._line)
            yield Record(dict(zip(self.header, cells, strict=True)), self._line)

    @property
    def _line(self) -> int:
        """The number of the current line."""
        return self._reader.line_num + self._first - 1

    def _next(self) -> list[str] | None:
        """Return the cells of the next row that is not blank."""
        try:
            return next((cells for cells in self._reader if cells), None)
        except csv.Error as error:
            expected = "cells of a table"
            raise DataFormatError(str(self._path), expected, str(error), self._line) from None

    def _header(self) -> list[str]:
        """Return the names of the columns, which must differ."""
        cells = self._next()
        if cells is None:
            raise DataFormatError(str(self._path), "rows of a table", "an empty file")
        names = [cell.strip() for cell in cells]
        self.header_line = self._line
        if len(set(names)) != len(names):
            expected = "columns of different names"
            raise DataFormatError(str(self._path), expected, repr(names)[:200], self._line)
        return names
