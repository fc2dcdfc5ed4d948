"""The views of a blend in a folder: rows, what a search reads, and centroids, all memory-mapped.

A view has a folder of its own, whose name is made of what the view was built from: the look, the
rows and the labels. It contains a :class:`~vicinal.index.SegmentedIndex` of the rows as the view
sees them, the lists of the centroids as plain arrays, and ``view.json``, which is written last. A
folder without it belongs to a process that died; its contents are written again.

What the model learns and forgets afterwards is appended to a file beside the views, a line per
change, which is on disk before the change is visible. Views never change: a model that is loaded
makes the changes again, in memory.
"""

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from vicinal._core.arrays import ENTRIES_AT_ONCE, Csr, Float, Int, count_columns, row_blocks
from vicinal._core.csr import bare_csr, take_rows, trust
from vicinal._core.files import (
    locked,
    machine_memory,
    naming,
    read_singly,
    release_free_memory,
    replacing,
    sync_file,
    sync_folder,
)
from vicinal._core.progress import part
from vicinal._core.state import State, read_part
from vicinal._core.threads import thread_count
from vicinal._core.validation import as_csr, csr_parts
from vicinal._native import LabelCentroids, centroid_lists
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.index import SegmentedAlgorithm, SegmentedIndex, TrainingRows
from vicinal.index.segment_files import are_same_rows
from vicinal.methods.fitted_state import FittedState, RowNames

if TYPE_CHECKING:
    from vicinal.index.segmented import Tasks
    from vicinal.methods.blend.parts import Look

FORMAT = "vicinal view 1"
ARRAYS = {
    "starts": np.int64,
    "wide_starts": np.int64,
    "labels": np.int32,
    "sums": np.uint32,
    "wide": np.int64,
    "wide_places": np.uint32,
}
"""Number types of the files of the centroids: see ``CentroidBlock`` of the compiled core."""


StoredView = tuple[SegmentedIndex, LabelCentroids, tuple[NDArray[Any], ...]]
"""Rows and centroids, and the lists of the centroids if the view is large."""


def stored_view(
    look: "Look", X: Csr, Y: Csr, algorithm: SegmentedAlgorithm, n_jobs: int | None
) -> StoredView:
    """Return the rows in a view and their centroids, mapped; written if they are not there yet.

    Memory: what the limit of `algorithm` allows, 20 bytes per row, 24 per feature and per label.
    """
    folder = Path(str(algorithm.folder)) / f"view-{fingerprint(look, X, Y)[:32]}"
    memory = algorithm.limit
    if algorithm.is_written and not (folder / "view.json").is_file():
        expected = "expected the folder that the model was trained with --out-of-core in"
        raise ModelFormatError(f"{algorithm.folder}: {expected}: {folder.name} is missing")
    if not (folder / "view.json").is_file():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        with part(f"Writing rows, {look.name}"):
            SegmentedIndex.build(
                seen_blocks(look, X), folder / "rows", look.metric, max_memory=memory, n_jobs=n_jobs
            )
    index = SegmentedIndex.open(folder / "rows", max_memory=memory, n_jobs=n_jobs, verify=False)
    if not (folder / "view.json").is_file():
        with part(f"Writing centroids, {look.name}"):
            sizes = write_centroids(folder, index.X, Y, memory, algorithm.tasks)
        with replacing(folder / "view.json") as beside:
            beside.write_text(json.dumps({"format": FORMAT, "sizes": sizes}) + "\n")
    return _searchable(folder, index, int(Y.shape[1]))


def opened_view(folder: Path, memory: int, n_labels: int) -> StoredView:
    """Return the rows and the centroids of a view that is written, for one thread."""
    index = SegmentedIndex.open(folder / "rows", max_memory=memory, n_jobs=1, verify=False)
    return _searchable(folder, index, n_labels)


LARGE_VIEW = 0.25
"""Share of the memory of the machine above which pages of a view are read one by one. Reading
megabytes around each is the quicker way to get all of a smaller view into the cache."""


def _searchable(folder: Path, index: SegmentedIndex, n_labels: int) -> StoredView:
    """Return the rows and the centroids of a view; of a large one, only what is asked for is read.

    The lists of features that a search reads are read by and by in full.
    """
    arrays = centroid_arrays(folder)
    centroids = open_centroids(folder, n_labels, arrays)  # which reads all of them once
    rows = index.X
    mapped = rows.indices, rows.data, *arrays
    if sum(each.nbytes for each in mapped) > LARGE_VIEW * machine_memory():
        for each in mapped:
            read_singly(each)
        return index, centroids, tuple(arrays)
    return index, centroids, ()


