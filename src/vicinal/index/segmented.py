"""Exact search over sparse rows that may exceed main memory, from a folder or from arrays."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np

from vicinal._core.arrays import Csr, Features, Float, Int, Int32
from vicinal._core.checks import check_integer
from vicinal._core.files import release_free_memory
from vicinal._core.threads import ForkLock, thread_count
from vicinal._core.validation import as_csr, check_features, check_rows, owned
from vicinal.distances import Distance, get_distance
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.index._common import (
    RowParts,
    by_row_id,
    check_room_for_ids,
    graph_width,
    should_compact,
)
from vicinal.index.inverted import Build, Segment
from vicinal.index.segment_files import (
    BLOCK_ENTRIES,
    PostingsWriter,
    SegmentRows,
    are_same_rows,
    new_name,
    search_ranges,
)
from vicinal.index.segment_store import FolderStore, MemoryStore, Merged, Store, tail_to_merge

BYTES_PER_ENTRY = 16
"""Maximum memory of postings per stored value in bytes; 6 to 8 are typical."""


@dataclass(frozen=True)
class RowRange:
    """Rows `start` to `stop` of a segment, searched together; `first` is the place of the first."""

    segment: SegmentRows
    start: int
    stop: int
    first: int

    @property
    def key(self) -> tuple[object, int, int]:
        """Key of the postings, which do not depend on removed rows."""
        return self.segment.token, self.start, self.stop

    def indexed(self, build: Build) -> Segment:
        """Return the rows with their postings, stored ones or new."""
        for each in self.segment.postings:
            if (each.start, each.stop) == (self.start, self.stop):
                return each.indexed(self.segment, build)
        rows = self.segment.searched(self.start, self.stop)
        return Segment.of(rows, self.segment.ids[self.start : self.stop], build)


class PostingsCache:
    """Keeps postings as long as they fit; builds the others in each search and drops them after it.

    Stored postings are mapped: they use no memory of the process and are always kept. A search
    visits every range once, so evicting the least recently used range would evict exactly the one
    that the next search needs first. Ranges that fit therefore stay, and the others are built again
    each time.

    `max_memory`: maximum bytes of postings, both kept and in use by one search.
    `n_threads`: number of ranges that are built at the same time.
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
        """Memory of the kept postings in bytes, without those that are mapped."""
        return sum(indexed.native.bytes() for indexed in tuple(self._kept.values()))

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
        """Drop the postings of a segment."""
        with self._changing:
            self._kept = {key: value for key, value in self._kept.items() if key[0] is not token}

    def indexed(self, ranges: Sequence[RowRange]) -> Iterator[tuple[RowRange, Segment]]:
        """Yield each range with its postings; every thread builds one range at a time."""
        step = self._n_threads
        with ThreadPoolExecutor(step) as pool:
            for start in range(0, len(ranges), step):
                group = ranges[start : start + step]
                is_kept = all(each.key in self._kept for each in group)
                if start and not is_kept:
                    release_free_memory()  # that of the postings just dropped
                is_short = is_kept or len(group) == 1  # no thread to look up, nor for one range
                found = (map if is_short else pool.map)(self._indexed, group)
                yield from zip(group, found, strict=True)
                self._drop_grown(group)

    def _indexed(self, wanted: RowRange) -> Segment:
        """Return the postings of a range, built if they are not kept."""
        removed = wanted.segment.removed_in(wanted.start, wanted.stop)
        indexed = self._kept.get(wanted.key)
        if indexed is None:
            indexed = wanted.indexed(self._build)
            with self._changing:
                if self.nbytes + indexed.native.bytes() <= self._max_memory // 2:
                    self._kept[wanted.key] = indexed
        return replace(indexed, removed=removed)

    def _drop_grown(self, group: Sequence[RowRange]) -> None:
        """Drop postings that took up more memory while they were searched than the limit allows.

        Binary rows get further postings when they are first asked with other values.
        """
        with self._changing:
            if self.nbytes > self._max_memory // 2:
                for each in group:
                    self._kept.pop(each.key, None)


