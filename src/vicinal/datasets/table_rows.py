"""The rows of JSONL, CSV and TSV files, each with the line it stands on."""

import csv
import io
import json
import threading
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal.datasets.files import FilePath, bare_name, open_text

JSON_ENDINGS = (".jsonl", ".ndjson")
DELIMITERS = {".csv": ",", ".tsv": "\t"}

MOST_CHARACTERS = 2**24
"""Longest cell of a CSV or TSV file and longest line of a JSONL file that is read."""

# The csv module keeps its limit on the length of a cell for the whole process.
_cell_limit = threading.Lock()


class Row(NamedTuple):
    """A row: its values by column, and its line, counted from 1."""

    values: Mapping[str, Any]
    line: int


class Rows:
    """The rows of a table, held by column: 8 bytes a cell and a row besides the cells themselves.

    Examples
    --------
    >>> rows = Rows(["text"], [Row({"text": "red"}, 2), Row({"text": "blue"}, 5)])
    >>> [(row.values["text"], row.line) for row in rows]
    [('red', 2), ('blue', 5)]
    """

    def __init__(self, columns: Sequence[str], rows: Iterable[Row]) -> None:
        self.cells: dict[str, list[Any]] = {column: [] for column in columns}
        self._lines = array("q")
        for row in rows:
            for column, cells in self.cells.items():
                cells.append(row.values[column])
            self._lines.append(row.line)

    def __len__(self) -> int:
        """Count the rows."""
        return len(self._lines)

    def __iter__(self) -> Iterator[Row]:
        """Yield the rows in order."""
        for at, line in enumerate(self._lines):
            yield Row({column: cells[at] for column, cells in self.cells.items()}, line)


def table_ending(path: FilePath) -> str:
    """Return which kind of table a file name promises: ``.jsonl``, ``.csv`` or ``.tsv``."""
    name = bare_name(path).lower()
    for ending in (*JSON_ENDINGS, *DELIMITERS):
        if name.endswith(ending):
            return ending
    wanted = ", ".join((*JSON_ENDINGS, *DELIMITERS))
    raise InvalidArgumentError("path", f"a name that ends in {wanted}", str(path))


def read_rows(
    path: FilePath,
    wanted: Sequence[str],
    columns: Sequence[str] | None,
    quoting: bool,
    encoding: str,
    max_bytes: int,
) -> Rows:
    """Return the rows of a table; each has the `wanted` columns."""
    ending = table_ending(path)
    content = open_text(path, encoding=encoding, max_bytes=max_bytes)
    if not content.strip():
        raise DataFormatError(str(path), "rows of a table", "an empty file")
    if ending in JSON_ENDINGS:
        rows = Rows(wanted, _json_rows(content, wanted, path))
    else:
        with _cell_limit:
            before = csv.field_size_limit(MOST_CHARACTERS)
            try:
                found = _cell_rows(content, DELIMITERS[ending], wanted, columns, quoting, path)
                rows = Rows(wanted, found)
            finally:
                csv.field_size_limit(before)
    if not len(rows):
        raise DataFormatError(str(path), "rows of a table", "a header only")
    return rows


def _json_rows(content: str, wanted: Sequence[str], path: FilePath) -> Iterator[Row]:
    """Yield the objects of a JSONL file; blank lines are passed over."""
    for line, text in enumerate(io.StringIO(content, newline="\n"), start=1):
        if not text.strip():
            continue
        if len(text) > MOST_CHARACTERS:
            expected = f"lines of at most {MOST_CHARACTERS} characters"
            raise DataFormatError(str(path), expected, f"one of {len(text)}", line)
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataFormatError(str(path), "a JSON object", str(error), line) from None
        if not isinstance(values, dict):
            raise DataFormatError(str(path), "a JSON object", type(values).__name__, line)
        _require(values, wanted, path, line)
        yield Row({column: values[column] for column in wanted}, line)


def _require(
    present: Sequence[str] | Mapping[str, Any], wanted: Sequence[str], path: FilePath, line: int
) -> None:
    """Check that every column wanted is there."""
    for column in wanted:
        if column not in present:
            got = "columns " + ", ".join(map(repr, present))
            raise DataFormatError(str(path), f"a column {column!r}", got[:200], line)


def _cell_rows(
    content: str,
    delimiter: str,
    wanted: Sequence[str],
    columns: Sequence[str] | None,
    quoting: bool,
    path: FilePath,
) -> Iterator[Row]:
    """Yield the rows of a CSV or TSV file; `columns` stands in for a header that is not there."""
    reader = csv.reader(
        io.StringIO(content, newline=""),
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
        strict=True,
    )
    header = columns
    try:
        for cells in reader:
            if not cells:
                continue
            if header is None:
                header = _header(cells, path, reader.line_num)
            elif len(cells) != len(header):
                expected = f"{len(header)} cells, one a column"
                raise DataFormatError(str(path), expected, str(len(cells)), reader.line_num)
            else:
                values = dict(zip(header, cells, strict=True))
                _require(values, wanted, path, reader.line_num)
                yield Row({column: values[column] for column in wanted}, reader.line_num)
    except csv.Error as error:
        line = reader.line_num
        raise DataFormatError(str(path), "cells of a table", str(error), line) from None


def _header(cells: list[str], path: FilePath, line: int) -> list[str]:
    """Return the names of the columns, which must differ."""
    if len(set(cells)) != len(cells):
        raise DataFormatError(str(path), "columns of different names", repr(cells)[:200], line)
    return cells