def fingerprint(look: "Look", X: Csr, Y: Csr) -> str:
    """Return what tells a view of these rows and labels from all others."""
    found = hashlib.blake2b(digest_size=20)
    facts = [look.kind, look.metric, look.is_count, *look.columns, *X.shape, *Y.shape, str(X.dtype)]
    found.update(json.dumps(facts).encode())
    for array in (look.first, X.indptr, X.indices, X.data, Y.indptr, Y.indices):
        found.update(np.ascontiguousarray(array).data)
    return found.hexdigest()


def seen_blocks(look: "Look", X: Csr) -> Iterator[Csr]:
    """Yield blocks of rows as a view sees them."""
    for start, stop in row_blocks(X.indptr):
        first, last = int(X.indptr[start]), int(X.indptr[stop])
        starts = (X.indptr[start : stop + 1] - first).astype(np.int32)
        shape = (stop - start, int(X.shape[1]))
        seen = look.of(bare_csr(X.data[first:last], X.indices[first:last], starts, shape))
        if isinstance(seen, np.ndarray):
            raise TypeError("expected a view of words")
        yield seen


@dataclass(eq=False)
class CentroidRows:
    """Rows whose centroids are computed, some features at a time; workers read them themselves."""

    folder: Path
    Y: Csr
    counts: Int
    lengths: Float
    rows: Csr | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Leave the rows out: they are in the folder."""
        return {**vars(self), "rows": None}

    def lists(self, first: int, at_once: int, n_threads: int = 1) -> tuple[Any, ...]:
        """Return the feature behind some, as many as have `at_once` entries, and their lists."""
        if self.rows is None:
            self.rows = SegmentedIndex.open(self.folder / "rows", verify=False).X
        indptr, indices = csr_parts(self.rows)
        values, doubles = self.rows.data[: indptr[-1]], self.folder / "values"
        if values.dtype != np.float64 and len(values):
            values = np.asarray(np.memmap(str(doubles), np.float64, "r"))
        labels = *csr_parts(self.Y), int(self.Y.shape[1])
        arrays = indptr, indices, values.astype(np.float64, copy=False), self.counts, self.lengths
        return centroid_lists(*arrays, *labels, first, at_once, n_threads)

    def ranges(self, at_once: int) -> Iterator[tuple[int, int]]:
        """Yield the arguments of :meth:`lists` for all features."""
        first, before = 0, np.append(0, np.cumsum(self.counts))
        while first < len(self.counts):
            yield first, at_once
            last = int(np.searchsorted(before, before[first] + at_once, side="right")) - 1
            first = max(first + 1, last)


def write_centroids(
    folder: Path, rows: Csr, Y: Csr, memory: int, tasks: "Tasks | None" = None
) -> dict[str, int]:
    """Write the lists of the centroids, some features at a time; return the arrays' sizes."""
    from vicinal.methods.blend.parts import row_lengths

    indptr, indices = csr_parts(rows)
    _write_doubles(folder / "values", rows.data[: indptr[-1]])
    counts, lengths = count_columns(indices, int(rows.shape[1])), row_lengths(rows)
    source = CentroidRows(folder, Y, counts, lengths, rows)
    per_entry = 12 + 32 * Y.nnz / max(1, Y.shape[0])
    at_once = max(1, int(memory / per_entry))
    found: Iterator[tuple[Any, ...]]
    if tasks is None:
        found = (source.lists(*each, thread_count()) for each in source.ranges(at_once))
    else:  # so many that all workers end together
        at_once = min(at_once, 1 + len(indices) // (RANGES_PER_TASK * tasks.at_once))
        found = tasks.run(CentroidRows.lists, source, source.ranges(at_once))
    sizes = dict.fromkeys(ARRAYS, 0)
    with naming(folder):
        streams = {name: (folder / name).open("wb") for name in ARRAYS}
        try:
            for name in ("starts", "wide_starts"):
                sizes[name] += streams[name].write(np.zeros(1, dtype=np.int64).data) // 8
            for _, *lists in found:
                arrays: dict[str, Any] = dict(zip(ARRAYS, lists, strict=True))
                arrays["starts"] = arrays["starts"][1:] + sizes["labels"]
                arrays["wide_starts"] = arrays["wide_starts"][1:] + sizes["wide"]
                for name, array in arrays.items():
                    streams[name].write(array.data)
                    sizes[name] += len(array)
                del arrays, lists
                release_free_memory()
        finally:
            for stream in streams.values():
                stream.close()
        (folder / "values").unlink(missing_ok=True)
        for name in ARRAYS:
            sync_file(folder / name)
        sync_folder(folder)
    return sizes


RANGES_PER_TASK = 8
"""Parts of the entries that each of the workers' threads gets, one after the other."""


def _write_doubles(file: Path, values: NDArray[Any]) -> None:
    """Write values that are not float64 to a file as such, block by block."""
    if values.dtype == np.float64 or not len(values):
        return
    with file.open("wb") as stream:
        for start in range(0, len(values), ENTRIES_AT_ONCE):
            stream.write(values[start : start + ENTRIES_AT_ONCE].astype(np.float64).data)


def centroid_arrays(folder: Path) -> list[NDArray[Any]]:
    """Map the lists of the centroids."""
    try:
        known: Any = json.loads((folder / "view.json").read_text())
        sizes = {name: int(known["sizes"][name]) for name in ARRAYS}
        is_sound = known["format"] == FORMAT
    except (ValueError, TypeError, KeyError):
        is_sound = False
    if not is_sound:
        raise ModelFormatError(f"{folder}: expected a view.json of the format {FORMAT!r}")
    arrays = []
    for name, kind in ARRAYS.items():
        file, size = folder / name, sizes[name] * np.dtype(kind).itemsize
        if not file.is_file() or file.stat().st_size != size:
            raise ModelFormatError(f"{file}: expected {size} bytes")
        whole = np.memmap(str(file), kind, "r") if size else np.zeros(0, dtype=kind)
        arrays.append(np.asarray(whole))
    return arrays


def open_centroids(folder: Path, n_labels: int, arrays: list[NDArray[Any]]) -> LabelCentroids:
    """Return the centroids whose lists are mapped; their structure is checked."""
    try:
        return LabelCentroids.stored(n_labels, *arrays)
    except ValueError as error:
        raise ModelFormatError(f"{folder}: damaged: {error}") from None


Change = dict[str, Any]
"""A line of a change log: rows ``learned``, ids ``forgotten``, or that the model was fitted again
(``recalibrated``)."""


class ChangeLog:
    """What a model changed since its file was saved, or could have been: a file beside its views.

    A line has a checksum, so that the end of a line that a dying process left is told from damage.

    `base`: the model before the changes from `start` on, as its file has it.
    `size`: where the changes end that the model has.
    """

    def __init__(self, file: Path, base: FittedState, start: int = 0) -> None:
        self.file = file
        self.base = base
        self.start = self.size = start
        self.is_writable = True

    @classmethod
    def new(cls, folder: str, base: FittedState) -> Self:
        """Return the log of a model that was just fitted."""
        return cls(Path(folder) / f"changes-{secrets.token_hex(8)}", base)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """Leave the log out of pickles: the copy of a model is in memory."""
        return type(None), ()

    def read_only(self) -> "ChangeLog":
        """Return a log for a copy of the model, whose changes are in memory."""
        twin = ChangeLog(self.file, self.base, self.start)
        twin.size, twin.is_writable = self.size, False
        return twin

    def rebase(self, version: FittedState) -> None:
        """Begin anew after a version, which has all changes up to here."""
        self.base, self.start = version, self.size

    def changes(self) -> Iterator[Change]:
        """Yield the changes after the base, and remember where they end; reads line by line."""
        if not self.file.is_file():
            return
        is_torn = False
        with self.file.open("rb") as stream:
            stream.seek(self.size)
            for line in stream:
                if not line.endswith(b"\n"):
                    return
                if is_torn:
                    raise ModelFormatError(f"{self.file}: damaged: a checksum does not match")
                text = _checked(line[:-1])
                is_torn = text is None  # of a last line: its end was lost in a power cut
                if text is not None:
                    self.size += len(line)
                    yield json.loads(text)

    def append(self, change: Change) -> None:
        """Put a change on disk."""
        text = json.dumps(change).encode()
        line = b"%s %s\n" % (hashlib.sha256(text).hexdigest().encode(), text)
        with locked(self.file.with_name(f"{self.file.name}.lock")), naming(self.file):
            with self.file.open("ab") as stream:
                is_new = stream.tell() == 0
            with self.file.open("r+b") as stream:
                stream.seek(max(self.size, 0))
                others = map(_checked, stream.read().split(b"\n")[:-1])
                if stream.tell() < self.size or self.size < 0 or any(others):
                    expected = "a model that nothing else has changed since it was loaded"
                    raise InvalidArgumentError("model", expected, f"{self.file}: load it again")
                stream.seek(self.size)
                stream.truncate()
                try:
                    stream.write(line)
                    stream.flush()
                    os.fsync(stream.fileno())
                    if is_new:
                        sync_folder(self.file.parent)
                except OSError:
                    with suppress(OSError):
                        os.truncate(self.file, self.size)
                    raise
        self.size += len(line)

    @contextmanager
    def recording(self, change: Change | None) -> Iterator[None]:
        """Put a change on disk; if making it fails, the model has to be loaded again."""
        if change is not None:
            self.append(change)
        try:
            yield
        except BaseException:
            self.size = -1 if change is not None else self.size
            raise


def _checked(line: bytes) -> bytes | None:
    """Return the text of a line; None if it does not have the checksum before it."""
    checksum, _, text = line.partition(b" ")
    return text if hashlib.sha256(text).hexdigest().encode() == checksum else None


def change_between(before: FittedState, after: FittedState) -> Change | None:
    """Return what was learned or forgotten between two versions, as a line of a log says it."""
    old, new = before.rows, after.rows
    if new.n_places > old.n_places:
        fresh = np.arange(old.n_places, new.n_places)
        known = len(before.label_names)
        return {
            "learned": len(fresh),
            "X": _plain(take_rows(new.X, fresh)),
            "Y": _plain(take_rows(after.scoring.Y, fresh)),
            "label names": list(after.label_names[known:]),
            "row names": _names_at(after.row_names, fresh.tolist()),
        }
    gone = new.gone.copy()
    gone[: len(old.gone)] &= ~old.gone
    return {"forgotten": new.place_ids[np.flatnonzero(gone)].tolist()} if gone.any() else None


def _names_at(names: RowNames | None, places: list[int]) -> list[str] | None:
    return None if names is None else [names[place] for place in places]


def _plain(rows: Any) -> list[list[Any]]:
    """Return a matrix as lists: row starts, columns, values."""
    return [rows.indptr.tolist(), rows.indices.tolist(), rows.data.tolist()]


def read_rows(parts: list[list[Any]], n_columns: int, dtype: Any) -> Csr:
    """Return a matrix from the lists of a log."""
    starts, columns, values = parts
    arrays = np.array(values, dtype), np.array(columns, np.int32), np.array(starts, np.int32)
    return trust(as_csr(bare_csr(*arrays, (len(starts) - 1, n_columns))))


JOINED_ENTRIES = 2**20
"""Entries of rows after which those that follow are learned on their own: 64 MiB as lists."""


def joined_changes(changes: Iterator[Change]) -> Iterator[Change]:
    """Yield changes; rows that were learned one after the other are learned together."""
    pending: Change | None = None
    for change in changes:
        if pending is not None and _can_join(pending, change):
            pending["learned"] += change["learned"]
            for name in ("X", "Y"):
                starts, *arrays = change[name]
                pending[name][0] += [start + pending[name][0][-1] for start in starts[1:]]
                for before, more in zip(pending[name][1:], arrays, strict=True):
                    before += more
            for name in ("label names", "row names"):
                if change[name] is not None:
                    pending[name] += change[name]
            continue
        if pending is not None:
            yield pending
        pending = change if "learned" in change else None
        if pending is None:
            yield change
    if pending is not None:
        yield pending


def _can_join(before: Change, change: Change) -> bool:
    have_names = (before.get("row names") is None) == (change.get("row names") is None)
    is_small = "learned" in change and len(before["X"][1]) + len(before["Y"][1]) < JOINED_ENTRIES
    return is_small and have_names


def is_log(name: str) -> bool:
    """Tell whether a name from a file is that of a log."""
    return re.fullmatch(r"changes-[0-9a-f]{16}", name) is not None


def views_in(state: Mapping[str, State]) -> tuple[str, int, str, int]:
    """Return where the views of a saved blend are, and from where on its changes."""
    match read_part(state, "views in", list):
        case [str() as folder, int() as memory, str() as name, int() as start] if (
            memory >= 2**20 and start >= 0 and is_log(name)
        ):
            return folder, memory, name, start
        case other:
            raise ModelFormatError(f"views in: expected a folder and a log, got {other!r}")


def index_of(rows: TrainingRows) -> SegmentedIndex | None:
    """Return the index whose folder training rows are mapped from; None if they are elsewhere."""
    algorithm = rows.algorithm
    index = algorithm.index if isinstance(algorithm, SegmentedAlgorithm) else None
    if index is None or not index.stamp or rows.n_empty or not are_same_rows(rows.X, index.X):
        return None
    return index


def rows_in(state: Mapping[str, State]) -> SegmentedIndex:
    """Return the rows of a saved blend, which are in a folder."""
    match read_part(state, "rows in", list):
        case [str() as folder, str() as stamp]:
            index = SegmentedIndex.open(folder, verify=False)
            if index.stamp == stamp:
                return index
            expected = "expected the folder that the model was trained with --out-of-core in"
            raise ModelFormatError(f"{folder}: {expected}: it has other rows")
        case other:
            raise ModelFormatError(f"rows in: expected a folder and its stamp, got {other!r}")
