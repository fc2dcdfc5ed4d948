"""Lines of text and of JSON, with the number of the line that is wrong."""

import json
from pathlib import Path
from typing import Any

from vicinal._base.errors import DataFormatError
from vicinal.datasets.files import open_text


def text_lines(path: Path, max_bytes: int) -> list[str]:
    """Split a file at newlines alone: a title may hold other characters that count as line ends."""
    return open_text(path, max_bytes=max_bytes).removesuffix("\n").split("\n")


def json_lines(path: Path, keys: tuple[str, ...], max_bytes: int) -> list[dict[str, Any]]:
    """Read one object a line and keep the `keys` of each, all of which must be there."""
    records = []
    for line_number, line in enumerate(text_lines(path, max_bytes), 1):
        try:
            record = json.loads(line)
            records.append({key: record[key] for key in keys})
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            expected = f"a JSON object with {', '.join(keys)}"
            raise DataFormatError(str(path), expected, repr(error), line_number) from None
    return records