@dataclass(frozen=True, eq=False)
class SegmentVersion(RowParts[SegmentRows]):
    """An immutable version of the segments, so that changes do not disturb running searches."""

    segments: tuple[SegmentRows, ...]
    n_ids: int
    n_features: int
    range_entries: int

    @property
    def parts(self) -> tuple[SegmentRows, ...]:
        """The segments."""
        return self.segments

    @cached_property
    def ranges(self) -> tuple[RowRange, ...]:
        """The ranges of rows that are searched one after the other."""
        return tuple(
            RowRange(segment, start, stop, place + start)
            for place, segment in self.placed()
            for start, stop in search_ranges(segment, self.range_entries)
        )


class QueryBlocks(Protocol):
    """Queries that can be iterated several times, in blocks."""

    @property
    def n_queries(self) -> int:
        """Number of queries."""

    def blocks(self) -> Iterable[tuple[int, Csr, Int32]]:
        """Yield the position of a block, its queries, and their own places if they have any."""


@dataclass(frozen=True)
class GivenQueries:
    """Queries in memory."""

    rows: Csr

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.rows.shape[0])

    def blocks(self) -> Iterable[tuple[int, Csr, Int32]]:
        """Yield all queries, or blocks of :data:`BLOCK_ENTRIES` entries; they have no places."""
        if self.rows.nnz <= BLOCK_ENTRIES:
            yield 0, self.rows, np.zeros(0, dtype=np.int32)
            return
        segment = SegmentRows.of(self.rows, 0)
        for start, stop in segment.ranges(BLOCK_ENTRIES):
            yield start, segment.rows(start, stop), np.zeros(0, dtype=np.int32)


@dataclass(frozen=True)
class OwnQueries:
    """The rows of a version as queries; no row is its own neighbour."""

    version: SegmentVersion

    @property
    def n_queries(self) -> int:
        """Number of rows, including removed ones."""
        return self.version.count

    def blocks(self) -> Iterable[tuple[int, Csr, Int32]]:
        """Yield rows segment by segment."""
        for place, segment in self.version.placed():
            for start, stop in segment.ranges(BLOCK_ENTRIES):
                places = np.arange(place + start, place + stop, dtype=np.int32)
                yield place + start, segment.rows(start, stop), places


def search_places(
    version: SegmentVersion,
    queries: QueryBlocks,
    k: int,
    postings: PostingsCache,
    n_threads: int,
    batch: int,
    ranges: tuple[RowRange, ...] | None = None,
) -> tuple[Int32, Float]:
    """Return places and keys (smaller is nearer) of the nearest rows of each query.

    All ranges are merged into one list per query, sorted by (key, place), so the result does not
    depend on how the rows are divided. `ranges` restricts the search to some of the version's
    ranges. Memory: 12 bytes per query and neighbour.
    """
    width = graph_width(k, version.n_ids)
    places = np.full((queries.n_queries, width), -1, dtype=np.int32)
    keys = np.zeros((queries.n_queries, width))
    for each, indexed in postings.indexed(version.ranges if ranges is None else ranges):
        for start, rows, own in queries.blocks():
            stop = start + rows.shape[0]
            found = places[start:stop], keys[start:stop]
            indexed.search(rows, own, found, each.first, version.count, n_threads, batch)
    return places, keys


def as_neighbors(
    version: SegmentVersion, places: Int32, keys: Float, distance: Distance
) -> tuple[Int32, Float]:
    """Return the ids and values of a graph from the results of :func:`search_places`."""
    values = distance.values(keys)
    values[places < 0] = distance.padding
    return version.ids_at(places), values


