"""Exact search over sparse rows that may exceed main memory, from a folder or from arrays."""

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np

from vicinal._base.arrays import Csr, Features, Float, Int, Int32
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.fork_lock import ForkLock
from vicinal._base.threads import thread_count
from vicinal._base.validation import as_csr, check_features, check_integer, check_rows, owned
from vicinal.distances import get_distance
from vicinal.graph.neighbor_graph import NeighborGraph
from vicinal.index.merge_policy import tail_to_merge
from vicinal.index.postings_cache import PostingsCache
from vicinal.index.row_ids import check_room_for_ids, should_compact
from vicinal.index.row_run import RowRun, are_same_rows
from vicinal.index.run_search import (
    GivenQueries,
    OwnQueries,
    QueryBlocks,
    RunVersion,
    as_neighbors,
    as_own_neighbors,
    search_places,
)
from vicinal.index.run_store import FolderStore, MemoryStore, Merged, Store
from vicinal.index.segment import Build

DEFAULT_MEMORY = 2**30
"""Bytes of postings that a search may use by default: 1 GiB."""

LEAST_MEMORY = 2**20


class SegmentedIndex:
    """The nearest rows of a sparse matrix, exactly, with a limit on memory.

    Rows are read from files mapped into memory and searched one range at a time. The postings of a
    range (which :class:`InvertedIndex` builds for all rows at once) are mapped from files too if
    they were written with the rows; otherwise they are built when a search needs them, and kept as
    long as `max_memory` allows. All ranges are merged into one list per query, sorted by (value,
    row id), so results are bit-identical to those of :class:`InvertedIndex`.

    :meth:`build` writes a stream of chunks to a folder, and :meth:`open` maps such a folder. The
    constructor searches arrays in memory, without a folder.

    Parameters
    ----------
    X : sparse array, shape (n, m)
        Kept by reference; mapped arrays stay mapped. A dense array is converted.
    metric : {"cosine", "dot", "euclidean"}
    max_memory : int or None
        Bytes of postings to keep or to build at a time; None for :data:`DEFAULT_MEMORY`.
    n_jobs : int or None
        Number of threads of a query; None for all cores.

    Notes
    -----
    Memory: `max_memory` for postings that are not stored (measured: 6 to 8 bytes per entry of `X`),
    28 bytes per row for ids and row starts, 12 bytes per query and neighbour, 48 MiB for copies.
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
        runs = (RowRun.of(rows, 0),) if rows.shape[0] else ()
        self._version = self._of(runs, int(rows.shape[0]), int(rows.shape[1]))

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
            Read one at a time; rows are numbered in the order of the stream.
        folder : path
            A new folder, or an existing index, which is replaced once all rows are written.
        metric, max_memory, n_jobs
            As for the constructor; `metric` and `max_memory` are stored in the folder.
        postings : bool
            Whether to write the postings too, so that no search has to build them: about 6 bytes of
            disk per entry. Runs of fewer than a million entries are stored without.
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
        max_memory : int or None
            None for the limit that was given to :meth:`build`.
        n_jobs : int or None
        verify : bool
            Whether to compare every file with its checksum. The structure is always checked.
        """
        store = FolderStore.open(Path(folder))
        known = store.manifest
        index = cls.__new__(cls)
        memory = known.max_memory if max_memory is None else max_memory
        index._set_up(known.metric, memory, n_jobs, store)
        index._version = index._of(store.runs(verify), known.n_ids, known.n_features)
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
        runs = tuple(replace(run, postings=()) for run in self._version.runs)
        version = replace(self._version, runs=runs)
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
        """Memory of the kept postings and of the ids in bytes, excluding the rows."""
        ids = sum(run.ids.nbytes + run.removed.nbytes for run in self._version.runs)
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
    def prefers_whole_batches(self) -> bool:
        """Whether postings exceed the limit, so that every call of :meth:`query` builds some."""
        entries = sum(run.n_entries for run in self._version.runs if not run.postings)
        return entries > self._postings.range_entries * self._threads

    @property
    def X(self) -> Csr:
        """All rows as one mapped matrix; requires an index that has not been changed."""
        version = self._version
        runs = version.runs
        if len(runs) != 1 or runs[0].removed.any() or len(runs[0]) != version.n_ids:
            got = "one whose rows were added or removed"
            raise InvalidArgumentError("X", "an index that has not been changed", got)
        if runs[0].n_entries >= 2**31:
            raise InvalidArgumentError("X", "fewer than 2^31 entries", runs[0].n_entries)
        return runs[0].rows(0, len(runs[0]))

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

        Added rows form a new run; eight consecutive runs of similar size are merged, so each row is
        written about log8(n) times. In a folder, the rows are on disk when this method returns.
        """
        checked = check_features(rows, "rows", n_features=self.n_features)
        fresh = as_csr(owned(checked, rows))
        with self._writing:
            version = self._version
            first, count = version.n_ids, int(fresh.shape[0])
            check_room_for_ids(first, count)
            if count:
                runs = (*version.runs, RowRun.of(fresh, first))
                merged = max(1, tail_to_merge([len(run) for run in runs]))
                parts: list[RowRun | Merged] = [*runs[:-merged], Merged(runs[-merged:])]
                self._publish(parts, first + count)
        return np.arange(first, first + count)

    def remove(self, rows: object) -> None:
        """Remove rows by id. Other ids do not change, and removed ids are not reused.

        The space of removed rows is released when their run is written again: once more than
        :data:`~vicinal.index.row_ids.COMPACT_SHARE` of it is removed, when :meth:`add` merges it,
        or by :meth:`compact`.
        """
        with self._writing:
            ids = check_rows("rows", rows, self.n_rows)
            runs = [run.without(ids) for run in self._version.runs]
            parts = [Merged([run]) if should_compact(run.removed) else run for run in runs]
            self._publish(parts, self.n_rows)

    def compact(self) -> None:
        """Release the space of removed rows now; runs without removed rows do not change."""
        with self._writing:
            runs = self._version.runs
            if any(run.removed.any() for run in runs):
                parts = [Merged([run]) if run.removed.any() else run for run in runs]
                self._publish(parts, self.n_rows)

    def copy(self) -> "SegmentedIndex":
        """Return an independent copy of the index.

        Mapped rows are shared. Rows added to the copy are kept in memory, not in the folder.
        """
        twin = object.__new__(SegmentedIndex)
        own = {"_writing": ForkLock(), "_store": MemoryStore(), "_postings": self._postings.copy()}
        twin.__dict__.update({**self.__dict__, **own})
        return twin

    def _search(self, version: RunVersion, queries: QueryBlocks, k: int) -> tuple[Int32, Float]:
        return search_places(version, queries, k, self._postings, self._threads, 32)

    def _publish(self, parts: list[RowRun | Merged], n_ids: int) -> None:
        """Make a change durable, then visible."""
        runs = self._store.change(parts, n_ids, self._postings.writer())
        self._version = self._of(runs, n_ids, self.n_features)
        self._postings.retain(self._version.ranges)

    def _of(self, runs: tuple[RowRun, ...], n_ids: int, n_features: int) -> RunVersion:
        return RunVersion(runs, n_ids, n_features, self._postings.range_entries)


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
    version: RunVersion, metric: str, max_memory: int, n_jobs: int | None
) -> SegmentedIndex:
    index = SegmentedIndex.__new__(SegmentedIndex)
    index._set_up(metric, max_memory, n_jobs, MemoryStore())
    index._version = version
    return index


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

    Examples
    --------
    >>> index = SegmentedAlgorithm(2**24)(np.eye(3), "cosine", None)
    >>> index.n_rows, index.max_memory
    (3, 16777216)
    """

    saved_as: ClassVar[str] = "segmented"
    max_memory: int | None = None
    index: SegmentedIndex | None = None

    def __deepcopy__(self, memo: object) -> "SegmentedAlgorithm":
        """Return itself: it does not change, and mapped rows are recognised by their address."""
        return self

    def __call__(self, X: Features, metric: str, n_jobs: int | None) -> SegmentedIndex:
        """Return an index over the rows of `X`."""
        index = self.index
        if index is not None and index.metric == metric and are_same_rows(X, index.X):
            return index.copy()
        return SegmentedIndex(X, metric, max_memory=self.max_memory, n_jobs=n_jobs)
