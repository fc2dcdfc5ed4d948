"""The rows of a segment, with ascending ids: plain CSR arrays, in memory or mapped from files."""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Int, Int32
from vicinal._core.csr import bare_csr, checked_csr
from vicinal._core.files import (
    locked,
    naming,
    release_free_memory,
    replacing,
    sha256_of,
    sync_folder,
)
from vicinal._core.validation import csr_parts
from vicinal.distances import distance_names
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.index._common import MOST_IDS, mark_removed, places_of
from vicinal.index.inverted import Build, Segment

BLOCK_ENTRIES = 2**22
"""Number of entries read, checked or copied at a time: 48 MiB of ids and float64 values."""

NO_TOMBSTONES: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)


@dataclass(frozen=True, eq=False)
class SegmentRows:
    """Rows that were written together.

    `indices`: ascending within a row.
    `ids`: ascending.
    `removed`: 1 for a removed row; empty if none has been removed.
    `name`: name of its folder on disk; empty for a segment in memory.
    `token`: shared by versions of this segment that differ only in removed rows.
    `postings`: postings on disk, ordered by row; empty if searches build them.
    """

    indptr: Int
    indices: Int32
    values: NDArray[Any]
    ids: Int32
    n_features: int
    removed: NDArray[np.uint8] = field(default_factory=lambda: NO_TOMBSTONES)
    name: str = ""
    token: object = field(default_factory=object)
    postings: "tuple[StoredPostings, ...]" = ()

    @classmethod
    def of(cls, rows: Csr, first_id: int) -> "SegmentRows":
        """Return checked rows in memory as a segment whose ids start at `first_id`."""
        ids = np.arange(first_id, first_id + rows.shape[0], dtype=np.int32)
        indptr, indices = csr_parts(rows)
        return cls(indptr, indices, rows.data[: indptr[-1]], ids, int(rows.shape[1]))

    def __len__(self) -> int:
        """Return the number of rows, including removed ones."""
        return len(self.ids)

    @property
    def n_entries(self) -> int:
        """Number of stored values."""
        return int(self.indptr[-1])

    @cached_property
    def whole(self) -> Csr:
        """All rows as one matrix. Of a segment in a folder, 4 bytes per row are in memory."""
        if self.n_entries >= 2**31:
            raise InvalidArgumentError("X", "fewer than 2^31 entries", self.n_entries)
        if not self.name:
            return self.rows(0, len(self))
        starts = self.indptr.astype(np.int32)
        starts.flags.writeable = False  # like the arrays that are mapped
        shape = len(self), self.n_features
        return checked_csr(self.values, self.indices, self.indptr, shape, starts)

    def searched(self, start: int, stop: int) -> Csr:
        """Return rows for the compiled core alone; of all rows, nothing is copied."""
        starts = self.indptr[start : stop + 1]
        first, last = int(starts[0]), int(starts[-1])
        shape = stop - start, self.n_features
        starts = starts - first if first else starts
        return bare_csr(self.values[first:last], self.indices[first:last], starts, shape)

    def rows(self, start: int, stop: int) -> Csr:
        """Return rows `start` to `stop` (excluded); values and column ids are views."""
        starts = np.asarray(self.indptr[start : stop + 1])
        first, last = int(starts[0]), int(starts[-1])
        # SciPy's constructor would copy arrays that are small parts of others, into memory.
        return bare_csr(
            self.values[first:last],
            self.indices[first:last],
            _small(starts - first),
            (stop - start, self.n_features),
        )

    def removed_in(self, start: int, stop: int) -> NDArray[np.uint8]:
        """Return the removal marks of rows `start` to `stop`, empty if none is removed."""
        part = self.removed[start:stop]
        return np.ascontiguousarray(part) if part.any() else NO_TOMBSTONES

    def without(self, ids: Int) -> "SegmentRows":
        """Return this segment with its rows among `ids` marked as removed."""
        places = places_of(ids, self.ids)
        if not len(places):
            return self
        return replace(self, removed=mark_removed(self.removed, places, len(self)))

    def ranges(self, entries: int) -> Iterator[tuple[int, int]]:
        """Yield (start, stop) of consecutive rows with at most `entries` entries, or of one row."""
        start = 0
        while start < len(self):
            most = int(self.indptr[start]) + entries
            stop = int(np.searchsorted(self.indptr, most, side="right")) - 1
            stop = min(max(stop, start + 1), len(self))
            yield start, stop
            start = stop

    def blocks_left(self) -> Iterator[tuple[Csr, Int32]]:
        """Yield the rows that are not removed, with their ids, in blocks."""
        for start, stop in self.ranges(BLOCK_ENTRIES):
            rows, ids = self.rows(start, stop), np.asarray(self.ids[start:stop])
            if self.removed_in(start, stop).any():
                kept = self.removed[start:stop] == 0
                rows, ids = rows[kept], ids[kept]
            yield rows, ids


