"""Stores for the segments of an index: a folder, where every change is atomic, or memory."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from vicinal._core.arrays import Csr, Int32
from vicinal._core.csr import stacked
from vicinal._core.validation import csr_parts
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.index.segment_files import (
    IN_FILES,
    Manifest,
    PostingsWriter,
    SegmentRows,
    check_folder,
    new_name,
    open_segment,
    read_manifest,
    remove_unlisted,
    write_manifest,
    write_removed,
    write_segment,
    writing,
)


class Merged:
    """The remaining rows of several segments, which are to be merged into one."""

    def __init__(self, segments: Sequence[SegmentRows]) -> None:
        self.segments = tuple(segments)
        self.dtype: np.dtype[Any] = np.result_type(*(each.values.dtype for each in segments))

    def blocks(self) -> Iterator[tuple[Csr, Int32]]:
        """Yield the rows with their ids, in blocks."""
        for segment in self.segments:
            yield from segment.blocks_left()


class Store(Protocol):
    """Applies changes to segments."""

    def change(
        self, parts: Sequence[SegmentRows | Merged], n_ids: int, postings: PostingsWriter
    ) -> tuple[SegmentRows, ...]:
        """Store these segments, some of them merged or with removed rows; return them as stored."""


class MemoryStore:
    """Segments in the memory of this process."""

    def change(
        self, parts: Sequence[SegmentRows | Merged], n_ids: int, postings: PostingsWriter
    ) -> tuple[SegmentRows, ...]:
        """Merge the segments that are to be merged."""
        segments = [_joined(part) if isinstance(part, Merged) else part for part in parts]
        return tuple(each for each in segments if len(each))


class FolderStore:
    """Segments in a folder, as this process last read or wrote it.

    A change writes new files, then atomically replaces the manifest, then deletes files that the
    manifest does not list. If the process is killed at any moment, the folder contains either the
    complete old index or the complete new one, and the next writer deletes unlisted files.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @classmethod
    def create(
        cls,
        folder: Path,
        chunks: Iterable[Csr],
        metric: str,
        max_memory: int,
        postings: PostingsWriter | None,
    ) -> "FolderStore":
        """Write rows as a new index, which replaces an existing one once all rows are written."""
        check_folder(folder)
        folder.mkdir(parents=True, exist_ok=True)
        with writing(folder):
            numbered = _Numbered(chunks)
            entry = write_segment(folder / new_name(IN_FILES), numbered.blocks())
            if numbered.n_features is None:
                raise InvalidArgumentError("chunks", "at least one chunk of rows", "none")
            version = new_name("version")
            sizes = numbered.n_features, numbered.n_rows
            entry = _with_postings(folder, entry, numbered.n_features, postings)
            stored = postings is not None
            manifest = Manifest(metric, *sizes, max_memory, (entry,), version, stored)
            write_manifest(folder, manifest)
            remove_unlisted(folder, manifest)
        return cls(folder, manifest)

    @classmethod
    def open(cls, folder: Path) -> "FolderStore":
        """Read the manifest of a folder."""
        return cls(folder, read_manifest(folder))

    @classmethod
    def open_whole(
        cls, folder: Path, verify: bool
    ) -> tuple["FolderStore", tuple[SegmentRows, ...]]:
        """Read the manifest, map the segments; both again if a writer replaced them meanwhile."""
        store = cls.open(folder)
        while True:
            try:
                return store, store.segments(verify)
            except (ModelFormatError, OSError):
                newer = cls.open(folder)
                if newer.manifest.version == store.manifest.version:
                    raise
                store = newer

    def segments(self, verify: bool) -> tuple[SegmentRows, ...]:
        """Map all segments and check that their ids ascend and have been assigned."""
        segments = tuple(self._open(entry, verify) for entry in self.manifest.segments)
        kept = [each.ids for each in segments if len(each)]
        ends = [end for ids in kept for end in (int(ids[0]), int(ids[-1]) + 1)]
        if ends != sorted(ends) or any(end > self.manifest.n_ids for end in ends):
            expected = "expected row ids that ascend from segment to segment"
            raise ModelFormatError(f"{self.folder}: {expected}")
        return segments

    def change(
        self, parts: Sequence[SegmentRows | Merged], n_ids: int, postings: PostingsWriter
    ) -> tuple[SegmentRows, ...]:
        """Write new and merged segments and removal marks, then the manifest."""
        with writing(self.folder):
            if read_manifest(self.folder).version != self.manifest.version:
                expected = "an index that no other process has changed since it was opened"
                raise InvalidArgumentError("folder", expected, f"{self.folder}: open it again")
            known = {entry["name"]: entry for entry in self.manifest.segments}
            changed: list[tuple[SegmentRows | None, dict[str, Any]]] = []
            for part in parts:
                if isinstance(part, Merged):
                    entry = write_segment(
                        self.folder / new_name(IN_FILES), part.blocks(), part.dtype
                    )
                    if entry["rows"]:
                        writer = postings if self.manifest.postings else None
                        entry = _with_postings(self.folder, entry, self.manifest.n_features, writer)
                        changed.append((None, entry))
                else:
                    changed.append((part, self._with_removed(known[part.name], part)))
            manifest = Manifest(
                self.manifest.metric,
                self.manifest.n_features,
                n_ids,
                self.manifest.max_memory,
                tuple(entry for _, entry in changed),
                new_name("version"),
                self.manifest.postings,
            )
            write_manifest(self.folder, manifest)
            self.manifest = manifest
            segments = tuple(
                self._open(entry, False) if same is None else same for same, entry in changed
            )
            remove_unlisted(self.folder, manifest)
        return segments

    def _with_removed(self, entry: dict[str, Any], segment: SegmentRows) -> dict[str, Any]:
        """Return the manifest entry of a segment, after writing which rows are removed, if any."""
        if not len(segment.removed):
            return entry
        file = self.folder / new_name("removed")
        return {**entry, "removed": write_removed(file, segment.removed)}

    def _open(self, entry: dict[str, Any], verify: bool) -> SegmentRows:
        return open_segment(self.folder, entry, self.manifest.n_features, verify)


