"""Files in and out: compression, the limit on unpacked bytes, encodings."""

from collections.abc import Iterable
from os import PathLike
from typing import TypeAlias

FilePath: TypeAlias = str | PathLike[str]

DEFAULT_MAX_BYTES = 2**32
"""Most bytes a file may unpack to unless the caller says otherwise: 4 GiB."""


def open_data(path: FilePath, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """Return the content of a file, unpacked where it is .gz, .bz2 or .xz."""
    raise NotImplementedError


def open_text(
    path: FilePath, *, encoding: str = "utf-8", max_bytes: int = DEFAULT_MAX_BYTES
) -> str:
    """Return the content of a text file, unpacked and decoded."""
    raise NotImplementedError


def bare_name(path: FilePath) -> str:
    """Return the file name without folder and without the ending that says it is packed."""
    raise NotImplementedError


def write_data(path: FilePath, chunks: Iterable[str | bytes]) -> None:
    """Write text or bytes, packed as the ending says, beside the file and renamed into place."""
    raise NotImplementedError
