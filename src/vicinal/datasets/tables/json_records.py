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
    if _is_array(content):
        return gather(path, _array_rows(content, path))
    return gather(path, line_records(io.StringIO(content, newline="\n"), path))


def _is_array(content: str) -> bool:
    """Tell whether the content is one array of objects, which may span lines."""
    start = content.lstrip()
    return start.startswith("[") and start[1:].lstrip()[:1] in ("{", "]", "")


def _array_rows(content: str, path: FilePath) -> Iterator[Record]:
    """Yield the objects of an array, each with the line it begins on."""
    decoder = json.JSONDecoder()
    at, line, counted = content.index("[") + 1, 1, 0
    while True:
        while at < len(content) and (content[at].isspace() or content[at] == ","):
            at += 1
        line, counted = line + content.count("\n", counted, at), at
        if content[at : at + 1] == "]":
            return
        try:
            values, end = decoder.raw_decode(content, at)
        except (ValueError, RecursionError) as error:
            raise DataFormatError(str(path), "a JSON object", str(error)[:80], line) from None
        _check_size(end - at, path, line)
        yield Record(_object(values, path, line), line)
        at = end


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