def _with_postings(
    folder: Path, entry: dict[str, Any], n_features: int, writer: PostingsWriter | None
) -> dict[str, Any]:
    """Write the postings of a segment that was just written; return its entry in the manifest."""
    if writer is None:
        return entry
    segment = open_segment(folder, entry, n_features, verify=False, check=False)
    return {**entry, "postings": writer.write(folder / segment.name, segment)}


class _Numbered:
    """Chunks of rows with ids that start at 0."""

    def __init__(self, chunks: Iterable[Csr]) -> None:
        self._chunks = chunks
        self.n_rows = 0
        self.n_features: int | None = None

    def blocks(self) -> Iterator[tuple[Csr, Int32]]:
        """Yield each chunk with its ids."""
        for rows in self._chunks:
            self.n_features = int(rows.shape[1])
            first, self.n_rows = self.n_rows, self.n_rows + int(rows.shape[0])
            yield rows, np.arange(first, self.n_rows, dtype=np.int32)


def _joined(merged: Merged) -> SegmentRows:
    """Return the remaining rows as one segment in memory."""
    blocks = list(merged.blocks())
    n_features = merged.segments[0].n_features
    if not blocks:
        empty = np.zeros(0, dtype=np.int32)
        return SegmentRows(np.zeros(1, dtype=np.int64), empty, np.zeros(0), empty, n_features)
    rows = stacked([rows for rows, _ in blocks])
    indptr, indices = csr_parts(rows)
    ids = np.concatenate([ids for _, ids in blocks])
    return SegmentRows(indptr, indices, rows.data, ids, n_features)


MERGED = 8
"""Consecutive segments of one level that are merged; a row is written about log8(n) times."""


def level(n_rows: int) -> int:
    """Return the level of a segment; segments of the next level are eight times as large."""
    return (max(n_rows, 1).bit_length() - 1) // (MERGED.bit_length() - 1)


def tail_to_merge(sizes: Sequence[int]) -> int:
    """Return how many segments at the end to merge into one; 0 for none.

    Only consecutive segments are merged, so that ids ascend from segment to segment. Once there are
    :data:`MERGED` segments of one level, they are merged together with all preceding segments whose
    level is no higher than that of the merged rows.
    """
    merged = 0
    while True:
        rest = sizes[: len(sizes) - merged]
        top = level(sum(sizes[len(sizes) - merged :])) if merged else level(rest[-1]) if rest else 0
        more = 0
        while more < len(rest) and level(rest[-1 - more]) <= top:
            more += 1
        if more + (1 if merged else 0) < MERGED:
            return merged
        merged += more