def as_own_neighbors(
    version: SegmentVersion, places: Int32, keys: Float, distance: Distance
) -> tuple[Int32, Float]:
    """Return the ids and values of the leave-one-out graph: one list per row id."""
    ids, values = as_neighbors(version, places, keys, distance)
    gone = version.removed()
    ids[gone], values[gone] = -1, distance.padding
    if version.ids is not None:
        return by_row_id(ids, values, version.ids, version.n_ids, distance.padding)
    return ids, values


DEFAULT_MEMORY = 2**30
"""Bytes of postings that a search may use by default: 1 GiB."""

LEAST_MEMORY = 2**20


class SegmentedIndex:
    """The nearest rows of a sparse matrix, exactly, with a limit on memory.

    Rows are read from files mapped into memory and searched one range at a time. The postings of a
    range (which :class:`InvertedIndex` builds for all rows together) are mapped from files too if
    they were written with the rows; otherwise they are built when a search needs them, and kept as
    long as `max_memory` allows. All ranges are merged into one list per query, sorted by (value,
    row id), so results are identical to those of :class:`InvertedIndex`.

    :meth:`build` writes a stream of chunks to a folder, and :meth:`open` maps such a folder. The
    constructor searches arrays in memory, without a folder.

    Parameters
    ----------
    X : sparse array, shape (n, m)
        Kept by reference; mapped arrays stay mapped. A dense array is converted.
    metric : {"cosine", "dot", "euclidean"}
        Distance or similarity by which neighbours are found.
    max_memory : int or None
        Bytes of postings to keep or to build at a time; None for :data:`DEFAULT_MEMORY`.
    n_jobs : int or None
        Number of threads of a query; None for all cores.

    Notes
    -----
    Memory: `max_memory` for postings that are not stored (measured: 6 to 8 bytes per entry of `X`),
    20 bytes per row for ids and row starts, 12 bytes per query and neighbour, 48 MiB for copies.
    Postings that are not stored and do not fit are built again in every call of :meth:`query`, so
    pass many queries per call. Building them may temporarily take as much memory again:
    `max_memory` limits the postings, not the process. Stored postings use only the page cache of
    the operating system.

    In a folder, changes are atomic and durable: a process killed at any moment leaves either the
    old index or the new one. No other program may change the files while an index has them mapped.

    Examples
    --------
    >>> import tempfile
    >>> from scipy import sparse
    >>> X = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     index = SegmentedIndex.build([X[:2], X[2:]], folder, metric="cosine")
    ...     index.query(X[[1]], 2).ids
    ...     index.add(X[[0]])
    ...     SegmentedIndex.open(folder).query_self(1).ids.ravel()
    array([[1, 0]], dtype=int32)
    array([3])
    array([ 3,  0, -1,  0], dtype=int32)
    """

    def __init__(
        self,
        X: object,
        metric: str = "cosine",
        *,
        max_memory: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        rows = as_csr(check_features(X))
        self._set_up(metric, max_memory, n_jobs, MemoryStore())
        segments = (SegmentRows.of(rows, 0),) if rows.shape[0] else ()
        self._version = self._of(segments, int(rows.shape[0]), int(rows.shape[1]))

    @classmethod
    def build(
        cls,
        chunks: Iterable[object],
        folder: str | os.PathLike[str],
        metric: str = "cosine",
        *,
        max_memory: int | None = None,
        n_jobs: int | None = None,
        postings: bool = True,
    ) -> "SegmentedIndex":
        """Write a stream of rows to a folder, and return an index over them.

        Parameters
        ----------
        chunks : iterable of sparse arrays, shape (any, m)
            Read in turn; rows are numbered in the order of the stream.
        folder : path
            A new folder, or an existing index, which is replaced once all rows are written.
        metric, max_memory, n_jobs
            As for the constructor; `metric` and `max_memory` are stored in the folder.
        postings : bool
            Whether to write the postings too, which no search then has to build: about 6 bytes of
            disk per entry. Segments of fewer than a million entries are stored without.
        """
        distance = get_distance(metric)
        memory = _checked_memory(max_memory)
        cache = PostingsCache(Build.standard(distance), memory, thread_count(n_jobs))
        writer = cache.writer() if postings else None
        FolderStore.create(Path(folder), _checked(chunks), distance.name, memory, writer)
        return cls.open(folder, n_jobs=n_jobs, verify=False)

    @classmethod
    def open(
        cls,
        folder: str | os.PathLike[str],
        *,
        max_memory: int | None = None,
        n_jobs: int | None = None,
        verify: bool = True,
    ) -> "SegmentedIndex":
        """Map the index in a folder.

        Parameters
        ----------
        folder : path
            The folder of the index.
        max_memory : int or None
            None for the limit that was given to :meth:`build`.
        n_jobs : int or None
            Number of threads; None uses all available ones.
        verify : bool
            Whether to compare every file with its checksum. The structure is always checked.
        """
        store, segments = FolderStore.open_whole(Path(folder), verify)
        known = store.manifest
        index = cls.__new__(cls)
        memory = known.max_memory if max_memory is None else max_memory
        index._set_up(known.metric, memory, n_jobs, store)
        index._version = index._of(segments, known.n_ids, known.n_features)
        return index

    def _set_up(
        self, metric: str, max_memory: int | None, n_jobs: int | None, store: Store
    ) -> None:
        self._distance = get_distance(metric)
        self.max_memory = _checked_memory(max_memory)
        self.n_jobs = n_jobs
        self._threads = thread_count(n_jobs)
        build = Build.standard(self._distance)
        self._postings = PostingsCache(build, self.max_memory, self._threads)
        self._store = store
        self._writing = ForkLock()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the folder, or the rows."""
        if isinstance(self._store, FolderStore):
            return _reopened, (str(self._store.folder), self.max_memory, self.n_jobs)
        segments = tuple(replace(each, postings=()) for each in self._version.segments)
        version = replace(self._version, segments=segments)
        return _rebuilt, (version, self.metric, self.max_memory, self.n_jobs)

    @property
    def metric(self) -> str:
        """Name of the distance."""
        return self._distance.name

    @property
    def n_rows(self) -> int:
        """Number of row ids assigned so far; ids of removed rows are never reused."""
        return self._version.n_ids

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self._version.n_features

    @property
    def nbytes(self) -> int:
        """Memory of the kept postings and of the ids in bytes, excluding the rows and files."""
        segments = self._version.segments
        ids = sum(each.removed.nbytes + (0 if each.name else each.ids.nbytes) for each in segments)
        return self._postings.nbytes + ids

    @property
    def is_mutable(self) -> bool:
        """Whether rows can be added and removed: always."""
        return True

    @property
    def folder(self) -> Path | None:
        """The folder that contains the rows; None for an index in memory."""
        return self._store.folder if isinstance(self._store, FolderStore) else None

    @property
    def stamp(self) -> str:
        """Random text that is another one after each change of the folder; empty in memory."""
        return self._store.manifest.version if isinstance(self._store, FolderStore) else ""

    @property
    def prefers_whole_batches(self) -> bool:
        """Whether postings exceed the limit: then every call of :meth:`query` builds some."""
        entries = sum(each.n_entries for each in self._version.segments if not each.postings)
        return entries > self._postings.range_entries * self._threads

    @property
    def X(self) -> Csr:
        """All rows as one mapped matrix; requires an index that has not been changed."""
        version = self._version
        segments = version.segments
        if len(segments) != 1 or segments[0].removed.any() or len(segments[0]) != version.n_ids:
            got = "one whose rows were added or removed"
            raise InvalidArgumentError("X", "an index that has not been changed", got)
        return segments[0].whole

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return the k nearest rows for each row of `Q`, dense or sparse."""
        queries = as_csr(check_features(Q, "Q", n_features=self.n_features))
        version = self._version
        found = self._search(version, GivenQueries(queries), check_integer("k", k, low=1))
        ids, values = as_neighbors(version, *found, self._distance)
        return NeighborGraph(ids, values, self.metric, version.n_ids)

    def query_self(self, k: int) -> NeighborGraph:
        """Return the k nearest other rows of each indexed row; duplicates count as other rows.

        A removed row has no neighbours and is not a neighbour of any row.
        """
        version = self._version
        found = self._search(version, OwnQueries(version), check_integer("k", k, low=1))
        ids, values = as_own_neighbors(version, *found, self._distance)
        return NeighborGraph(ids, values, self.metric, version.n_ids)

    def add(self, rows: object) -> Int:
        """Add rows and return their ids, which are the next free ones in order.

        Added rows form a new segment; eight consecutive segments of similar size are merged, so
        each row is written about log8(n) times. In a folder, the rows are on disk when this method
        returns.
        """
        checked = check_features(rows, "rows", n_features=self.n_features)
        fresh = as_csr(owned(checked, rows))
        with self._writing:
            version = self._version
            first, count = version.n_ids, int(fresh.shape[0])
            check_room_for_ids(first, count)
            if count:
                segments = (*version.segments, SegmentRows.of(fresh, first))
                fixed = sum(map(self._stays, segments))  # those of a folder are the first
                merged = max(1, tail_to_merge([len(each) for each in segments[fixed:]]))
                self._publish([*segments[:-merged], Merged(segments[-merged:])], first + count)
        return np.arange(first, first + count)

    def remove(self, rows: object) -> None:
        """Remove rows by id. Other ids do not change, and removed ids are not reused.

        The space of removed rows is released when their segment is written again: once more than
        :data:`~vicinal.index._common.COMPACT_SHARE` of it is removed, when :meth:`add` merges it,
        or by :meth:`compact`.
        """
        with self._writing:
            ids = check_rows("rows", rows, self.n_rows)
            segments = [each.without(ids) for each in self._version.segments]
            parts = [self._rewritten(each, should_compact(each.removed)) for each in segments]
            self._publish(parts, self.n_rows)

    def compact(self) -> None:
        """Release the space of removed rows now; segments without removed rows do not change."""
        with self._writing:
            segments = self._version.segments
            if any(each.removed.any() for each in segments):
                parts = [self._rewritten(each, bool(each.removed.any())) for each in segments]
                self._publish(parts, self.n_rows)

    def _stays(self, segment: SegmentRows) -> bool:
        """Tell whether a segment is in the folder of the index that this index was copied from."""
        return bool(segment.name) and not isinstance(self._store, FolderStore)

    def _rewritten(self, segment: SegmentRows, is_wanted: bool) -> SegmentRows | Merged:
        """Return a segment without removed rows if that is wanted and copies no file to memory."""
        return Merged([segment]) if is_wanted and not self._stays(segment) else segment

    def copy(self) -> "SegmentedIndex":
        """Return an independent copy of the index.

        Mapped rows are shared. Rows added to the copy are kept in memory, not in the folder. The
        rows of the folder are never copied: removed ones are only marked.
        """
        twin = object.__new__(SegmentedIndex)
        own = {"_writing": ForkLock(), "_store": MemoryStore(), "_postings": self._postings.copy()}
        twin.__dict__.update({**self.__dict__, **own})
        return twin

    def _search(self, version: SegmentVersion, queries: QueryBlocks, k: int) -> tuple[Int32, Float]:
        return search_places(version, queries, k, self._postings, self._threads, 32)

    def _publish(self, parts: list[SegmentRows | Merged], n_ids: int) -> None:
        """Make a change durable, then visible."""
        segments = self._store.change(parts, n_ids, self._postings.writer())
        self._version = self._of(segments, n_ids, self.n_features)
        self._postings.retain(self._version.ranges)

    def _of(self, segments: tuple[SegmentRows, ...], n_ids: int, n_features: int) -> SegmentVersion:
        return SegmentVersion(segments, n_ids, n_features, self._postings.range_entries)


def _checked(chunks: Iterable[object]) -> Iterator[Csr]:
    for number, chunk in enumerate(chunks):
        yield as_csr(check_features(chunk, f"chunks[{number}]"))


def _checked_memory(max_memory: int | None) -> int:
    if max_memory is None:
        return DEFAULT_MEMORY
    return check_integer("max_memory", max_memory, low=LEAST_MEMORY)


def _reopened(folder: str, max_memory: int, n_jobs: int | None) -> SegmentedIndex:
    return SegmentedIndex.open(folder, max_memory=max_memory, n_jobs=n_jobs, verify=False)


def _rebuilt(
    version: SegmentVersion, metric: str, max_memory: int, n_jobs: int | None
) -> SegmentedIndex:
    index = SegmentedIndex.__new__(SegmentedIndex)
    index._set_up(metric, max_memory, n_jobs, MemoryStore())
    index._version = version
    return index


class Tasks(Protocol):
    """Runs pure functions elsewhere, several at a time."""

    @property
    def at_once(self) -> int:
        """Number of functions that run at the same time."""

    def run(
        self, function: Callable[..., Any], shared: object, arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Yield ``function(shared, *each)`` for each of the arguments, in their order."""


@dataclass(frozen=True)
class SegmentedAlgorithm:
    """A :class:`SegmentedIndex` over the rows of a model: pass it as ``algorithm=``.

    Mapped rows (:attr:`SegmentedIndex.X`) are not copied. A saved model contains its rows; once
    loaded, it searches them with the default limit unless ``set_params(algorithm=…)`` changes it.

    Parameters
    ----------
    max_memory : int or None
        See :class:`SegmentedIndex`.
    index : SegmentedIndex or None
        Whose stored postings are used for a model that is fitted on :attr:`SegmentedIndex.X`.
    folder : str or None
        Where a :class:`~vicinal.Blend` keeps its views of the rows, memory-mapped: about 60 bytes
        per entry of sparse rows. The saved model refers to this folder. None: in memory.
    is_written : bool
        Whether the folder has all views already; if one is missing, it is an error.
    tasks : ClusterTasks or None
        Workers that a :class:`~vicinal.Blend` uses if its views are in a `folder` which they see
        under the same path (:class:`vicinal.cluster.ClusterTasks`).

    Examples
    --------
    >>> index = SegmentedAlgorithm(2**24)(np.eye(3), "cosine", None)
    >>> index.n_rows, index.max_memory
    (3, 16777216)
    """

    saved_as: ClassVar[str] = "segmented"
    max_memory: int | None = None
    index: SegmentedIndex | None = field(default=None, repr=False)
    folder: str | None = None
    is_written: bool = field(default=False, repr=False)
    tasks: "Tasks | None" = field(default=None, repr=False)

    @property
    def limit(self) -> int:
        """Bytes of postings to keep or to build at a time."""
        return _checked_memory(self.max_memory)

    def written(self, X: Csr, kept: Int) -> SegmentedIndex:
        """Write some rows to the folder; those that a saved model refers to stay there."""
        target = Path(str(self.folder)) / new_name("rows")
        step = max(1, BLOCK_ENTRIES * len(kept) // max(1, X.nnz))
        blocks = (X[kept[start : start + step]] for start in range(0, len(kept), step))
        return SegmentedIndex.build(blocks, target, max_memory=self.limit, postings=False)

    def __deepcopy__(self, memo: object) -> "SegmentedAlgorithm":
        """Return itself: it does not change, and mapped rows are recognised by their address."""
        return self

    def __call__(self, X: Features, metric: str, n_jobs: int | None) -> SegmentedIndex:
        """Return an index over the rows of `X`."""
        index = self.index
        if index is not None and index.metric == metric and are_same_rows(X, index.X):
            return index.copy()
        return SegmentedIndex(X, metric, max_memory=self.max_memory, n_jobs=n_jobs)
