"""Files of names, one per line, and generated names of columns that have none."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from vicinal._base.errors import DataFormatError
from vicinal.datasets.files import FilePath, open_text, write_data
from vicinal.datasets.lazy_names import NumberedNames

MAX_NUMBERED = 10_000_000
"""Maximum number of columns with generated names, so that a damaged count cannot exhaust memory."""


def numbered(count: int, what: str, path: FilePath) -> NumberedNames:
    """Return generated names, which consist of `what` and the number of the column, from 0.

    Examples
    --------
    >>> list(numbered(3, "label", "data.txt"))
    ['label0', 'label1', 'label2']
    """
    if count > MAX_NUMBERED:
        expected = f"at most {MAX_NUMBERED} {what}s without a file of their names"
        raise DataFormatError(str(path), expected, str(count))
    return NumberedNames(what, count)


def is_numbered(names: Sequence[str], what: str) -> bool:
    """Tell whether names are those that :func:`numbered` generates.

    Examples
    --------
    >>> is_numbered(["label0", "label1"], "label"), is_numbered(["label1", "sad"], "label")
    (True, False)
    """
    if isinstance(names, NumberedNames) and names.what == what:
        return True
    return all(name == f"{what}{i}" for i, name in enumerate(names))


def read_names(
    path: FilePath, count: int, what: str, encoding: str, max_bytes: int
) -> tuple[str, ...]:
    """Read the names of `count` columns, one per line; JSON strings are decoded."""
    lines = open_text(path, encoding=encoding, max_bytes=max_bytes).split("\n")
    if not lines[-1]:
        lines.pop()
    if len(lines) != count:
        raise DataFormatError(str(path), f"{count} {what} names, one per line", str(len(lines)))
    return tuple(map(_decoded, lines))


def _decoded(line: str) -> str:
    """Return the name in a line."""
    line = line.removesuffix("\r")
    if len(line) < 2 or line[0] != '"' or line[-1] != '"':
        return line
    try:
        name = json.loads(line)
        name.encode()
    except ValueError:
        return line
    return str(name)


def write_names(path: FilePath, names: Iterable[str]) -> None:
    """Write one name per line, as a JSON string if it could not be read back otherwise."""
    write_data(path, (f"{_encoded(name)}\n" for name in names))


def _encoded(name: str) -> str:
    """Return the line for a name."""
    if "\n" in name or "\r" in name or name.startswith(('"', "\ufeff")):
        return json.dumps(name)
    return name


def find_beside(path: FilePath, names: Iterable[str]) -> Path | None:
    """Return the first of `names` that is a file in the folder of `path`, ignoring case."""
    folder = Path(path).parent
    if not folder.is_dir():
        return None
    present = {entry.name.lower(): entry for entry in sorted(folder.iterdir(), reverse=True)}
    for name in names:
        found = present.get(name.lower())
        if found is not None and found.is_file():
            return found
    return None
