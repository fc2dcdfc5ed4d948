"""Read and write the arrays of a model, one ``.npy`` file each, with checksums."""

import hashlib
import math
import os
import re
import stat
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from vicinal._core.files import naming, read_npy_header
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence.encoding import Arrays, Json

Mapping: TypeAlias = bool | Literal["auto"]

MAPPED_FROM = 2**30
"""Models whose arrays take less than 1 GiB in all are read into memory; see :func:`read_arrays`."""

MOST_ARRAYS = 10_000
FILE_NAME = re.compile(r"[A-Za-z0-9_.-]+\.npy")


class _Sink:
    """Writes the bytes of an array and tracks their number and checksum.

    NumPy writes an array to a real file in one call and only reports the number of items written;
    to other objects it writes in pieces, so that the system's own error is raised.
    """

    def __init__(self, stream: BufferedWriter) -> None:
        self._stream = stream
        self.digest = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        """Write, count and add to the checksum."""
        self._stream.write(data)
        self.digest.update(data)
        self.size += len(data)
        return len(data)


def write_array(file: Path, array: NDArray[Any]) -> dict[str, Json]:
    """Write one array to disk and return its manifest entry."""
    with naming(file), file.open("wb") as stream:
        sink = _Sink(stream)
        np.save(sink, np.ascontiguousarray(array), allow_pickle=False)
        stream.flush()
        os.fsync(stream.fileno())
    return {"file": file.name, "bytes": sink.size, "sha256": sink.digest.hexdigest()}


def read_arrays(folder: Path, files: Json, verify: bool, mmap: Mapping) -> Arrays:
    """Return the arrays that a manifest lists, each checked against it.

    Parameters
    ----------
    folder : Path
    files : dict
        By the name of each array its file, that file's bytes and its SHA-256.
    verify : bool
        Whether to compare the SHA-256.
    mmap : bool or "auto"
        Whether arrays of fractions are mapped rather than read; "auto": where all arrays together
        take ``MAPPED_FROM`` bytes or more. Arrays of integers, among which are the ids and row
        starts that native code trusts once they are checked, are always read.
    """
    if not isinstance(files, dict):
        raise ModelFormatError(f"{folder}: the manifest lists no arrays")
    if len(files) > MOST_ARRAYS:
        raise ModelFormatError(f"{folder}: expected at most {MOST_ARRAYS} arrays, got {len(files)}")
    if mmap not in (True, False, "auto"):
        raise InvalidArgumentError("mmap", "True, False or 'auto'", repr(mmap))
    total = sum(_entry(folder, entry)[1] for entry in files.values())
    is_mapped = total >= MAPPED_FROM if mmap == "auto" else bool(mmap)
    return {name: _read_array(folder, entry, verify, is_mapped) for name, entry in files.items()}


def _entry(folder: Path, entry: Json) -> tuple[str, int, Json]:
    """Return the manifest entry of an array: its file, size and checksum."""
    name = entry.get("file") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or not isinstance(name, str) or not FILE_NAME.fullmatch(name):
        raise ModelFormatError(f"{folder}: the manifest lists an array without a file name")
    size = entry.get("bytes")
    if type(size) is not int or size < 0:
        raise ModelFormatError(f"{folder}: the manifest does not say how long {name} is")
    return name, size, entry.get("sha256")


def _read_array(folder: Path, entry: Json, verify: bool, is_mapped: bool) -> NDArray[Any]:
    """Read or map one array after checking its file against the manifest."""
    name, size, checksum = _entry(folder, entry)
    file = folder / name
    if not file.is_file():
        raise ModelFormatError(f"{file}: missing or cut short")
    with file.open("rb") as stream:
        status = os.fstat(stream.fileno())
        if not stat.S_ISREG(status.st_mode) or status.st_size != size:
            raise ModelFormatError(f"{file}: missing or cut short")
        try:
            array, digest = _content(stream, size, verify, is_mapped)
        except ValueError as error:
            raise ModelFormatError(f"{file}: not an array: {error}") from None
    if verify and digest != checksum:
        raise ModelFormatError(f"{file}: damaged: its checksum does not match")
    array.flags.writeable = False
    return array


def _content(
    stream: BufferedReader, size: int, verify: bool, is_mapped: bool
) -> tuple[NDArray[Any], str | None]:
    """Return the array in an open file of that size, and the checksum of exactly these bytes."""
    header = read_npy_header(stream)
    start = stream.tell()
    if header.nbytes != size - start:
        raise ValueError(f"shape {header.shape} of {header.dtype} in {size - start} bytes")
    stream.seek(0)
    digest = hashlib.sha256(stream.read(start))
    order: Literal["C", "F"] = "F" if header.is_fortran else "C"
    array: NDArray[Any]
    if is_mapped and header.dtype.kind == "f" and header.nbytes:
        stream.seek(0)
        hexadecimal = hashlib.file_digest(stream, "sha256").hexdigest() if verify else None
        array = np.memmap(
            cast("Any", stream), header.dtype, "r", start, shape=header.shape, order=order
        )
        return array, hexadecimal
    array = np.empty(math.prod(header.shape), dtype=header.dtype)
    content = memoryview(cast("Any", array.view(np.uint8)))
    if array.size and stream.readinto(content) != header.nbytes:
        raise ValueError("cut short while it was read")
    digest.update(content)
    return array.reshape(header.shape, order=order), digest.hexdigest()
