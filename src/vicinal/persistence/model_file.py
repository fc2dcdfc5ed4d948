"""A model on disk: one file in the safetensors layout.

The file is the length of its header (8 bytes, little-endian), the header, and the arrays, one after
the other without gaps. The header is JSON: name, type, shape and place of every array, and under
``__metadata__`` three strings: the manifest (format number, versions, the model without its arrays,
the SHA-256 of every array), the time of the save, and the SHA-256 of the header itself, computed
with 64 zeros in its place. Any program that reads safetensors can read the arrays.

A save writes a temporary file beside the old one and renames it, so a reader sees the old model or
the new one, and a process that has the old file open or mapped keeps it.
"""

import hashlib
import json
import math
import os
import platform
import re
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from vicinal._core.files import remove_stale, replacing
from vicinal._core.state import Saveable
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence.encoding import Arrays, Json, decode, encode
from vicinal.persistence.saved_types import trusting

FORMAT = 1
MOST_HEADER_BYTES = 100_000_000
"""The limit of the safetensors library too. Long lists of names are arrays, not part of it."""
MOST_ARRAYS = 10_000
MOST_AXES = 8
MAPPED_FROM = 2**30
"""Models whose arrays take less than 1 GiB in all are read into memory; see :func:`read_model`."""
ALIGNMENT = 64
IS_WINDOWS = os.name == "nt"
DTYPES = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BOOL": "|b1",
    "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1",
}  # fmt: skip
"""The number types of a model, by their names in the layout."""
_NAMES = {np.dtype(code): name for name, code in DTYPES.items()}
_NO_DIGEST = "0" * 64
_WRONG_VALUES = (
    ValueError, TypeError, LookupError, ArithmeticError, AttributeError, RecursionError,
)  # fmt: skip
"""Exceptions that unexpected values may raise when a part is built from them."""

FilePath: TypeAlias = str | os.PathLike[str]
MapMode: TypeAlias = bool | Literal["auto"]


class ArrayEntry(NamedTuple):
    """Type, shape and place of an array, counted from the first byte after the header."""

    dtype: "np.dtype[Any]"
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class ModelHeader:
    """What a model file says about itself, with types, shapes, places and its checksum checked."""

    manifest: dict[str, Json]
    arrays: dict[str, ArrayEntry]
    saved: str
    fingerprint: str
    length: int


def write_model(part: Saveable, path: FilePath) -> None:
    """Save `part` as the file `path`; an older model there is replaced.

    Raises an error if `path` exists and is something else. Nothing else is ever overwritten.

    Examples
    --------
    >>> from vicinal.decision import Threshold
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_model(Threshold(0.25), f"{folder}/rule")
    ...     read_model(f"{folder}/rule")
    Threshold(value=0.25, inclusive=False)
    """
    target = check_replaceable(path)
    encoded, arrays = encode(part)
    ordered = _ordered(arrays)
    header = _header(encoded, ordered)
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as beside, beside.open("xb") as stream:
        stream.write(header)
        for array in ordered.values():
            _write_in_pieces(stream, _bytes(array))
    remove_stale(target)


PIECE_BYTES = 2**21


def _write_in_pieces(stream: BinaryIO, content: memoryview) -> None:
    """Write piece by piece to the disk: what others sync meanwhile waits for one of them."""
    for start in range(0, len(content), PIECE_BYTES):
        piece = content[start : start + PIECE_BYTES]
        stream.write(piece)
        if len(piece) == PIECE_BYTES:
            stream.flush()
            os.fsync(stream.fileno())


def _ordered(arrays: Arrays) -> Arrays:
    """Return the arrays as they are written: large items first, which aligns every array."""
    found = {}
    for name, array in arrays.items():
        little = array.dtype.newbyteorder("<")
        if little not in _NAMES:
            raise InvalidArgumentError("model", f"numbers in {name}", str(array.dtype))
        found[name] = np.asarray(array, dtype=little, order="C")
    return dict(sorted(found.items(), key=lambda item: -item[1].dtype.itemsize))