def are_same_rows(X: Features, mapped: Csr) -> bool:
    """Tell whether `X` refers to the very arrays of `mapped`, all of them."""
    if not isinstance(X, sparse.csr_array) or X.shape != mapped.shape or X.nnz != mapped.nnz:
        return False
    pairs = (X.indices, mapped.indices), (X.data, mapped.data)
    return all(a.dtype == b.dtype and a.ctypes.data == b.ctypes.data for a, b in pairs)


def _small(starts: Int) -> NDArray[Any]:
    """Return row starts in the type that SciPy requires for int32 column ids: int32 if they fit."""
    small = starts.astype(np.int32) if starts[-1] < 2**31 else starts
    small.flags.writeable = False
    return small


FEWEST_ENTRIES = 2**20
"""Postings of smaller segments are not written: building them takes a tenth of a second."""


@dataclass(frozen=True)
class PostingsWriter:
    """How the postings of a new segment are written."""

    build: Build
    range_entries: int
    n_threads: int

    def write(self, folder: Path, segment: SegmentRows) -> list[dict[str, Any]]:
        """Write postings to the folder of a segment; return what the manifest says of them.

        Memory: 16 bytes per entry of a range and thread at most, while they are built.
        """
        if segment.n_entries < FEWEST_ENTRIES:
            return []
        ranges = list(segment.ranges(self.range_entries))
        release_free_memory()  # of the rows that were just written

        def written(number: int) -> dict[str, Any]:
            entry = self._write_range(folder / f"postings-{number}", segment, *ranges[number])
            release_free_memory()  # of the postings that were just written
            return entry

        with ThreadPoolExecutor(self.n_threads) as pool:
            each = map if len(ranges) == 1 else pool.map  # no thread for one range
            entries = list(each(written, range(len(ranges))))
        sync_folder(folder)
        return entries

    def _write_range(
        self, file: Path, segment: SegmentRows, start: int, stop: int
    ) -> dict[str, Any]:
        indexed = Segment.of(segment.searched(start, stop), segment.ids[start:stop], self.build)
        checksum = hashlib.sha256()
        with naming(file), file.open("wb") as stream:

            def write(piece: NDArray[np.uint8]) -> None:
                stream.write(piece.data)
                checksum.update(piece.data)

            indexed.native.store(write)
            stream.flush()
            os.fsync(stream.fileno())
            size = stream.tell()
        return {
            "file": file.name,
            "start": start,
            "stop": stop,
            "bytes": size,
            "sha256": checksum.hexdigest(),
        }


@dataclass(frozen=True, eq=False)
class StoredPostings:
    """Postings of rows `start` to `stop` of a segment, mapped from a file."""

    file: Path
    start: int
    stop: int
    data: NDArray[np.uint8]

    def indexed(self, segment: SegmentRows, build: Build) -> Segment:
        """Return the rows with these postings, whose structure is checked."""
        rows, ids = segment.searched(self.start, self.stop), segment.ids[self.start : self.stop]
        try:
            return Segment.of(rows, ids, build, self.data)
        except ValueError as error:
            raise ModelFormatError(f"{self.file}: damaged: expected {error}") from None


def search_ranges(segment: SegmentRows, entries: int) -> Iterator[tuple[int, int]]:
    """Yield which rows are searched together: those whose postings are stored together, if any."""
    if segment.postings:
        yield from ((each.start, each.stop) for each in segment.postings)
    else:
        yield from segment.ranges(entries)


def check_ranges(postings: tuple[StoredPostings, ...], n_rows: int, folder: Path) -> None:
    """Refuse postings that do not cover all rows of a segment, each once."""
    stops = [0, *(each.stop for each in postings)]
    starts = [*(each.start for each in postings), n_rows]
    if postings and (starts != stops or any(each.start >= each.stop for each in postings)):
        raise ModelFormatError(f"{folder}: expected postings of all rows, each once")


FILES = {"indptr": np.int64, "indices": np.int32, "ids": np.int32}
"""Number types of all files except ``values``; little-endian, like everything we write."""


