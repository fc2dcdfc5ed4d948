"""Decode the bytes of a table, with a given or detected encoding."""

import codecs
from collections.abc import Callable, Iterable
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
    found = find_encoding(lambda: [data], path, encoding, fallback)
    return Decoded(data.decode(found).removeprefix("\ufeff"), found)


def find_encoding(
    chunks: Callable[[], Iterable[bytes]],
    path: FilePath,
    encoding: str | None,
    fallback: str | None = None,
) -> str:
    """Return the encoding of bytes that come in chunks, all of which are valid in it.

    Parameters
    ----------
    chunks : callable
        Returns the bytes from the start; called again where they are not UTF-8.
    path, encoding, fallback
        As for :func:`decode_table`.
    """
    if encoding is None:
        head = next(iter(chunks()), b"")
        marked = next((name for mark, name in MARKS if head.startswith(mark)), None)
        encoding = marked or _unmarked(head)
    if encoding is not None:
        bad = _first_error(chunks(), encoding)
        if bad is not None:
            raise _not_in(encoding, path, *bad)
        return encoding
    bad = _first_error(chunks(), "utf-8")
    if bad is None:
        return "utf-8"
    chosen = fallback or WESTERN
    worse = _first_error(chunks(), chosen)
    if worse is not None:
        raise _not_in(chosen, path, *worse)
    logger.info(
        "%s: line %d is not UTF-8; read as %s (--encoding changes this)", path, bad[0], chosen
    )
    return chosen


def _unmarked(data: bytes) -> str | None:
    """Return the UTF-16 variant that the zero bytes of Latin letters indicate, or None."""
    head = data[:4096]
    if b"\0" not in head:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.4 * len(head) / 2 and even < odd / 10:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * len(head) / 2 and odd < even / 10 else None


def _first_error(chunks: Iterable[bytes], encoding: str) -> tuple[int, int] | None:
    """Return the line and value of the first byte that is not in `encoding`; None if all are."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    line = 1
    try:
        for chunk in chunks:
            decoder.decode(chunk)
            line += chunk.count(b"\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        bad, start = error.object, error.start
        return line + bad.count(b"\n", 0, start), bad[start] if start < len(bad) else 0
    return None


def _not_in(encoding: str, path: FilePath, line: int, byte: int) -> DataFormatError:
    """Return the error for a byte that is not in `encoding`."""
    expected = f"text in {encoding} (set another with --encoding or encoding=)"
    return DataFormatError(str(path), expected, f"byte 0x{byte:02x}", line)