def _bytes(array: NDArray[Any]) -> memoryview:
    """Return the bytes of an array without a copy."""
    flat: Any = array.reshape(-1).view(np.uint8) if array.size else b""
    return memoryview(flat)


def _header(encoded: Json, arrays: Arrays) -> bytes:
    """Return the first bytes of the file: the length of the header, and the header."""
    written_by = {name: version(name) for name in ("vicinal", "numpy", "scikit-learn")}
    manifest: Json = {
        "format": FORMAT,
        "written_by": {**written_by, "python": platform.python_version()},
        "model": encoded,
        "sha256": {name: hashlib.sha256(_bytes(each)).hexdigest() for name, each in arrays.items()},
    }
    entries: dict[str, Json] = {
        "__metadata__": {
            "sha256": _NO_DIGEST,
            "saved": datetime.now(UTC).isoformat(timespec="seconds"),
            "vicinal": json.dumps(manifest, ensure_ascii=False, allow_nan=False),
        }
    }
    place = 0
    for name, array in arrays.items():
        entries[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [place, place + array.nbytes],
        }
        place += array.nbytes
    try:
        text = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        raise InvalidArgumentError("model", "names that UTF-8 can hold", str(error)) from None
    text += b" " * (-(len(text) + 8) % ALIGNMENT)
    if len(text) > MOST_HEADER_BYTES:
        expected = f"names and parameters of at most {MOST_HEADER_BYTES} bytes"
        raise InvalidArgumentError("model", expected, f"{len(text)} bytes")
    digest = hashlib.sha256(text).hexdigest().encode()
    return len(text).to_bytes(8, "little") + text.replace(_NO_DIGEST.encode(), digest, 1)


def check_replaceable(path: FilePath) -> Path:
    """Return where to write; raise unless `path` is new, an empty file or an older model.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     check_replaceable(Path(folder) / "new").name
    'new'
    """
    target = Path(path)
    if not os.path.lexists(target):
        return target
    if target.is_file():
        with target.open("rb") as stream:
            start = stream.read(200)
        if not start or re.match(rb'\{ *"__metadata__": *\{ *"sha256"', start[8:]):
            return Path(os.path.realpath(target))
    got = f"{target}, {'a folder' if target.is_dir() else 'another kind of file'}"
    raise InvalidArgumentError("path", "a new path or an older model", got, "choose another name")


def read_model(
    path: FilePath, *, verify: bool = True, mmap: MapMode = "auto", trusted: Collection[str] = ()
) -> Saveable:
    """Return the part saved as the file `path`.

    Parameters
    ----------
    path : path
        The file.
    verify : bool
        Compare every array with its SHA-256 first, which reads them all once. The header is always
        compared with its own, and structure, shapes and ranges are always checked.
    mmap : bool or "auto"
        Whether arrays of fractions are mapped rather than read. "auto": if all arrays together
        take ``MAPPED_FROM`` bytes or more, and never on Windows, where a mapped file cannot be
        replaced. Arrays of integers, among which are the ids and row starts that native code
        trusts once they are checked, are always read.
    trusted : collection of str
        Types and functions, besides those of ``sklearn_steps``, that a step may contain.
    """
    if mmap not in (True, False, "auto"):
        raise InvalidArgumentError("mmap", "True, False or 'auto'", repr(mmap))
    with _opened(path) as stream:
        header = _read_header(stream, path)
        arrays = _read_arrays(stream, header, path, verify, mmap)
    with trusting(trusted), _naming_damage(path):
        part = decode(header.manifest.get("model"), arrays)
    if not isinstance(part, Saveable):
        raise ModelFormatError(f"{path}: the header holds no model")
    return part


def read_header(path: FilePath) -> ModelHeader:
    """Return the checked header of a model file; the arrays are not read."""
    with _opened(path) as stream:
        return _read_header(stream, path)


