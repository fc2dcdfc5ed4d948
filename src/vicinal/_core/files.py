"""Durable writes to disk, with errors that name the file and the cause.

If the machine crashes while a line is written, the line has no end. Such an incomplete line is
skipped when the file is read and removed when the next line is added. Several processes may append
to one file; they wait for each other, so that none mistakes a line being written for an incomplete
one. Anything else that is not a JSON object is an error: the file belongs to another program or is
damaged, and is not changed.

NumPy's own reader repairs headers of Python 2 with a tokenizer, which may raise any exception.
"""

import ast
import ctypes
import errno
import hashlib
import json
import math
import mmap
import os
import re
import secrets
import shutil
import struct
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vicinal.errors import DataFormatError, InvalidArgumentError

_NOT_FOR_FOLDERS = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES, errno.EPERM)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, which makes a rename durable."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except PermissionError:  # Windows does not open folders
        return
    try:
        os.fsync(descriptor)
    except OSError as error:
        if error.errno not in _NOT_FOR_FOLDERS:
            raise
    finally:
        os.close(descriptor)


def sync_file(file: Path) -> None:
    """Flush the content of a file to disk."""
    descriptor = os.open(file, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def naming(file: Path, temporary: Path | None = None) -> Iterator[None]:
    """Make system errors inside the block name the file and the cause, such as a full disk.

    Errors that name the `temporary` file that is written first name `file` instead.
    """
    try:
        yield
    except OSError as error:
        about = None if error.filename is None else str(error.filename)
        if error.errno is None or about not in (None, str(temporary)):
            raise
        cause = f"cannot be written: {os.strerror(error.errno)}"
        raise OSError(error.errno, cause, str(file)) from error


UNFINISHED = ".unfinished"
STALE_SECONDS = 3600
"""An unfinished file that was not written to for this long belongs to a process that died."""


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path` to write to; at the end the file takes its place.

    The content and the folder are flushed to disk. If the block fails, `path` stays as it was. Of
    several writers the last one wins. The file keeps the permissions of the one it replaces.
    """
    beside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with naming(path, beside):
            yield beside
            sync_file(beside)
        with suppress(OSError):
            shutil.copymode(path, beside)
        try:
            beside.replace(path)
        except PermissionError as error:  # of Windows, while a program has the file open or mapped
            cause = "cannot be replaced: no permission, or another program has it open"
            raise PermissionError(error.errno, cause, str(path)) from None
        sync_folder(path.parent)
    finally:
        with suppress(OSError):
            beside.unlink(missing_ok=True)


def remove_stale(path: Path) -> None:
    """Remove unfinished files of `path` that killed processes left more than an hour ago."""
    start, oldest = f".{path.name[:200]}.", time.time() - STALE_SECONDS
    with suppress(OSError):  # the folder may not be listable
        for file in list(path.parent.iterdir()):
            if file.name.startswith(start) and file.name.endswith(UNFINISHED):
                with suppress(OSError):  # another process may have removed it
                    if file.stat().st_mtime < oldest:
                        file.unlink()


def sha256_of(file: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EACCES, errno.EPERM, errno.EROFS)


@contextmanager
def locked(file: Path, *, waits: bool = True) -> Iterator[None]:
    """Hold the lock that a file stands for; other threads and processes wait.

    The system releases the locks of dead processes. Nobody waits on network drives without locks,
    and in folders where no lock file can be made. If `waits` is False and another has the lock,
    this raises ``TimeoutError``.
    """
    from filelock import FileLock

    lock = FileLock(file)
    try:
        lock.acquire(blocking=waits)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    try:
        yield
    finally:
        lock.release()


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
    """Return nested values with None for NaN and infinity, which JSON does not support."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list | tuple):
        return [without_nan(each) for each in value]
    if isinstance(value, str) or not isinstance(value, Mapping):
        return value
    return {key: without_nan(each) for key, each in value.items()}


def append_json_line(path: Path, parts: Mapping[str, Any]) -> None:
    """Append a line to a file, which need not exist yet; it is on disk when this returns."""
    line = json.dumps(parts, ensure_ascii=False, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    is_new = not path.exists()
    with locked(path.with_name(f"{path.name}.lock")), naming(path), path.open("a+b") as file:
        rest = _after_last_line(file)
        if _is_torn(rest):
            os.ftruncate(file.fileno(), os.fstat(file.fileno()).st_size - len(rest))
        elif rest:
            file.write(b"\n")
        file.write(line.encode())
        file.flush()
        os.fsync(file.fileno())
    if is_new:
        sync_folder(path.parent)


def read_json_lines(
    path: Path, expected: str, read: Callable[[dict[str, Any]], Item]
) -> Iterator[Item]:
    """Yield the result of `read` for each line of a file; nothing if there is no file."""
    if not path.exists():
        return
    *lines, rest = path.read_bytes().split(b"\n")
    if rest and not _is_torn(rest):
        lines.append(rest)
    for number, line in enumerate(lines, start=1):
        try:
            parts = json.loads(line)
            if not isinstance(parts, dict):
                raise InvalidArgumentError("line", "a JSON object", type(parts).__name__)
            item = read(parts)
        except _NOT_AS_EXPECTED as error:
            raise DataFormatError(path, expected, str(error), number) from None
        yield item


def _is_torn(rest: bytes) -> bool:
    """Tell whether the end of a file is an object whose writing was interrupted."""
    if not rest.startswith(b"{"):
        return False
    try:
        json.loads(rest)
    except (ValueError, RecursionError):
        return True
    return False


def _after_last_line(file: IO[bytes]) -> bytes:
    """Return the text after the last line break; only one byte is read if there is none."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(size - 1, 0))
    if file.read(1) in (b"", b"\n"):
        return b""
    file.seek(0)
    return file.read().rpartition(b"\n")[2]


_MAGIC = b"\x93NUMPY"
_LENGTHS = {1: "<H", 2: "<I", 3: "<I"}
_MOST_BYTES = 10_000
_NUMBERS = re.compile(r"[<>|=]?(f[248]|[iu][1248]|b1)")
_NO_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


class NpyHeader(NamedTuple):
    """The shape, memory order and data type of an array of numbers."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        """Exact size in bytes; the product of a shape may exceed any machine integer."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy_header(stream: BinaryIO) -> NpyHeader:
    """Read the header of an array of numbers; raises ``ValueError`` if there is none."""
    magic = stream.read(8)
    form = _LENGTHS.get(magic[6]) if len(magic) == 8 and magic.startswith(_MAGIC) else None
    if form is None:
        raise ValueError("no array in the .npy format")
    size = stream.read(struct.calcsize(form))
    length = struct.unpack(form, size)[0] if len(size) == struct.calcsize(form) else _MOST_BYTES + 1
    if length > _MOST_BYTES:
        raise ValueError(f"a header longer than {_MOST_BYTES} bytes")
    text = stream.read(length)
    if len(text) < length:
        raise ValueError("a truncated header")
    try:
        found = ast.literal_eval(text.decode("utf-8").strip())
    except _NO_LITERAL:
        raise ValueError("a header that is not a dictionary") from None
    if not isinstance(found, dict) or found.keys() != {"descr", "fortran_order", "shape"}:
        raise ValueError("a header without descr, fortran_order and shape")
    described = found["descr"]
    if not isinstance(described, str) or not _NUMBERS.fullmatch(described):
        raise ValueError(f"dtype {described!r:.60}")
    name: DTypeLike = described
    shape = found["shape"]
    sizes = shape if isinstance(shape, tuple) else ("no tuple",)
    if len(sizes) > 8 or not all(type(each) is int and 0 <= each < 2**62 for each in sizes):
        raise ValueError(f"shape {shape!r:.60}")
    return NpyHeader(sizes, found["fortran_order"] is True, np.dtype(name))


def machine_memory() -> float:
    """Return the bytes of memory of this machine; infinity if the system does not tell."""
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, ValueError, OSError):
        return math.inf


def read_singly(array: NDArray[Any]) -> None:
    """Let the system read only those pages of a mapped file that are asked for, if it can.

    By default it reads pages around each of them too, up to megabytes. If they do not all stay in
    its cache, these take the place of others that are needed.
    """
    owner = _mapped_by(array)
    if owner is not None and hasattr(mmap, "MADV_RANDOM"):
        owner.madvise(mmap.MADV_RANDOM)


READ_AT_ONCE = 2**26


def read_ahead(arrays: Iterable[NDArray[Any]]) -> None:
    """Let the system read mapped files into its cache in their order, if they fit well.

    Reading page after page where each is first needed takes several times as long.
    """
    owners = [owner for owner in map(_mapped_by, arrays) if owner is not None]
    if not hasattr(mmap, "MADV_WILLNEED") or sum(map(len, owners)) > machine_memory() / 2:
        return
    for owner in owners:
        for start in range(0, len(owner), READ_AT_ONCE):
            owner.madvise(mmap.MADV_WILLNEED, start, min(READ_AT_ONCE, len(owner) - start))


def _mapped_by(array: NDArray[Any]) -> mmap.mmap | None:
    """Return what maps the file of an array, if one does."""
    owner: object = array
    while isinstance(owner, np.ndarray):
        owner = owner.base
    return owner if isinstance(owner, mmap.mmap) else None


def release_free_memory() -> None:
    """Return freed memory to the system if the C library supports it (glibc); otherwise do nothing.

    By default the C library keeps freed memory for later allocations, so that a process could
    exceed a memory limit that its live arrays respect.
    """
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
