"""The views of a blend in a folder: rows, what a search reads, and centroids, all memory-mapped.

A view has a folder of its own, whose name is made of what the view was built from: the look, the
rows and the labels. It contains a :class:`~vicinal.index.SegmentedIndex` of the rows as the view
sees them, the lists of the centroids as plain arrays, and ``view.json``, which is written last. A
folder without it belongs to a process that died; its contents are written again.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vicinal._core.arrays import ENTRIES_AT_ONCE, Csr, Float, count_columns, row_blocks
from vicinal._core.csr import bare_csr
from vicinal._core.files import naming, replacing, sync_file, sync_folder
from vicinal._core.progress import part
from vicinal._core.threads import thread_count
from vicinal._core.validation import csr_parts
from vicinal._native import LabelCentroids, centroid_lists
from vicinal.errors import ModelFormatError
from vicinal.index import SegmentedAlgorithm, SegmentedIndex

if TYPE_CHECKING:
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


def stored_view(
    look: "Look", X: Csr, Y: Csr, algorithm: SegmentedAlgorithm, n_jobs: int | None
) -> tuple[SegmentedIndex, LabelCentroids]:
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
            sizes = write_centroids(folder, index.X, Y, memory)
        with replacing(folder / "view.json") as beside:
            beside.write_text(json.dumps({"format": FORMAT, "sizes": sizes}) + "\n")
    return index, open_centroids(folder, int(Y.shape[1]))


def fingerprint(look: "Look", X: Csr, Y: Csr) -> str:
    """Return what tells a view of these rows and labels from all others."""
    found = hashlib.blake2b(digest_size=20)
    facts = [look.kind, look.metric, look.is_count, *look.columns, *X.shape, *Y.shape, str(X.dtype)]
    found.update(json.dumps(facts).encode())
    for array in (look.first, look.second, X.indptr, X.indices, X.data, Y.indptr, Y.indices):
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


def write_centroids(folder: Path, rows: Csr, Y: Csr, memory: int) -> dict[str, int]:
    """Write the lists of the centroids, some features at a time; return the arrays' sizes."""
    from vicinal.methods.blend.parts import row_lengths

    indptr, indices = csr_parts(rows)
    values = _doubles(folder / "values", rows.data[: indptr[-1]])
    counts, lengths = count_columns(indices, int(rows.shape[1])), row_lengths(rows)
    per_entry = 12 + 16 * Y.nnz / max(1, Y.shape[0])
    at_once = max(1, int(memory / per_entry))
    sizes = dict.fromkeys(ARRAYS, 0)
    with naming(folder):
        streams = {name: (folder / name).open("wb") for name in ARRAYS}
        try:
            for name in ("starts", "wide_starts"):
                sizes[name] += streams[name].write(np.zeros(1, dtype=np.int64).data) // 8
            first = 0
            while first < len(counts):
                first, *lists = centroid_lists(
                    indptr,
                    indices,
                    values,
                    counts,
                    lengths,
                    *csr_parts(Y),
                    int(Y.shape[1]),
                    first,
                    at_once,
                    thread_count(),
                )
                arrays: dict[str, Any] = dict(zip(ARRAYS, lists, strict=True))
                arrays["starts"] = arrays["starts"][1:] + sizes["labels"]
                arrays["wide_starts"] = arrays["wide_starts"][1:] + sizes["wide"]
                for name, array in arrays.items():
                    streams[name].write(array.data)
                    sizes[name] += len(array)
        finally:
            for stream in streams.values():
                stream.close()
        (folder / "values").unlink(missing_ok=True)
        for name in ARRAYS:
            sync_file(folder / name)
        sync_folder(folder)
    return sizes


def _doubles(file: Path, values: NDArray[Any]) -> Float:
    """Return values as float64; others are written to a file, block by block, and mapped."""
    if values.dtype == np.float64 or not len(values):
        return values.astype(np.float64, copy=False)
    with file.open("wb") as stream:
        for start in range(0, len(values), ENTRIES_AT_ONCE):
            stream.write(values[start : start + ENTRIES_AT_ONCE].astype(np.float64).data)
    return np.asarray(np.memmap(str(file), np.float64, "r"))


def open_centroids(folder: Path, n_labels: int) -> LabelCentroids:
    """Map the lists of the centroids; their structure is checked."""
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
    try:
        return LabelCentroids.stored(n_labels, *arrays)
    except ValueError as error:
        raise ModelFormatError(f"{folder}: damaged: {error}") from None