def damaged_arrays(path: FilePath) -> list[str]:
    """Return the names of the arrays whose bytes do not match their checksum."""
    with _opened(path) as stream:
        header = _read_header(stream, path)
        sums = _checksums(header, path)
        return [
            name
            for name, entry in header.arrays.items()
            if _digest(stream, header.length + entry.start, entry) != sums.get(name)
        ]


@contextmanager
def _naming_damage(path: FilePath) -> Iterator[None]:
    """Report whatever wrong values raise as damage of that file, on one line."""
    try:
        yield
    except _WRONG_VALUES as error:
        kind = "" if isinstance(error, ModelFormatError) else f"{type(error).__name__}: "
        reason = " ".join(f"{kind}{error}".split())
        raise ModelFormatError(f"{path}: {reason:.500}") from None


@contextmanager
def _opened(path: FilePath) -> Iterator[BufferedReader]:
    """Open a model file; folders, pipes and devices are refused."""
    file = Path(path)
    if file.is_dir():
        raise ModelFormatError(f"{path}: expected a model file, got a folder (name a file in it)")
    if not file.is_file():
        raise ModelFormatError(
            f"{path}: expected a model file, found none (vicinal train and save() write them)"
        )
    with file.open("rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise ModelFormatError(f"{path}: expected a model file, got something else")
        yield stream


def _damaged(path: FilePath, what: str) -> ModelFormatError:
    """Return the error of a file that is not as it was written."""
    return ModelFormatError(f"{path}: damaged: {what} (use another copy, or train again)")


NO_MODEL = "not a model file of vicinal (vicinal train and save() write them)"


def _read_header(stream: BufferedReader, path: FilePath) -> ModelHeader:
    """Read and check the header of an open file."""
    size = os.fstat(stream.fileno()).st_size
    first = stream.read(8)
    length = int.from_bytes(first, "little")
    if len(first) < 8 or length < 2 or stream.peek(1)[:1] != b"{":
        raise ModelFormatError(f"{path}: {NO_MODEL}")
    if length > MOST_HEADER_BYTES:
        expected = f"a header of at most {MOST_HEADER_BYTES} bytes"
        raise ModelFormatError(f"{path}: expected {expected}, got {length}")
    if size < 8 + length:
        raise _damaged(path, "cut short")
    text = stream.read(length)
    entries = _parsed(text, path)
    metadata = entries.pop("__metadata__", None)
    if not isinstance(metadata, dict) or not {"sha256", "saved", "vicinal"} <= metadata.keys():
        raise ModelFormatError(f"{path}: {NO_MODEL}")
    digest, saved, manifest = (str(metadata[key]) for key in ("sha256", "saved", "vicinal"))
    plain = text.replace(digest.encode("utf-8", "replace"), _NO_DIGEST.encode(), 1)
    if len(digest) != 64 or hashlib.sha256(plain).hexdigest() != digest:
        raise _damaged(path, "the checksum of the header does not match")
    body = _parsed(manifest.encode("utf-8", "replace"), path)
    if body.get("format") != FORMAT or type(body["format"]) is not int:
        raise ModelFormatError(f"{path}: expected format {FORMAT}, got {body.get('format')!r:.60}")
    arrays = _entries(entries, size - 8 - length, path)
    fingerprint = hashlib.sha256(manifest.encode("utf-8", "replace")).hexdigest()
    return ModelHeader(body, arrays, saved, fingerprint, 8 + length)


def _parsed(text: bytes, path: FilePath) -> dict[str, Any]:
    """Return a JSON object; NaN, infinity and repeated names are refused."""

    def refuse(name: str) -> None:
        raise ValueError(name)

    def distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) != len(pairs):
            raise ValueError("repeated names")
        return dict(pairs)

    try:
        body = json.loads(text, parse_constant=refuse, object_pairs_hook=distinct)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise _damaged(path, "its header is not JSON")
    return body


