"""Decode the bytes of a table, with a given or detected encoding."""

import codecs
from typing import NamedTuple

from vicinal._base.errors import DataFormatError
from vicinal._base.log import logger
from vicinal.datasets.files import FilePath

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks; UTF-32 comes first, because its mark starts like that of UTF-16."""
WESTERN = "cp1252"
"""The encoding of Windows programs in Western Europe and America if they do not write UTF-8."""


class Decoded(NamedTuple):
    """A text and its original encoding."""

    text: str
    encoding: str


def decode_table(
    data: bytes, path: FilePath, encoding: str | None, fallback: str | None = None
) -> Decoded:
    """Return bytes as text.

    Parameters
    ----------
    data : bytes
    path : path
        For error messages.
    encoding : str or None
        The encoding; None to detect it: by a byte order mark, as UTF-16 without one (every other
        byte of most characters is 0), as UTF-8 if the bytes are valid, otherwise `fallback`.
    fallback : str or None
        Encoding of an earlier file of the same kind; None for cp1252.

    Examples
    --------
    >>> decode_table("Größe".encode("cp1252"), "x.csv", None)
    Decoded(text='Größe', encoding='cp1252')
    >>> decode_table("Größe".encode("utf-16"), "x.csv", None).encoding
    'utf-16'
    """
    if encoding is not None:
        return Decoded(_strict(data, path, encoding).removeprefix("\ufeff"), encoding)
    found = next((name for mark, name in MARKS if data.startswith(mark)), None) or _unmarked(data)
    if found is not None:
        return Decoded(_strict(data, path, found).removeprefix("\ufeff"), found)
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        chosen = fallback or WESTERN
        line = 1 + data.count(b"\n", 0, error.start)
        text = _strict(data, path, chosen)
        logger.info(
            "%s: line %d is not UTF-8; read as %s (--encoding changes this)", path, line, chosen
        )
        return Decoded(text, chosen)


def _unmarked(data: bytes) -> str | None:
    """Return the UTF-16 variant that the zero bytes of Latin letters indicate, or None."""
    head = data[:4096]
    if b"\0" not in head:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.4 * len(head) / 2 and even < odd / 10:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * len(head) / 2 and odd < even / 10 else None


def _strict(data: bytes, path: FilePath, encoding: str) -> str:
    """Return bytes as text, or raise an error that names the line that is not in `encoding`."""
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        byte = data[error.start] if error.start < len(data) else 0
        expected = f"text in {encoding} (set another with --encoding or encoding=)"
        raise DataFormatError(str(path), expected, f"byte 0x{byte:02x}", line) from None
