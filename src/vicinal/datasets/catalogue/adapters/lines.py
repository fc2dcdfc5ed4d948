"""Lines of text and of JSON, with the number of the line that is wrong."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vicinal._base.errors import DataFormatError
from vicinal.datasets.files import open_text

TEXT, TEXTS, ANY_TEXT = "a text", "a list of texts", "a text, a list of texts or null"


def text_lines(path: Path, max_bytes: int) -> list[str]:
    """Split a file only at newlines, as a title may contain other line-break characters."""
    return open_text(path, max_bytes=max_bytes).removesuffix("\n").split("\n")


def json_lines(path: Path, fields: Mapping[str, str], max_bytes: int) -> list[dict[str, Any]]:
    """Read one object per line; `fields` gives the expected type of each field to keep."""
    records = []
    for line_number, line in enumerate(text_lines(path, max_bytes), 1):
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise DataFormatError(str(path), "a JSON object", str(error), line_number) from None
        if not isinstance(record, dict):
            raise DataFormatError(str(path), "a JSON object", repr(record), line_number)
        for name, kind in fields.items():
            if name not in record or not _is(record[name], kind):
                got = repr(record[name])[:60] if name in record else "no such field"
                raise DataFormatError(str(path), f"{kind} in {name}", got, line_number)
        records.append({name: record[name] for name in fields})
    return records


def _is(value: object, kind: str) -> bool:
    """Tell whether a field has the expected type."""
    if isinstance(value, str):
        return kind in (TEXT, ANY_TEXT)
    if isinstance(value, list):
        return kind in (TEXTS, ANY_TEXT) and all(isinstance(one, str) for one in value)
    return value is None and kind == ANY_TEXT