def _entries(entries: dict[str, Any], size: int, path: FilePath) -> dict[str, ArrayEntry]:
    """Return the places of the arrays, which must cover all bytes after the header, in order."""
    if len(entries) > MOST_ARRAYS:
        raise ModelFormatError(f"{path}: expected at most {MOST_ARRAYS} arrays, got {len(entries)}")
    found = {name: _entry(name, entry, path) for name, entry in entries.items()}
    place = 0
    for name, entry in sorted(found.items(), key=lambda item: item[1][2:]):
        if entry.start != place:
            raise _damaged(path, f"{name!r:.60} overlaps another array, or leaves a gap")
        place = entry.stop
    if place != size:
        what = "cut short" if place > size else "has bytes behind its arrays"
        raise _damaged(path, f"{what}: expected {place} bytes of arrays, got {size}")
    return found


def _entry(name: str, entry: Any, path: FilePath) -> ArrayEntry:
    """Return type, shape and place of one array."""
    wrong = ModelFormatError(f"{path}: the entry of {name!r:.60} is not one of an array of numbers")
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise wrong
    code, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(code, str) or code not in DTYPES or not _sizes(shape) or not _sizes(offsets):
        raise wrong
    if len(shape) > MOST_AXES or len(offsets) != 2 or max(*shape, *offsets) >= 2**62:
        raise wrong
    dtype = np.dtype(DTYPES[code])
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise ModelFormatError(f"{path}: {name!r:.60}: shape and number of bytes do not fit")
    return ArrayEntry(dtype, tuple(shape), *offsets)


def _sizes(values: object) -> bool:
    """Tell whether this is a list of sizes that an array can have."""
    return isinstance(values, list) and all(
        type(size) is int and 0 <= size < 2**62 for size in values
    )


def _read_arrays(
    stream: BufferedReader, header: ModelHeader, path: FilePath, verify: bool, mmap: MapMode
) -> Arrays:
    """Read or map the arrays, each compared with its checksum."""
    total = sum(entry.stop - entry.start for entry in header.arrays.values())
    is_mapped = (total >= MAPPED_FROM and not IS_WINDOWS) if mmap == "auto" else bool(mmap)
    sums = _checksums(header, path) if verify else {}
    arrays = {}
    for name, entry in header.arrays.items():
        array, digest = _content(stream, header.length + entry.start, entry, is_mapped, verify)
        if array is None:
            raise _damaged(path, "cut short while it was read")
        if verify and digest != sums.get(name):
            raise _damaged(path, f"the checksum of {name!r:.60} does not match")
        array.flags.writeable = False
        arrays[name] = array
    return arrays


def _checksums(header: ModelHeader, path: FilePath) -> dict[str, Json]:
    """Return the checksums of the arrays by name."""
    sums = header.manifest.get("sha256")
    if not isinstance(sums, dict):
        raise ModelFormatError(f"{path}: the header lists no checksums")
    return sums


def _content(
    stream: BufferedReader, place: int, entry: ArrayEntry, is_mapped: bool, verify: bool
) -> tuple[NDArray[Any] | None, str | None]:
    """Return an array, or None if the file ends before, and the checksum of exactly its bytes."""
    dtype, shape, start, stop = entry
    array: NDArray[Any]
    if is_mapped and dtype.kind == "f" and stop > start and place % dtype.itemsize == 0:
        digest = _digest(stream, place, entry) if verify else None
        array = np.memmap(cast("Any", stream), dtype, "r", place, shape=shape)
        return array, digest
    array = np.empty(math.prod(shape), dtype=dtype)
    stream.seek(place)
    if array.size and stream.readinto(_bytes(array)) != stop - start:
        return None, None
    digest = hashlib.sha256(_bytes(array)).hexdigest() if verify else None
    return array.reshape(shape), digest


def _digest(stream: BufferedReader, place: int, entry: ArrayEntry) -> str:
    """Return the SHA-256 of the bytes of an array in the file."""
    digest, left = hashlib.sha256(), entry.stop - entry.start
    stream.seek(place)
    while left and (block := stream.read(min(left, 2**20))):
        digest.update(block)
        left -= len(block)
    return digest.hexdigest()
