"""Rows of JSON lines, of a JSON array of objects, and of an object of columns."""

import io
import json
from collections.abc import Iterable, Iterator
from typing import Any

from vicinal._base.errors import DataFormatError
from vicinal.datasets.files import FilePath
from vicinal.datasets.tables.records import MOST_CHARACTERS, Record, Records, gather

JSON_ENDINGS = (".jsonl", ".ndjson", ".json")


def json_records(content: str, path: FilePath) -> Records:
    """Return the rows of a JSON file: one object per line, or an array of objects."""
    if is_array(content):
        return gather(path, array_rows([content], path))
    return gather(path, line_records(io.StringIO(content, newline="\n"), path))


def is_array(content: str) -> bool:
    """Tell whether content, or its beginning, is one array of objects, which may span lines."""
    start = content.lstrip()
    return start.startswith("[") and start[1:].lstrip()[:1] in ("{", "]", "")


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
