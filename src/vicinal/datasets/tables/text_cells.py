"""The text of each row: one column, or several joined by line breaks."""

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from vicinal.datasets.tables.records import Records

Text: TypeAlias = str | list[str]
"""A text, or a list of its tokens."""


def row_texts(records: Records, columns: Sequence[str]) -> list[Text]:
    """Return the text of each row, or its tokens if the only column contains lists."""
    cells = [records.cells(column) for column in columns]
    return [
        _text(records, at, columns, [column[at] for column in cells])
        for at in range(records.n_rows)
    ]


def _text(records: Records, at: int, columns: Sequence[str], values: Sequence[Any]) -> Text:
    """Return the text of one row."""
    if len(values) == 1:
        tokens = json_list(values[0]) if isinstance(values[0], str) else values[0]
        if isinstance(tokens, list) and all(isinstance(token, str) for token in tokens):
            return tokens
    for column, value in zip(columns, values, strict=True):
        if not isinstance(value, str):
            raise records.error(at, f"text in {column!r}", repr(value))
    return "\n".join(values)


def json_list(cell: str) -> Any:
    """Return the JSON list in a cell, or None if there is none."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None