class SegmentWriter:
    """Writes a stream of rows to a new folder.

    Memory: only the rows passed to :meth:`append`. :meth:`finish` returns the manifest entry of the
    segment; a folder that no manifest lists is ignored.
    """

    def __init__(self, folder: Path, dtype: "np.dtype[Any] | None" = None) -> None:
        self._folder = folder
        self._dtype = dtype
        folder.mkdir()
        self._streams: dict[str, BinaryIO] = {}
        for name in (*FILES, "values"):
            self._streams[name] = (folder / name).open("wb")
        self.n_features: int | None = None
        self.n_rows = 0
        self.n_entries = 0
        self._write("indptr", np.zeros(1, dtype=np.int64))

    def append(self, rows: Csr, ids: Int32) -> None:
        """Write further rows, which have been checked, with their ids."""
        if self._dtype is None:
            self._dtype = rows.dtype
        if self.n_features is None:
            self.n_features = int(rows.shape[1])
        if rows.shape[1] != self.n_features:
            raise InvalidArgumentError(
                "chunks", f"{self.n_features} features, as in the first chunk", rows.shape[1]
            )
        if not np.can_cast(rows.dtype, self._dtype, "safe"):
            expected = f"values of type {self._dtype}, as in the first chunk"
            raise InvalidArgumentError("chunks", expected, rows.dtype)
        indptr, indices = csr_parts(rows)
        self._write("indptr", indptr[1:] + self.n_entries)
        self._write("indices", indices)
        self._write("values", rows.data[: indptr[-1]].astype(self._dtype, copy=False))
        self._write("ids", ids)
        self.n_rows += len(ids)
        self.n_entries += int(indptr[-1])

    def finish(self) -> dict[str, Any]:
        """Flush everything to disk and return the manifest entry of this segment."""
        for name, stream in self._streams.items():
            with naming(self._folder / name):
                stream.flush()
                os.fsync(stream.fileno())
                stream.close()
        sync_folder(self._folder)
        return {
            "name": self._folder.name,
            "rows": self.n_rows,
            "entries": self.n_entries,
            "dtype": str(self._dtype),
            "sha256": {name: sha256_of(self._folder / name) for name in self._streams},
            "removed": None,
        }

    def close(self) -> None:
        """Close the files, even if they are incomplete."""
        for stream in self._streams.values():
            stream.close()

    def _write(self, name: str, array: NDArray[Any]) -> None:
        with naming(self._folder / name):
            self._streams[name].write(np.ascontiguousarray(array).data)


def write_segment(
    folder: Path, blocks: Iterable[tuple[Csr, Int32]], dtype: "np.dtype[Any] | None" = None
) -> dict[str, Any]:
    """Write blocks of rows and ids as one segment and return its manifest entry."""
    writer = SegmentWriter(folder, dtype)
    try:
        for rows, ids in blocks:
            writer.append(rows, ids)
        return writer.finish()
    finally:
        writer.close()


def write_removed(file: Path, removed: NDArray[np.uint8]) -> dict[str, Any]:
    """Write the removal marks of rows to a new file and return its manifest entry."""
    with naming(file), file.open("wb") as stream:
        stream.write(removed.data)
        stream.flush()
        os.fsync(stream.fileno())
    return {"file": file.name, "sha256": sha256_of(file)}


def open_segment(
    folder: Path, entry: dict[str, Any], n_features: int, verify: bool, *, check: bool = True
) -> SegmentRows:
    """Map the segment that a manifest entry describes, and check its structure.

    Native code trusts row starts and column ids, so they are always read once and checked;
    `verify` also compares the checksum of every file. With ``check=False`` the caller checks column
    ids with :func:`check_entries`.
    """
    place = folder / entry["name"]
    n_rows, n_entries = entry["rows"], entry["entries"]
    sizes = {"indptr": n_rows + 1, "indices": n_entries, "ids": n_rows, "values": n_entries}
    types: dict[str, Any] = {**FILES, "values": entry["dtype"]}
    arrays = {
        name: _mapped(place / name, types[name], size, entry["sha256"][name] if verify else None)
        for name, size in sizes.items()
    }
    removed = NO_TOMBSTONES
    if entry["removed"] is not None:
        known = entry["removed"]
        marks = _mapped(folder / known["file"], np.uint8, n_rows, known["sha256"])
        removed = np.array(marks)
    postings = tuple(
        StoredPostings(
            place / known["file"],
            known["start"],
            known["stop"],
            _mapped(
                place / known["file"],
                np.uint8,
                known["bytes"],
                known["sha256"] if verify else None,
            ),
        )
        for known in entry.get("postings", ())
    )
    check_ranges(postings, n_rows, place)
    segment = SegmentRows(
        arrays["indptr"],
        arrays["indices"],
        arrays["values"],
        arrays["ids"],
        n_features,
        removed,
        entry["name"],
        postings=postings,
    )
    _check_starts(segment, place)
    if check:
        check_entries(segment, place, 0, len(segment))
    return segment


