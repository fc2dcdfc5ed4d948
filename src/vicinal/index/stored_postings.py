"""Postings on disk, beside the rows they belong to: written once, then mapped into memory."""

import hashlib
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.durable import naming, sync_folder
from vicinal._base.errors import ModelFormatError
from vicinal._base.free_memory import release_free_memory
from vicinal.index.row_run import RowRun
from vicinal.index.segment import Build, Segment

FEWEST_ENTRIES = 2**20
"""Postings of smaller runs are not written: building them takes a tenth of a second."""


@dataclass(frozen=True)
class PostingsWriter:
    """How the postings of a new run are written.

    Parameters
    ----------
    build : Build
    range_entries : int
        Most entries whose postings are built at a time, by each thread.
    n_threads : int
    """

    build: Build
    range_entries: int
    n_threads: int

    def write(self, folder: Path, run: RowRun) -> list[dict[str, Any]]:
        """Write postings to the folder of a run; return what the manifest says of them.

        Memory: 16 bytes per entry of a range and thread at most, while they are built.
        """
        if run.n_entries < FEWEST_ENTRIES:
            return []
        ranges = list(run.ranges(self.range_entries))
        release_free_memory()  # of the rows that were just written

        def written(number: int) -> dict[str, Any]:
            entry = self._write_range(folder / f"postings-{number}", run, *ranges[number])
            release_free_memory()  # of the postings that were just written
            return entry

        with ThreadPoolExecutor(self.n_threads) as pool:
            each = map if len(ranges) == 1 else pool.map  # no thread for one range
            entries = list(each(written, range(len(ranges))))
        sync_folder(folder)
        return entries

    def _write_range(self, file: Path, run: RowRun, start: int, stop: int) -> dict[str, Any]:
        segment = Segment.of(run.rows(start, stop), run.ids[start:stop], self.build)
        checksum = hashlib.sha256()
        with naming(file), file.open("wb") as stream:

            def write(piece: NDArray[np.uint8]) -> None:
                stream.write(piece.data)
                checksum.update(piece.data)

            segment.native.store(write)
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
    """Postings of rows `start` to `stop` of a run, mapped from a file."""

    file: Path
    start: int
    stop: int
    data: NDArray[np.uint8]

    def segment(self, run: RowRun, build: Build) -> Segment:
        """Return the rows with these postings, whose structure is checked."""
        rows, ids = run.rows(self.start, self.stop), run.ids[self.start : self.stop]
        try:
            return Segment.of(rows, ids, build, self.data)
        except ValueError as error:
            raise ModelFormatError(f"{self.file}: damaged: expected {error}") from None


def search_ranges(run: RowRun, entries: int) -> Iterator[tuple[int, int]]:
    """Yield which rows are searched together: those whose postings are stored together, if any.

    Without stored postings, rows of at most so many entries.
    """
    if run.postings:
        yield from ((each.start, each.stop) for each in run.postings)
    else:
        yield from run.ranges(entries)


def check_ranges(postings: tuple[StoredPostings, ...], n_rows: int, folder: Path) -> None:
    """Refuse postings that do not cover all rows of a run, each once."""
    stops = [0, *(each.stop for each in postings)]
    starts = [*(each.start for each in postings), n_rows]
    if postings and (starts != stops or any(each.start >= each.stop for each in postings)):
        raise ModelFormatError(f"{folder}: expected postings of all rows, each once")
