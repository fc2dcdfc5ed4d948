"""The text of each row: one column, or several joined by line breaks."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from vicinal._base.log import logger
from vicinal.datasets.tables.records import MISSING, Records

Text: TypeAlias = str | list[str]
"""A text, or a list of its tokens."""


def row_texts(records: Records, columns: Sequence[str]) -> list[Text]:
    """Return the text of each row, or its tokens if the only column contains lists.

    Of several columns, some may be null in a row, or absent from it; a note says so.
    """
    if len(columns) == 1:
        (column,) = columns
        return [_text(records, at, column, cell) for at, cell in enumerate(records.cells(column))]
    records.require_one(columns)
    some_lack_cells = False
    texts: list[Text] = []
    for at in range(records.n_rows):
        cells = {column: records.columns[column][at] for column in columns}
        given = {name: cell for name, cell in cells.items() if not _is_absent(cell)}
        some_lack_cells |= len(given) < len(columns)
        texts.append(_joined(records, at, given or cells))
    if some_lack_cells:
        named = ", ".join(map(repr, columns))
        logger.info(
            "texts from columns %s, of which some rows lack one (--text changes this)", named
        )
    return texts


def _is_absent(cell: Any) -> bool:
    """Tell whether a row has no such cell, or a null."""
    return cell is None or cell is MISSING


def _text(records: Records, at: int, column: str, value: Any) -> Text:
    """Return the text or the tokens of one row."""
    tokens = json_list(value) if isinstance(value, str) else value
    if isinstance(tokens, list) and all(isinstance(token, str) for token in tokens):
        return tokens
    return _joined(records, at, {column: value})


def _joined(records: Records, at: int, cells: Mapping[str, Any]) -> str:
    """Return the cells of a row, which must be texts, on a line each."""
    for column, value in cells.items():
        if not isinstance(value, str):
            got = "a row without it" if value is MISSING else repr(value)
            raise records.error(at, f"text in {column!r}", got)
    return "\n".join(cells.values())


def json_list(cell: str) -> Any:
    """Return the JSON list in a cell, or None if there is none."""
    if not (cell.startswith("[") and cell.endswith("]")):
        return None
    try:
        return json.loads(cell)
    except (ValueError, RecursionError):
        return None
