"""Append-only files of JSON lines that survive an interruption at any byte.

If the machine crashes while a line is written, the line has no end. Such an incomplete line is
skipped when the file is read and removed when the next line is added. Several processes may append
to one file; they wait for each other, so that none mistakes a line being written for an incomplete
one. Anything else that is not a JSON object is an error: the file belongs to another program or is
damaged, and is not changed.
"""

import json
import math
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

from vicinal._base.durable import naming, sync_folder
from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal._base.file_lock import lock, unlock

Item = TypeVar("Item")

_NOT_AS_EXPECTED = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""Exceptions that reading a damaged line, or one from another program, may raise."""


def without_nan(value: object) -> object:
    """Return nested values with None for NaN and infinity, which JSON does not support.

    Examples
    --------
    >>> without_nan({"mean": float("nan"), "folds": [0.5, float("inf")]})
    {'mean': None, 'folds': [0.5, None]}
    """
    if isinstance(value, Mapping):
        return {key: without_nan(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [without_nan(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def append_json_line(path: Path, parts: Mapping[str, Any]) -> None:
    """Append a line to a file, which need not exist yet; it is on disk when this returns.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "new" / "lines.jsonl"
    ...     append_json_line(path, {"k": 1})
    ...     append_json_line(path, {"k": 2})
    ...     list(read_json_lines(path, "a number", lambda parts: parts["k"]))
    [1, 2]
    """
    line = json.dumps(parts, ensure_ascii=False, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with naming(path), path.open("a+b") as file:
        lock(file.fileno())
        try:
            _append(file, line.encode())
        finally:
            unlock(file.fileno())
    if is_new:
        sync_folder(path.parent)


def _append(file: IO[bytes], line: bytes) -> None:
    """Append a line after the last complete line."""
    rest = _after_last_line(file.fileno())
    if _is_torn(rest):
        os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size - len(rest))
    elif rest:
        file.write(b"\n")
    file.write(line)
    file.flush()
    os.fsync(file.fileno())


def read_json_lines(
    path: Path, expected: str, read: Callable[[dict[str, Any]], Item]
) -> Iterator[Item]:
    """Yield the result of `read` for each line of a file; nothing if there is no file.

    Parameters
    ----------
    path : Path
    expected : str
        What a line contains, for error messages, which name path and line.
    read : callable
        Takes the JSON object of a line; raises ``ValueError`` if it is not as expected.
    """
    if not path.exists():
        return
    *lines, rest = path.read_bytes().split(b"\n")
    if rest and not _is_torn(rest):
        lines.append(rest)
    for number, line in enumerate(lines, start=1):
        try:
            item = read(_parsed(line))
        except _NOT_AS_EXPECTED as error:
            raise DataFormatError(str(path), expected, str(error), number) from None
        yield item


def _parsed(line: bytes) -> dict[str, Any]:
    """Return the JSON object of a line."""
    parts = json.loads(line)
    if not isinstance(parts, dict):
        raise InvalidArgumentError("line", "a JSON object", type(parts).__name__)
    return parts


def _is_torn(rest: bytes) -> bool:
    """Tell whether the end of a file is an object whose writing was interrupted."""
    if not rest.startswith(b"{"):
        return False
    try:
        json.loads(rest)
    except (ValueError, RecursionError):
        return True
    return False


def _after_last_line(file: int) -> bytes:
    """Return the text after the last line break; only one byte is read if there is none."""
    size = os.fstat(file).st_size
    if not size or os.pread(file, 1, size - 1) == b"\n":
        return b""
    return os.pread(file, size, 0).rpartition(b"\n")[2]