def _mapped(file: Path, dtype: Any, size: int, sha256: str | None) -> NDArray[Any]:
    """Map a file of exactly `size` numbers."""
    kind = np.dtype(dtype).newbyteorder("<")
    try:
        found = file.stat().st_size
    except FileNotFoundError:
        raise ModelFormatError(f"{file}: missing") from None
    if found != size * kind.itemsize:
        raise ModelFormatError(f"{file}: expected {size * kind.itemsize} bytes, found {found}")
    if sha256 is not None and sha256_of(file) != sha256:
        raise ModelFormatError(f"{file}: damaged: its checksum does not match")
    if not size:
        return np.zeros(0, dtype=kind)
    # A plain read-only view: slices of a memmap object would be memmap objects too. Of a `Path`,
    # NumPy would follow every link.
    return np.asarray(np.memmap(str(file), kind, "r", shape=(size,)))


def _check_starts(segment: SegmentRows, place: Path) -> None:
    """Raise if native code could not read the row starts or ids safely."""
    starts, ids = segment.indptr, segment.ids
    is_sound = (
        starts[0] == 0
        and starts[-1] == len(segment.indices)
        and bool(np.all(starts[1:] >= starts[:-1]))
        and (not len(ids) or (ids[0] >= 0 and ids[-1] < MOST_IDS))
        and bool(np.all(ids[1:] > ids[:-1]))
    )
    if not is_sound:
        raise ModelFormatError(f"{place}: expected ascending row starts and row ids")


def check_entries(segment: SegmentRows, place: Path, start: int, stop: int) -> None:
    """Raise if rows `start` to `stop` have unsorted column ids or values that are not finite."""
    while start < stop:
        most = int(segment.indptr[start]) + BLOCK_ENTRIES
        end = int(np.searchsorted(segment.indptr, most, side="right")) - 1
        end = min(max(end, start + 1), stop)
        first, last = int(segment.indptr[start]), int(segment.indptr[end])
        columns, values = segment.indices[first:last], segment.values[first:last]
        rises = np.ones(len(columns), dtype=np.bool_)
        rises[1:] = columns[1:] > columns[:-1]
        heads = segment.indptr[start:end] - first
        rises[heads[heads < len(columns)]] = True
        inside = not len(columns) or (columns.min() >= 0 and columns.max() < segment.n_features)
        if not (inside and rises.all() and np.isfinite(values).all()):
            raise ModelFormatError(f"{place}: expected ascending column ids and finite values")
        start = end


MANIFEST = "index.json"
LOCK = "lock"
FORMAT = "vicinal segmented index 1"
IN_FILES = "run"
"""What a segment is called in the names of folders, and with an s in manifests."""
_SEGMENT = re.compile(rf"{IN_FILES}-[0-9a-f]{{16}}")
_REMOVED = re.compile(r"removed-[0-9a-f]{16}")
_FRESH = re.compile(r"\.index\.json\.[0-9a-f]{16}\.unfinished")
_POSTINGS = re.compile(r"postings-[0-9]+")
_SUMS = {"indptr", "indices", "ids", "values"}


@dataclass(frozen=True)
class Manifest:
    """The contents of an index folder; files that it does not list are ignored.

    `n_ids`: number of ids assigned so far.
    `max_memory`: bytes that a search may use for postings, as set when the index was built.
    `segments`: name, rows, entries, number type and checksums of each, its removed rows and
    postings.
    `version`: random; shows whether another process has changed the index.
    `postings`: whether the postings of new segments are written.
    """

    metric: str
    n_features: int
    n_ids: int
    max_memory: int
    segments: tuple[dict[str, Any], ...]
    version: str
    postings: bool = False


