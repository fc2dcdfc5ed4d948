"""What the cells of a table say: a row's text and its labels."""

import json
from collections.abc import Sequence
from typing import Any

from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal.datasets.bag_of_words import Text
from vicinal.datasets.files import FilePath
from vicinal.datasets.table_rows import Row


def text_columns(text: str | Sequence[str]) -> tuple[str, ...]:
    """Return the columns whose texts are joined."""
    parts = (text,) if isinstance(text, str) else tuple(text)
    if not parts:
        raise InvalidArgumentError("text", "a column or several", "none")
    return parts


def text_cell(row: Row, parts: Sequence[str], path: FilePath) -> Text:
    """Return the text of a row, or its tokens where they are listed."""
    if len(parts) == 1:
        value = row.values[parts[0]]
        tokens = _json_list(value) if isinstance(value, str) else value
        if isinstance(tokens, list) and all(isinstance(token, str) for token in tokens):
            return tokens
    for part in parts:
        if not isinstance(row.values[part], str):
            expected = f"text in {part!r}"
            raise DataFormatError(str(path), expected, repr(row.values[part])[:60], row.line)
    return "\n".join(row.values[part] for part in parts)


def _json_list(cell: str) -> Any:
    """Return the list a cell holds as JSON, else None."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None


def label_cell(row: Row, column: str, separator: str | None, path: FilePath) -> list[str]:
    """Return the labels of a row, each once."""
    value = row.values[column]
    if isinstance(value, str):
        listed = _json_list(value) if separator is None else None
        value = _parted(value, separator or ",") if listed is None else listed
    if isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, list):
        raise DataFormatError(str(path), f"labels in {column!r}", repr(value)[:60], row.line)
    for label in value:
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise DataFormatError(str(path), "a label's name", repr(label)[:60], row.line)
    return list(dict.fromkeys(map(str, value)))


def _parted(cell: str, separator: str) -> list[str]:
    """Return the names in a cell, without the blanks around them."""
    return [name.strip() for name in cell.split(separator) if name.strip()]
