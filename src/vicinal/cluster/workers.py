"""Parts of the rows that one task searches, and how a worker gets at them."""

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any, TypeAlias
from weakref import finalize

import dask
import numpy as np
from distributed import Client, Future, KilledWorker

from vicinal._core.arrays import Csr, Float, Int32
from vicinal._core.validation import as_csr, check_features
from vicinal.distances import get_distance
from vicinal.index.inverted import Build, Segment
from vicinal.index.segment_files import SegmentRows, check_entries, open_segment
from vicinal.index.segmented import PostingsCache, RowRange

Found: TypeAlias = tuple[Int32, Float]
"""Places of rows (−1 for none) and their keys, smaller is nearer; one list per query."""


def merge_found(parts: Sequence[Found]) -> Found:
    """Return the nearest of several lists of the same width, by (key, place).

    Keys, not values, are compared: two squared distances may have one rounded root. The result does
    not depend on the order of the parts nor on how they are grouped.
    """
    if len(parts) == 1:
        return parts[0]
    width = parts[0][0].shape[1]
    places = np.hstack([places for places, _ in parts])
    keys = np.hstack([keys for _, keys in parts])
    order = np.lexsort((places, keys, places < 0), axis=1)[:, :width]
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(keys, order, axis=1)


@dataclass(frozen=True)
class FileRows:
    """Rows `start` to `stop` of a segment in a folder that every worker sees under this path."""

    folder: str
    entry: str
    n_features: int
    start: int
    stop: int


@dataclass(frozen=True)
class RangeSearch:
    """How a task searches: plain values, so that equal tasks have equal keys."""

    metric: str
    max_memory: int
    width: int
    n_rows: int
    n_threads: int = 1


class _Worker:
    """What one worker process keeps between tasks: mapped segments and the postings that fit."""

    def __init__(self) -> None:
        self._changing = Lock()
        self._segments: dict[tuple[str, str], SegmentRows] = {}
        self._checked: set[FileRows] = set()
        self._blocks: dict[str, SegmentRows] = {}
        self._postings: dict[tuple[str, int], PostingsCache] = {}
        self._building: dict[object, Lock] = {}

    def segment(self, rows: FileRows) -> SegmentRows:
        """Return a segment mapped from its folder, the rows that a task reads checked once."""
        key, folder = (rows.folder, rows.entry), Path(rows.folder)
        with self._changing:
            if key not in self._segments:
                entry = json.loads(rows.entry)
                self._segments[key] = open_segment(
                    folder, entry, rows.n_features, False, check=False
                )
            segment = self._segments[key]
            if rows not in self._checked:
                check_entries(segment, folder / segment.name, rows.start, rows.stop)
                self._checked.add(rows)
        return segment

    def block(self, name: str, rows: Csr) -> SegmentRows:
        """Return rows that came as a value, under the name of the task that made them."""
        with self._changing:
            if name not in self._blocks:
                self._blocks[name] = SegmentRows.of(as_csr(check_features(rows)), 0)
                finalize(rows, self._forget, name)
            return self._blocks[name]

    def _forget(self, name: str) -> None:
        """Drop a block, and its postings, once Dask has let go of it."""
        block = self._blocks.pop(name, None)
        for postings in tuple(self._postings.values()):
            postings.drop(block.token if block is not None else None)

    def search(
        self, parts: Sequence[RowRange], search: RangeSearch, queries: Csr, own: Int32
    ) -> Found:
        """Search ranges of rows one after the other: what is found in one narrows the next."""
        shape = queries.shape[0], search.width
        found = np.full(shape, -1, dtype=np.int32), np.zeros(shape)
        for part in parts:
            indexed = self._indexed(part, search)
            indexed.search(queries, own, found, part.first, search.n_rows, search.n_threads, 32)
        return found

    def _indexed(self, part: RowRange, search: RangeSearch) -> Segment:
        """Return a range with its postings, kept ones or new."""
        with self._changing:
            postings = self._postings.setdefault(
                (search.metric, search.max_memory), _postings(search)
            )
            lock = self._building.setdefault(part.key, Lock())
        with lock:  # two tasks of one shard build its postings once
            ((_, indexed),) = postings.indexed([part])
        return indexed


