"""Rows of JSON lines, of a JSON array of objects, and of an object of columns."""

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from vicinal._base.errors import DataFormatError
from vicinal.datasets.files import FilePath, bare_name
from vicinal.datasets.tables.records import MOST_CHARACTERS, Record, Records, gather

LINE_ENDINGS = (".jsonl", ".ndjson")
JSON_ENDINGS = (*LINE_ENDINGS, ".json")
ROW_KEYS = ("data", "rows", "records", "items", "documents", "examples")
"""Where an object that is a whole table may hold its rows."""


def json_records(content: str, path: FilePath) -> Records:
    """Return the rows of a JSON file: one object per line, or an array of objects."""
    if is_array(content):
        return gather(path, array_rows([content], path))
    document = None if is_lines(path) else table_document(content)
    if document is not None:
        return gather(path, document)
    return gather(path, line_records(io.StringIO(content, newline="\n"), path))


def is_array(content: str) -> bool:
    """Tell whether content, or its beginning, is one array of objects, which may span lines."""
    start = content.lstrip()
    return start.startswith("[") and start[1:].lstrip()[:1] in ("{", "]", "")


def is_lines(path: FilePath) -> bool:
    """Tell whether a file name promises one object per line, whatever the objects hold."""
    return bare_name(path).lower().endswith(LINE_ENDINGS)


def table_document(content: str) -> list[Record] | None:
    """Return the rows of one JSON object that holds a whole table; None where it holds none.

    An object of columns, as pandas writes it (each a list, or an object by row), or an object with
    the list of rows under ``data``, ``rows``, ``records`` or the like. A row's line is its number.

    Examples
    --------
    >>> table_document('{"text": {"0": "a", "1": "b"}, "tags": {"0": "x", "1": "y"}}')[1]
    Record(cells={'text': 'b', 'tags': 'y'}, line=2)
    >>> [row.cells for row in table_document('{"data": [{"text": "a"}], "version": 1}')]
    [{'text': 'a'}]
    >>> table_document('{"text": "a", "tags": ["x"]}') is None
    True
    """
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not value:
        return None
    for key in ROW_KEYS:
        rows = value.get(key)
        if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
            return [Record(row, at) for at, row in enumerate(rows, start=1)]
    columns = list(value.values())
    if all(isinstance(column, dict) for column in columns):
        columns = [
            list(column.values()) for column in columns if column.keys() == columns[0].keys()
        ]
    if not all(isinstance(column, list) for column in columns) or len(columns) < len(value):
        return None
    if len({len(column) for column in columns}) != 1:
        return None
    rows_of = zip(*columns, strict=True)
    return [Record(dict(zip(value, cells, strict=True)), at) for at, cells in enumerate(rows_of, 1)]


def array_rows(pieces: Iterable[str], path: FilePath) -> Iterator[Record]:
    """Yield the objects of an array that comes in pieces, each with the line it begins on.

    Memory: one object and one piece.
    """
    decoder = json.JSONDecoder()
    buffer = _Pieces(pieces)
    buffer.skip("[")
    while True:
        buffer.skip(",")
        if buffer.text[buffer.at : buffer.at + 1] == "]":
            return
        while True:
            try:
                values, end = decoder.raw_decode(buffer.text, buffer.at)
                break
            except (ValueError, RecursionError) as error:
                is_long = len(buffer.text) - buffer.at > MOST_CHARACTERS
                if is_long or not buffer.more():
                    got = str(error)[:80]
                    raise DataFormatError(str(path), "a JSON object", got, buffer.line) from None
        _check_size(end - buffer.at, path, buffer.line)
        yield Record(_object(values, path, buffer.line), buffer.line)
        buffer.at = end


class _Pieces:
    """The part of a text that is being read: what is done with is dropped."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self.text, self.at, self._counted = "", 0, 0
        self.line = 1

    def more(self) -> bool:
        """Append a piece; tell whether there was one."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self.text = self.text[self.at :] + piece
        self._counted -= self.at
        self.at = 0
        return True

    def skip(self, sign: str) -> None:
        """Go past blanks and a sign, and count the lines up to there."""
        while True:
            while self.at < len(self.text) and (
                self.text[self.at].isspace() or self.text[self.at] == sign
            ):
                self.at += 1
            self.line += self.text.count("\n", self._counted, self.at)
            self._counted = self.at
            if self.at < len(self.text) or not self.more():
                return


def line_records(lines: Iterable[str], path: FilePath) -> Iterator[Record]:
    """Yield the objects of JSON lines; blank lines are skipped."""
    for line, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        _check_size(len(text), path, line)
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataFormatError(str(path), "a JSON object", str(error)[:80], line) from None
        yield Record(_object(values, path, line), line)


def _object(values: Any, path: FilePath, line: int) -> dict[str, Any]:
    """Return a row after checking that it is an object."""
    if not isinstance(values, dict):
        raise DataFormatError(str(path), "a JSON object", type(values).__name__, line)
    return values


def _check_size(size: int, path: FilePath, line: int) -> None:
    """Raise if a row is too long."""
    if size > MOST_CHARACTERS:
        expected = f"lines of at most {MOST_CHARACTERS} characters"
        raise DataFormatError(str(path), expected, f"one of {size}", line)
