"""Compiled postings of ranges of rows: mapped where they are stored, else built within a limit."""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from vicinal._base.fork_lock import ForkLock
from vicinal._base.free_memory import release_free_memory
from vicinal.index.row_run import RowRun
from vicinal.index.segment import Build, Segment
from vicinal.index.stored_postings import PostingsWriter

BYTES_PER_ENTRY = 16
"""Maximum memory of postings per stored value in bytes; 6 to 8 are typical."""


@dataclass(frozen=True)
class RowRange:
    """Rows `start` to `stop` of a run, searched together; `first` is the place of the first row."""

    run: RowRun
    start: int
    stop: int
    first: int

    @property
    def key(self) -> tuple[object, int, int]:
        """Key of the postings, which do not depend on removed rows."""
        return self.run.token, self.start, self.stop

    def segment(self, build: Build) -> Segment:
        """Return the rows with their postings, stored ones or new."""
        for each in self.run.postings:
            if (each.start, each.stop) == (self.start, self.stop):
                return each.segment(self.run, build)
        rows = self.run.rows(self.start, self.stop)
        return Segment.of(rows, self.run.ids[self.start : self.stop], build)


class PostingsCache:
    """Keeps postings as long as they fit; builds the others in each search and drops them after it.

    Stored postings are mapped: they use no memory of the process and are always kept. A search
    visits every range once, so evicting the least recently used range would evict exactly the one
    that the next search needs first. Ranges that fit therefore stay, and the others are built again
    each time.

    Parameters
    ----------
    build : Build
    max_memory : int
        Maximum bytes of postings, both kept and in use by one search.
    n_threads : int
        Number of ranges that are built at the same time.
    """

    def __init__(self, build: Build, max_memory: int, n_threads: int) -> None:
        self._build = build
        self._max_memory = max_memory
        self._n_threads = n_threads
        self._kept: dict[tuple[object, int, int], Segment] = {}
        self._changing = ForkLock()

    @property
    def range_entries(self) -> int:
        """Maximum entries of a range: half the limit is in use while each thread builds a range."""
        return max(1, self._max_memory // (2 * self._n_threads * BYTES_PER_ENTRY))

    @property
    def nbytes(self) -> int:
        """Memory of the kept postings in bytes."""
        return sum(segment.nbytes for segment in tuple(self._kept.values()))

    def writer(self) -> PostingsWriter:
        """Return how to write postings to disk within the same limit."""
        return PostingsWriter(self._build, self.range_entries, self._n_threads)

    def copy(self) -> "PostingsCache":
        """Return a cache that keeps the same postings."""
        twin = PostingsCache(self._build, self._max_memory, self._n_threads)
        twin._kept = dict(self._kept)
        return twin

    def retain(self, ranges: Iterable[RowRange]) -> None:
        """Drop the postings of all other ranges."""
        wanted = {each.key for each in ranges}
        with self._changing:
            self._kept = {key: value for key, value in self._kept.items() if key in wanted}

    def drop(self, token: object) -> None:
        """Drop the postings of a run."""
        with self._changing:
            self._kept = {key: value for key, value in self._kept.items() if key[0] is not token}

    def segments(self, ranges: Sequence[RowRange]) -> Iterator[tuple[RowRange, Segment]]:
        """Yield each range with its postings; every thread builds one range at a time."""
        step = self._n_threads
        with ThreadPoolExecutor(step) as pool:
            for start in range(0, len(ranges), step):
                group = ranges[start : start + step]
                is_kept = all(each.key in self._kept for each in group)
                if start and not is_kept:
                    release_free_memory()  # that of the postings just dropped
                is_short = is_kept or len(group) == 1  # no thread to look up, nor for one range
                found = (map if is_short else pool.map)(self._segment, group)
                yield from zip(group, found, strict=True)
                self._drop_grown(group)

    def _segment(self, wanted: RowRange) -> Segment:
        """Return the postings of a range, built if they are not kept."""
        removed = wanted.run.removed_in(wanted.start, wanted.stop)
        segment = self._kept.get(wanted.key)
        if segment is None:
            segment = wanted.segment(self._build)
            with self._changing:
                if self.nbytes + segment.nbytes <= self._max_memory // 2:
                    self._kept[wanted.key] = segment
        return replace(segment, removed=removed)

    def _drop_grown(self, group: Sequence[RowRange]) -> None:
        """Drop postings that took up more memory while they were searched than the limit allows.

        Binary rows get further postings when they are first asked with other values.
        """
        with self._changing:
            if self.nbytes > self._max_memory // 2:
                for each in group:
                    self._kept.pop(each.key, None)