def new_name(kind: str) -> str:
    """Return a new random name for a file or folder."""
    return f"{kind}-{secrets.token_hex(8)}"


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Replace the manifest atomically: readers see either the old one or the new one."""
    body = {"format": FORMAT, **asdict(manifest)}
    body[f"{IN_FILES}s"] = body.pop("segments")
    text = json.dumps(body, indent=1).encode()
    with replacing(folder / MANIFEST) as beside:
        beside.write_bytes(b"%s\n%s\n" % (hashlib.sha256(text).hexdigest().encode(), text))


def read_manifest(folder: Path) -> Manifest:
    """Return the current manifest, with every field checked."""
    file = folder / MANIFEST
    if not file.is_file():
        raise ModelFormatError(f"{folder}: expected a segmented index, found no {MANIFEST}")
    checksum, _, text = file.read_bytes().partition(b"\n")
    text = text.rstrip(b"\n")
    if hashlib.sha256(text).hexdigest().encode() != checksum:
        raise ModelFormatError(f"{file}: damaged: its checksum does not match")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict) or body.pop("format", None) != FORMAT:
        raise ModelFormatError(f"{file}: expected format {FORMAT!r}")
    try:
        manifest = Manifest(segments=tuple(body.pop(f"{IN_FILES}s", ())), **body)
        is_sound = (
            manifest.metric in distance_names()
            and all(_is_count(n) for n in (manifest.n_features, manifest.n_ids))
            and _is_count(manifest.max_memory, 2**62)
            and isinstance(manifest.version, str)
            and isinstance(manifest.postings, bool)
            and all(map(_is_segment, manifest.segments))
        )
    except TypeError:
        is_sound = False
    if not is_sound:
        raise ModelFormatError(f"{file}: expected the fields of a segmented index")
    return manifest


def _is_count(value: object, most: int = MOST_IDS) -> bool:
    return type(value) is int and 0 <= value <= most


def _is_segment(entry: Any) -> bool:
    """Tell whether a manifest entry is valid and only names files that an index writes."""
    if not isinstance(entry, dict) or not _SEGMENT.fullmatch(str(entry.get("name"))):
        return False
    sums, removed = entry.get("sha256"), entry.get("removed", "")
    is_removed = isinstance(removed, dict) and _REMOVED.fullmatch(str(removed.get("file")))
    return (
        _is_count(entry.get("rows"))
        and _is_count(entry.get("entries"), 2**50)
        and entry.get("dtype") in ("float32", "float64")
        and isinstance(sums, dict)
        and sums.keys() == _SUMS
        and all(isinstance(each, str) for each in sums.values())
        and (removed is None or (bool(is_removed) and isinstance(removed.get("sha256"), str)))
        and isinstance(entry.get("postings", []), list)
        and all(map(_is_postings, entry.get("postings", [])))
    )


def _is_postings(entry: Any) -> bool:
    """Tell whether an entry names a file of postings that the index itself writes."""
    return (
        isinstance(entry, dict)
        and bool(_POSTINGS.fullmatch(str(entry.get("file"))))
        and _is_count(entry.get("start"))
        and _is_count(entry.get("stop"))
        and _is_count(entry.get("bytes"), 2**50)
        and isinstance(entry.get("sha256"), str)
    )


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Lock the folder for one writer; others wait. The system releases locks of dead processes."""
    with locked(folder / LOCK):
        yield


def check_folder(folder: Path) -> None:
    """Raise if a folder contains files that do not belong to a finished or interrupted index."""
    if not folder.exists():
        return
    if not folder.is_dir():
        expected = "a new folder or an existing index"
        raise InvalidArgumentError("folder", expected, f"the file {folder}")
    others = [file.name for file in folder.iterdir() if not _is_ours(file.name)]
    if others:
        got = f"{folder}, which also contains {min(others)}"
        raise InvalidArgumentError("folder", "a new folder or an existing index", got)


def remove_unlisted(folder: Path, manifest: Manifest) -> None:
    """Delete segments that the manifest does not list: merged ones, and those of killed writers."""
    listed = {each["name"] for each in manifest.segments}
    listed |= {each["removed"]["file"] for each in manifest.segments if each["removed"]}
    for file in list(folder.iterdir()):
        if not _is_ours(file.name) or file.name in {*listed, MANIFEST, LOCK}:
            continue
        with suppress(OSError):
            if file.is_dir():
                shutil.rmtree(file)
            else:
                file.unlink()


def _is_ours(name: str) -> bool:
    patterns = (_SEGMENT, _REMOVED, _FRESH)
    return name in (MANIFEST, LOCK) or any(each.fullmatch(name) for each in patterns)
