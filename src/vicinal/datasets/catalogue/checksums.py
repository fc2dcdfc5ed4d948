"""SHA-256 checksums of known files, and of files first seen in a download."""

import hashlib
from functools import cache
from pathlib import Path

from vicinal._base.errors import DataFormatError

_LIST = Path(__file__).with_name("SHA256SUMS")
_BESIDE = ".sha256"


def known_checksum(folder: str, file: str) -> str | None:
    """Return the SHA-256 of a file of the catalogue in hexadecimal, or None if it is unknown.

    Examples
    --------
    >>> known_checksum("emotions", "emotions.xml")[:8], known_checksum("mediamill", "x")
    ('dbce8e6c', None)
    """
    return _sums().get(f"{folder}/{file}")


def record_checksum(path: Path) -> None:
    """Store the checksum of a file next to it, so that later changes are detected."""
    line = f"{sha256(path)}  {path.name}\n"
    path.with_name(path.name + _BESIDE).write_text(line, encoding="utf-8")


def verify(path: Path, folder: str) -> None:
    """Raise if the checksum differs from the known or recorded one.

    A file without a known or recorded checksum is accepted.
    """
    beside = path.with_name(path.name + _BESIDE)
    wanted = known_checksum(folder, path.name)
    if wanted is None and beside.is_file():
        wanted = beside.read_text(encoding="utf-8").split()[0]
    if wanted is not None and (got := sha256(path)) != wanted:
        raise DataFormatError(str(path), f"SHA-256 {wanted}", got)


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@cache
def _sums() -> dict[str, str]:
    """Read the list: the sum, two spaces, folder and file, as ``sha256sum`` writes it."""
    lines = _LIST.read_text(encoding="utf-8").splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
