"""Read and write files: compression, the limit on unpacked bytes, encodings."""

import bz2
import errno
import gzip
import io
import lzma
import os
import stat
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import IO, Any, BinaryIO, TypeAlias, cast

from vicinal._core.checks import check_integer, check_option
from vicinal._core.files import replacing
from vicinal.errors import DataFormatError

FilePath: TypeAlias = str | PathLike[str]

DEFAULT_MAX_BYTES = 2**32
"""Default maximum size of a file after unpacking: 4 GiB."""

MOST_EXPANSION = 1000
"""Maximum ratio of unpacked to packed size; real data sets stay below 200."""

MOST_MEMORY = 64
"""Maximum memory in bytes per byte of text, for formats in which few bytes can describe much."""

FREE_BYTES = 2**24
"""Both ratios are ignored up to 16 MiB: a tiny file may well contain one long repetition."""

ENCODINGS = ("utf-8", "latin-1")
PACKED = (".gz", ".bz2", ".xz")

_CHUNK = 2**20
# Long enough that no text starts like this; the three letters of bzip2 alone would not be.
_SIGNATURES = (
    (b"\x1f\x8b\x08", ".gz"),
    (b"\xfd7zXZ\x00", ".xz"),
    *((b"BZh%c1AY&SY" % level, ".bz2") for level in b"123456789"),
    *((b"BZh%c\x17rE8P\x90" % level, ".bz2") for level in b"123456789"),
)


def open_data(path: FilePath, *, max_bytes: int = DEFAULT_MAX_BYTES) -> bytes:
    """Return the content of a file, unpacked if it begins like gzip, bzip2 or xz.

    Memory: the unpacked content, at most `max_bytes` and at most :func:`unpacked_limit`.
    """
    max_bytes = check_integer("max_bytes", max_bytes, low=0)
    with _opened(Path(path)) as (stream, packing):
        limit = unpacked_limit(path, max_bytes) if packing else max_bytes
        content = io.BytesIO()
        while chunk := stream.read(min(_CHUNK, limit + 1 - content.tell())):
            content.write(chunk)
            if content.tell() > limit:
                raise too_long(path, limit)
        return content.getvalue()


@contextmanager
def open_stream(path: FilePath) -> Iterator[BinaryIO]:
    """Open a file as a stream, unpacked if it is gzip, bzip2 or xz."""
    with _opened(Path(path)) as (stream, _):
        yield stream


@contextmanager
def _opened(path: Path) -> Iterator[tuple[BinaryIO, str]]:
    """Open a file as a stream of the unpacked bytes; give its compression, or ``""``, as well."""
    with _open_regular(path) as raw:
        packing = _packing(path, raw)
        try:
            with _stream(packing, raw, "rb") as stream:
                yield stream, packing
        except (EOFError, zlib.error, lzma.LZMAError, OSError) as error:
            # Errors of the operating system have a number; those of the archive do not.
            if not packing or (isinstance(error, OSError) and error.errno is not None):
                raise
            expected = f"a complete {packing} archive"
            raise DataFormatError(path, expected, str(error) or repr(error)) from error


def unpacked_limit(path: FilePath, max_bytes: int) -> int:
    """Return to how many bytes the compressed file `path` may unpack; trusted ones unpack first."""
    return min(max_bytes, max(FREE_BYTES, MOST_EXPANSION * Path(path).stat().st_size))


def too_long(path: FilePath, limit: int) -> DataFormatError:
    """Return the error for a file whose content is longer than `limit`."""
    rule = f"max_bytes, or {MOST_EXPANSION} times the size of the file"
    return DataFormatError(path, f"at most {limit} bytes when unpacked ({rule})", "more")


def _open_regular(path: Path) -> IO[bytes]:
    """Open a file for reading; raise for pipes and devices, which may block or never end."""
    flags = getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)  # a pipe may have no writer
    descriptor = os.open(path, os.O_RDONLY | flags)
    kind = stat.S_IFMT(os.fstat(descriptor).st_mode)
    if kind == stat.S_IFREG:
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    if kind == stat.S_IFDIR:
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    raise DataFormatError(path, "a regular file", "a pipe or a device (copy it first)")


def _packing(path: Path, raw: IO[bytes]) -> str:
    """Return the compression extension that fits the first bytes of a file, or ``""``."""
    head = raw.read(16)
    raw.seek(0)
    found = next((ending for magic, ending in _SIGNATURES if head.startswith(magic)), "")
    promised = path.suffix.lower()
    if promised in PACKED and found != promised:
        got = f"a {found} archive" if found else ("other content" if head else "an empty file")
        raise DataFormatError(path, f"a {promised} archive, as its name says", got)
    return found


def _stream(packing: str, raw: IO[bytes], mode: str) -> BinaryIO:
    """Return a stream that unpacks or packs; without time stamps: equal data give equal files."""
    openers: dict[str, Any] = {".bz2": bz2.BZ2File, ".xz": lzma.LZMAFile}
    if packing == ".gz":
        return cast("BinaryIO", gzip.GzipFile("", mode, fileobj=raw, mtime=0))
    return cast("BinaryIO", openers[packing](raw, mode) if packing in openers else raw)


def open_text(
    path: FilePath, *, encoding: str = "utf-8", max_bytes: int = DEFAULT_MAX_BYTES
) -> str:
    """Return the content of a text file, unpacked and decoded (see :func:`decode`)."""
    return decode(open_data(path, max_bytes=max_bytes), path, encoding)


def without_mark(data: bytes, path: FilePath, encoding: str = "utf-8") -> bytes:
    """Return `data` without a UTF-8 byte order mark; raise for the marks of UTF-16."""
    check_option("encoding", encoding, ENCODINGS)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")) and encoding == "utf-8":
        raise DataFormatError(path, "text in UTF-8", "text in UTF-16", 1)
    return data.removeprefix(b"\xef\xbb\xbf")


def decode(data: bytes, path: FilePath, encoding: str = "utf-8", first_line: int = 1) -> str:
    """Return bytes as text, or raise an error that names the line that is not in `encoding`."""
    try:
        return without_mark(data, path, encoding).decode(encoding)
    except UnicodeDecodeError as error:
        line = first_line + error.object.count(b"\n", 0, error.start)
        byte = error.object[error.start]
        expected = f"text in {encoding} (or another encoding= of {', '.join(ENCODINGS)})"
        raise DataFormatError(path, expected, f"byte 0x{byte:02x}", line) from None


def bare_name(path: FilePath) -> str:
    """Return the file name without its folder and its compression extension."""
    path = Path(path)
    return path.stem if path.suffix.lower() in PACKED else path.name


def write_data(path: FilePath, chunks: Iterable[str | bytes]) -> None:
    """Write text (as UTF-8) or bytes, compressed by the extension, as a whole or not at all."""
    path = Path(path)
    with (
        replacing(path) as beside,
        beside.open("xb") as raw,
        _stream(path.suffix.lower(), raw, "wb") as stream,
    ):
        for chunk in chunks:
            stream.write(chunk.encode() if isinstance(chunk, str) else chunk)