_WORKER = _Worker()


def _postings(search: RangeSearch) -> PostingsCache:
    return PostingsCache(Build.standard(get_distance(search.metric)), search.max_memory, 1)


def search_files(
    rows: Sequence[tuple[FileRows, int]],
    queries: Csr | FileRows,
    own_first: int | None,
    search: RangeSearch,
) -> Found:
    """Search rows of folders, each with the place of its first row; a pure task."""
    parts = [RowRange(_WORKER.segment(each), each.start, each.stop, first) for each, first in rows]
    asked, own = _queries(queries, own_first)
    return _WORKER.search(parts, search, asked, own)


def search_block(
    rows: Csr, name: str, first: int, queries: Csr, own_first: int | None, search: RangeSearch
) -> Found:
    """Search rows that another task gave; a pure task."""
    block = _WORKER.block(name, rows)
    asked, own = _queries(queries, own_first)
    return _WORKER.search([RowRange(block, 0, len(block), first)], search, asked, own)


def _queries(queries: Csr | FileRows, own_first: int | None) -> tuple[Csr, Int32]:
    """Return queries and, for a leave-one-out search, the place each has itself."""
    if isinstance(queries, FileRows):
        queries = _WORKER.segment(queries).rows(queries.start, queries.stop)
    count = int(queries.shape[0])
    own = np.zeros(0) if own_first is None else np.arange(own_first, own_first + count)
    return as_csr(check_features(queries)), own.astype(np.int32)


def value(given: Any) -> Any:
    """Return what is given: a task that holds a value, so that it survives its worker."""
    return given


def shape_of(rows: Csr) -> tuple[int, int]:
    """Return the shape of a block; a pure task."""
    return int(rows.shape[0]), int(rows.shape[1])


LISTS_PER_TASK = 8
"""So many lists are merged by one task."""

LARGE_GRAPH = "1GB"
"""Dask warns of tasks that hold much data; ours do where a caller passes local arrays."""


def merged(client: Client, parts: Sequence[Future]) -> Future:
    """Return the future of all lists merged, by a tree of pure tasks."""
    level = list(parts)
    while len(level) > 1:
        groups = [level[i : i + LISTS_PER_TASK] for i in range(0, len(level), LISTS_PER_TASK)]
        level = [
            client.submit(merge_found, group) if len(group) > 1 else group[0] for group in groups
        ]
    return level[0]


@contextmanager
def holding_data() -> Iterator[None]:
    """Within, tasks may hold blocks of rows."""
    with dask.config.set({"distributed.admin.large-graph-warning-threshold": LARGE_GRAPH}):
        yield


class WorkersLostError(RuntimeError):
    """Workers died again and again while they ran the same task."""


def _result(future: Future) -> Any:
    """Return the result of a task; errors that come from too little memory say what to do."""
    try:
        return future.result()
    except KilledWorker as error:
        raise WorkersLostError(
            "workers died again and again while they searched, most likely for lack of memory: "
            "start workers with --memory-limit 0, give ClusterIndex a smaller max_memory, or give "
            f"workers fewer threads ({error})"
        ) from error
    except MemoryError as error:
        raise MemoryError(
            "a worker ran out of memory while it searched: give ClusterIndex a smaller max_memory "
            f"or block_queries, or give workers fewer threads ({error})"
        ) from error


def in_flight(client: Client, starters: Iterable[Callable[[], Future]], most: int) -> Iterator[Any]:
    """Yield the results of tasks in order, at most so many started at a time.

    Where the caller stops, an error comes or Ctrl-C is pressed, the tasks under way are cancelled.
    """
    running: deque[Future] = deque()
    try:
        for start in starters:
            running.append(start())
            if len(running) >= most:
                yield _result(running[0])
                running.popleft().release()
        while running:
            yield _result(running[0])
            running.popleft().release()
    finally:
        if running:
            client.cancel(list(running))
