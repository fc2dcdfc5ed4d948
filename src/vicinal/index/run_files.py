"""Runs of rows on disk: four plain arrays per folder, written from a stream, then mapped."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Csr, Int32
from vicinal._base.durable import naming, sync_folder
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.validation import csr_parts
from vicinal.index.row_ids import MOST_IDS
from vicinal.index.row_run import BLOCK_ENTRIES, NO_TOMBSTONES, RowRun
from vicinal.index.stored_postings import StoredPostings, check_ranges

FILES = {"indptr": np.int64, "indices": np.int32, "ids": np.int32}
"""Number types of all files except ``values``; little-endian, like everything we write."""


class RunWriter:
    """Writes a stream of rows to a new folder.

    Memory: only the rows passed to :meth:`append`. :meth:`finish` returns the manifest entry of the
    run; a folder that no manifest lists is ignored.
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
        """Flush everything to disk and return the manifest entry of this run."""
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
            "sha256": {name: _digest(self._folder / name) for name in self._streams},
            "removed": None,
        }

    def close(self) -> None:
        """Close the files, even if they are incomplete."""
        for stream in self._streams.values():
            stream.close()

    def _write(self, name: str, array: NDArray[Any]) -> None:
        with naming(self._folder / name):
            self._streams[name].write(np.ascontiguousarray(array).data)


def write_run(
    folder: Path, blocks: Iterable[tuple[Csr, Int32]], dtype: "np.dtype[Any] | None" = None
) -> dict[str, Any]:
    """Write blocks of rows and ids as one run and return its manifest entry.

    `dtype` is the type of the values; None for that of the first block.
    """
    writer = RunWriter(folder, dtype)
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
    return {"file": file.name, "sha256": _digest(file)}


def open_run(
    folder: Path, entry: dict[str, Any], n_features: int, verify: bool, *, check: bool = True
) -> RowRun:
    """Map the run that a manifest entry describes, and check its structure.

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
    # Row starts and ids are small and are read into memory: 12 bytes per row.
    run = RowRun(
        np.array(arrays["indptr"]),
        arrays["indices"],
        arrays["values"],
        np.array(arrays["ids"]),
        n_features,
        removed,
        entry["name"],
        postings=postings,
    )
    _check_starts(run, place)
    if check:
        check_entries(run, place, 0, len(run))
    return run


def _mapped(file: Path, dtype: Any, size: int, sha256: str | None) -> NDArray[Any]:
    """Map a file of exactly `size` numbers."""
    kind = np.dtype(dtype).newbyteorder("<")
    try:
        found = file.stat().st_size
    except FileNotFoundError:
        raise ModelFormatError(f"{file}: missing") from None
    if found != size * kind.itemsize:
        raise ModelFormatError(f"{file}: expected {size * kind.itemsize} bytes, found {found}")
    if sha256 is not None and _digest(file) != sha256:
        raise ModelFormatError(f"{file}: damaged: its checksum does not match")
    if not size:
        return np.zeros(0, dtype=kind)
    # A plain read-only view: slices of a memmap object would be memmap objects too. Of a `Path`,
    # NumPy would follow every link.
    return np.asarray(np.memmap(str(file), kind, "r", shape=(size,)))


def _check_starts(run: RowRun, place: Path) -> None:
    """Raise if native code could not read the row starts or ids safely."""
    starts, ids = run.indptr, run.ids
    is_sound = (
        starts[0] == 0
        and starts[-1] == len(run.indices)
        and bool(np.all(starts[1:] >= starts[:-1]))
        and (not len(ids) or (ids[0] >= 0 and ids[-1] < MOST_IDS))
        and bool(np.all(ids[1:] > ids[:-1]))
    )
    if not is_sound:
        raise ModelFormatError(f"{place}: expected ascending row starts and row ids")


def check_entries(run: RowRun, place: Path, start: int, stop: int) -> None:
    """Raise if rows `start` to `stop` have unsorted column ids or values that are not finite."""
    while start < stop:
        most = int(run.indptr[start]) + BLOCK_ENTRIES
        end = int(np.searchsorted(run.indptr, most, side="right")) - 1
        end = min(max(end, start + 1), stop)
        first, last = int(run.indptr[start]), int(run.indptr[end])
        columns, values = run.indices[first:last], run.values[first:last]
        rises = np.ones(len(columns), dtype=np.bool_)
        rises[1:] = columns[1:] > columns[:-1]
        heads = run.indptr[start:end] - first
        rises[heads[heads < len(columns)]] = True
        inside = not len(columns) or (columns.min() >= 0 and columns.max() < run.n_features)
        if not (inside and rises.all() and np.isfinite(values).all()):
            raise ModelFormatError(f"{place}: expected ascending column ids and finite values")
        start = end


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
