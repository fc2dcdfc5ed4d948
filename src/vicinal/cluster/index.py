"""Exact search over sparse rows on a Dask cluster."""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from distributed import Client, Future
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Float, Int, Int32
from vicinal._core.checks import check_integer
from vicinal._core.progress import part
from vicinal._core.validation import as_csr, check_features
from vicinal.cluster.workers import (
    FileRows,
    Found,
    RangeSearch,
    holding_data,
    in_flight,
    merged,
    search_block,
    search_files,
    shape_of,
    value,
)
from vicinal.distances import COSINE, Distance, get_distance
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.index._common import by_row_id, graph_width, ids_at
from vicinal.index.segment_files import MANIFEST, SegmentRows, are_same_rows, search_ranges
from vicinal.index.segment_store import FolderStore
from vicinal.index.segmented import BYTES_PER_ENTRY, DEFAULT_MEMORY, SegmentedIndex
from vicinal.methods._formulas import column_graph as local_column_graph

FEWEST_QUERIES = 256
"""A task of fewer queries costs more to hand out than to run."""

SHARE = 2 / 3
"""The part of the remaining queries that one round of tasks takes."""


def query_blocks(n_queries: int, at_once: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield the first and the last (excluded) query of each block.

    Every task reads all postings of its shards from memory, so a few large tasks cost less than
    many small ones; but workers finish together only if the last tasks are small. So blocks come
    in rounds of `at_once` equal ones, and a round takes two thirds of the queries that are left.

    `at_once`: blocks that the workers can search at the same time.
    `most`: most queries per block.
    """
    start = 0
    while start < n_queries:
        even = int(SHARE * (n_queries - start) / at_once) + 1
        size = min(most, max(FEWEST_QUERIES, even))
        for _ in range(at_once):
            stop = min(start + size, n_queries)
            if start < stop:
                yield start, stop
            start = stop


@dataclass(frozen=True)
class Shard:
    """Rows that are searched together; they have the places from `first` on."""

    rows: FileRows | Future
    first: int
    n_rows: int
    stored_bytes: int = 0


@dataclass(frozen=True, eq=False)
class ShardSource:
    """All rows of a cluster index."""

    shards: tuple[Shard, ...]
    n_features: int
    n_ids: int
    ids: Int32 | None
    removed: Int
    metric: str = COSINE.name
    mapped: Csr | None = None

    @property
    def n_places(self) -> int:
        """Number of rows held, removed ones among them."""
        return sum(shard.n_rows for shard in self.shards)


def read_source(
    client: Client, source: object, shard_entries: int, metric: str | None
) -> ShardSource:
    """Return the rows that a caller named, cut into shards of at most so many entries.

    Rows whose postings are stored are cut as those are; with another `metric` than that of their
    folder the stored ones are of no use.
    """
    if isinstance(source, SegmentedIndex):
        folder = source.folder
        if folder is None:
            raise InvalidArgumentError("source", "an index in a folder", "one in memory: pass X")
        return _folder_source([folder], shard_entries, metric)
    if isinstance(source, str | os.PathLike):
        return _folder_source(_folders(Path(source)), shard_entries, metric)
    if isinstance(source, np.ndarray) or sparse.issparse(source):
        return _local_source(client, as_csr(check_features(source, "source")), shard_entries)
    return _block_source(client, _blocks(client, source))


def _folders(folder: Path) -> list[Path]:
    """Return the folder of an index, or the indexes in a folder of shards, sorted by name."""
    if (folder / MANIFEST).is_file():
        return [folder]
    found = sorted(file.parent for file in folder.glob(f"*/{MANIFEST}"))
    if not found:
        expected = "a folder written by SegmentedIndex.build, or a folder of such folders"
        raise InvalidArgumentError("source", expected, str(folder))
    return found


def _folder_source(folders: Sequence[Path], shard_entries: int, metric: str | None) -> ShardSource:
    shards: list[Shard] = []
    ids: list[Int32] = []
    removed: list[Int] = []
    n_ids = place = 0
    widths = set()
    mapped = None
    for folder in folders:
        store = FolderStore.open(folder)
        known = store.manifest
        widths.add(known.n_features)
        for entry, segment in zip(known.segments, store.segments(verify=False), strict=True):
            if metric not in (None, known.metric):
                entry, segment = {**entry, "postings": []}, replace(segment, postings=())
            name = str(folder.resolve())
            text = json.dumps(entry, sort_keys=True)
            mapped = segment.rows(0, len(segment)) if segment.n_entries < 2**31 else None
            sizes = [each.data.nbytes for each in segment.postings] or repeat(0)
            ranges = search_ranges(segment, shard_entries)
            for (start, stop), stored_bytes in zip(ranges, sizes, strict=False):
                rows = FileRows(name, text, known.n_features, start, stop)
                shards.append(Shard(rows, place + start, stop - start, stored_bytes))
            ids.append(np.asarray(segment.ids) + np.int32(n_ids))
            removed.append(np.flatnonzero(segment.removed) + place)
            place += len(segment)
        n_ids += known.n_ids
    if len(widths) > 1:
        raise InvalidArgumentError("source", "shards of one number of features", sorted(widths))
    every = np.concatenate([np.zeros(0, dtype=np.int32), *ids])
    gone = np.concatenate([np.zeros(0, dtype=np.int64), *removed])
    is_whole = len(ids) == 1 and place == n_ids and not len(gone)
    return ShardSource(
        tuple(shards),
        widths.pop(),
        n_ids,
        None if place == n_ids else every,
        gone,
        known.metric,
        mapped if is_whole else None,
    )


def _local_source(client: Client, X: Csr, shard_entries: int) -> ShardSource:
    """Send blocks of a matrix; the scheduler keeps them, so that they survive any worker."""
    whole = SegmentRows.of(X, 0)
    with holding_data():
        blocks = [
            client.submit(value, whole.rows(start, stop))
            for start, stop in whole.ranges(shard_entries)
        ]
    return _block_source(client, blocks, int(X.shape[1]))


def _blocks(client: Client, source: object) -> list[Future]:
    """Return dask blocks of rows as futures: a dask array's, or those of a list."""
    if hasattr(source, "to_delayed"):
        source = np.asarray(source.to_delayed(), dtype=object).ravel().tolist()
    if not isinstance(source, list | tuple) or not source:
        expected = "a folder, a SegmentedIndex, a sparse array, a dask array or a list of blocks"
        raise InvalidArgumentError("source", expected, type(source).__name__)
    blocks: list[Any] = [
        each if isinstance(each, Future) else client.compute(each) for each in source
    ]
    return blocks


def _block_source(client: Client, blocks: Sequence[Future], n_features: int = 0) -> ShardSource:
    shapes = client.gather([client.submit(shape_of, block) for block in blocks])
    widths = {columns for _, columns in shapes} or {n_features}
    if len(widths) > 1:
        raise InvalidArgumentError("source", "blocks of one number of features", sorted(widths))
    firsts = np.cumsum([0, *(rows for rows, _ in shapes)]).tolist()
    shards = [
        Shard(block, first, rows)
        for block, first, (rows, _) in zip(blocks, firsts, shapes, strict=False)
        if rows
    ]
    none = np.zeros(0, dtype=np.int64)
    return ShardSource(tuple(shards), widths.pop(), firsts[-1], None, none)


TASKS_AHEAD = 2
"""So many tasks per thread are under way at least: no thread waits for the client."""


class ClusterIndex:
    """The nearest rows of a sparse matrix, exactly, searched by the workers of a Dask cluster.

    A task searches one shard of the rows for one block of queries; trees of merges by (value, row
    id) join the lists. Tasks are pure: when a worker dies, Dask runs its tasks on another, and the
    result is identical.

    Parameters
    ----------
    client : distributed.Client
        Client of a Dask cluster.
    source : path, SegmentedIndex, sparse array, dask array or list of dask blocks
        A folder of :meth:`vicinal.index.SegmentedIndex.build`, or a folder of such folders, whose
        rows are numbered in the order of their names: workers must see the same path, and nobody
        may change it meanwhile. A local array is sent through the scheduler, which keeps it. Blocks
        are delayed values or futures of sparse arrays.
    metric : {"cosine", "dot", "euclidean"} or None
        None for that of the folder, or cosine.
    max_memory : int or None
        Bytes of postings that a worker process keeps; None for 1 GiB.
    block_queries : int
        Most queries per task; fewer where there would not be enough tasks for all workers.

    Notes
    -----
    Each task uses one thread, so give workers as many threads as they have cores. Dask counts
    mapped pages as used memory, and pauses or ends workers that only read files: start workers
    with ``memory_limit=0``. Network: 12 bytes per query, neighbour and shard, and the queries once
    per worker.

    Examples
    --------
    >>> from distributed import LocalCluster
    >>> with LocalCluster(2, processes=True) as local, Client(local) as client:  # doctest: +SKIP
    ...     index = ClusterIndex(client, "rows/", metric="cosine")
    ...     model = InstanceKNN(algorithm=index).fit(index.X, Y)
    """

    saved_as = "auto"

    def __init__(
        self,
        client: Client,
        source: Any,
        metric: str | None = None,
        *,
        max_memory: int | None = None,
        block_queries: int = 10_000,
    ) -> None:
        self._client = client
        memory = DEFAULT_MEMORY if max_memory is None else max_memory
        self.max_memory = check_integer("max_memory", memory, low=2**20)
        self.block_queries = check_integer("block_queries", block_queries, low=1)
        entries = max(1, self.max_memory // (2 * BYTES_PER_ENTRY))
        self._source: ShardSource = read_source(client, source, entries, metric)
        self._groups = _groups(self._source.shards, self.max_memory)
        name = self._source.metric if metric is None else metric
        self._distance: Distance = get_distance(name)
        self._distance.native()

    def __call__(self, X: Features, metric: str, n_jobs: int | None) -> "ClusterIndex":
        """Return an index for ``algorithm=``: this one, if `X` are its own mapped rows."""
        is_own = self._holds(X) and metric == self.metric
        options = {"max_memory": self.max_memory, "block_queries": self.block_queries}
        return self if is_own else ClusterIndex(self._client, X, metric, **options)

    def _holds(self, X: Features) -> bool:
        """Tell whether rows are mapped from the files that the workers search."""
        own = self._source.mapped
        return own is not None and are_same_rows(X, own)

    @property
    def X(self) -> Csr:
        """All rows as one matrix, mapped from the folder, to fit an estimator on."""
        if self._source.mapped is None:
            expected = "one folder that was built and not changed since"
            raise InvalidArgumentError("source", expected, "another")
        return self._source.mapped

    def __deepcopy__(self, memo: object) -> "ClusterIndex":
        """Return itself: it does not change, and scikit-learn copies parameters."""
        return self

    @property
    def metric(self) -> str:
        """Name of the distance."""
        return self._distance.name

    @property
    def n_rows(self) -> int:
        """Number of row ids given so far."""
        return self._source.n_ids

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self._source.n_features

    @property
    def nbytes(self) -> int:
        """Memory of the index on this machine: none but the ids."""
        return 0 if self._source.ids is None else self._source.ids.nbytes

    @property
    def prefers_whole_batches(self) -> bool:
        """Whether each call of :meth:`query` costs much, however few the queries: always."""
        return True

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return the k nearest rows for each row of `Q`, dense or sparse."""
        queries = as_csr(check_features(Q, "Q", n_features=self.n_features))
        search = self._search(k)
        starters = partial(self._given_blocks, queries, search)
        places, keys = self._gathered(int(queries.shape[0]), starters, search.width)
        ids, values = self._as_neighbors(places, keys)
        return NeighborGraph(ids, values, self.metric, self.n_rows)

    def query_self(self, k: int) -> NeighborGraph:
        """Return the k nearest other rows for each indexed row; a duplicate is another row.

        Workers read the queries themselves. A removed row has no neighbours, and is nobody's.
        """
        search, source = self._search(k), self._source
        starters = partial(self._own_blocks, search)
        places, keys = self._gathered(source.n_places, starters, search.width)
        ids, values = self._as_neighbors(places, keys)
        ids[source.removed], values[source.removed] = -1, self._distance.padding
        if source.ids is not None:
            padding = self._distance.padding
            ids, values = by_row_id(ids, values, source.ids, source.n_ids, padding)
        return NeighborGraph(ids, values, self.metric, self.n_rows)

    def _search(self, k: int) -> RangeSearch:
        width = graph_width(check_integer("k", k, low=1), self.n_rows)
        return RangeSearch(self.metric, self.max_memory, width, self._source.n_places)

    def _as_neighbors(self, places: Int32, keys: Float) -> Found:
        values = self._distance.values(keys)
        values[places < 0] = self._distance.padding
        return ids_at(places, self._source.ids), values

    def _gathered(
        self, n_queries: int, starters: Callable[[], Iterator[Callable[[], Future]]], width: int
    ) -> Found:
        """Return the lists of all queries, blocks in order."""
        places = np.full((n_queries, width), -1, dtype=np.int32)
        keys = np.zeros(places.shape)
        if not self._source.shards or not n_queries:
            return places, keys
        start = 0
        most = max(4, -(-TASKS_AHEAD * self._threads() // len(self._groups)))
        with holding_data(), part("Searching on the cluster", n_queries) as advance:
            for found, more in in_flight(self._client, starters(), most):
                stop = start + len(found)
                places[start:stop], keys[start:stop] = found, more
                advance(stop - start)
                start = stop
        return places, keys

    def _given_blocks(self, queries: Csr, search: RangeSearch) -> Iterator[Callable[[], Future]]:
        """Yield what starts the search of each block of a caller's queries."""
        asked = SegmentRows.of(queries, 0)
        for start, stop in self._blocks(len(asked)):
            yield partial(self._start, asked.rows(start, stop), None, search)

    def _own_blocks(self, search: RangeSearch) -> Iterator[Callable[[], Future]]:
        """Yield what starts the search of each shard's own rows, some at a time."""
        shards = iter(self._source.shards)
        shard = next(shards, None)
        for start, stop in self._blocks(self._source.n_places):
            while shard is not None and start < stop:
                end = min(stop, shard.first + shard.n_rows)
                rows = self._rows_of(shard, start - shard.first, end - shard.first)
                yield partial(self._start, rows, start, search)
                if end == shard.first + shard.n_rows:
                    shard = next(shards, None)
                start = end

    def _rows_of(self, shard: Shard, start: int, stop: int) -> FileRows | Future:
        """Return some rows of a shard, for workers to read."""
        rows = shard.rows
        if isinstance(rows, FileRows):
            first = rows.start
            return FileRows(rows.folder, rows.entry, rows.n_features, first + start, first + stop)
        return self._client.submit(_rows_between, rows, start, stop)

    def _start(
        self, queries: Csr | FileRows | Future, own: int | None, search: RangeSearch
    ) -> Future:
        """Start the search of one block of queries in every group of shards, and the merges."""
        if len(self._groups) > 1 and not isinstance(queries, FileRows | Future):
            queries = self._client.submit(value, queries)  # sent once to each worker
        parts = []
        for group in self._groups:
            first = group[0]
            if isinstance(first.rows, FileRows):
                files = [(shard.rows, shard.first) for shard in group]
                task = self._client.submit(search_files, files, queries, own, search)
            else:  # a block of rows: always a group of its own
                name = str(first.rows.key)
                task = self._client.submit(
                    search_block, first.rows, name, first.first, queries, own, search
                )
            parts.append(task)
        return merged(self._client, parts)

    def _blocks(self, n_queries: int) -> Iterator[tuple[int, int]]:
        """Yield which queries a task gets: the first and the last (excluded) of each block."""
        at_once = -(-self._threads() // len(self._groups))
        return query_blocks(n_queries, at_once, self.block_queries)

    def _threads(self) -> int:
        """Return how many tasks the workers run at the same time."""
        return max(1, int(sum(self._client.nthreads().values())))


def _groups(shards: Sequence[Shard], max_memory: int) -> list[list[Shard]]:
    """Return shards that one task searches: neighbours whose stored postings a worker can hold."""
    groups: list[list[Shard]] = []
    for shard in shards:
        last = groups[-1] if groups else []
        together = sum(each.stored_bytes for each in last) + shard.stored_bytes
        is_stored = shard.stored_bytes > 0 and bool(last) and last[0].stored_bytes > 0
        if is_stored and together <= max_memory:
            last.append(shard)
        else:
            groups.append([shard])
    return groups


def _rows_between(rows: Csr, start: int, stop: int) -> Csr:
    """Return some rows of a block; a pure task."""
    return as_csr(check_features(rows))[start:stop]


@dataclass(frozen=True)
class ClusterAlgorithm:
    """Search the rows of a model on a cluster: pass it as ``algorithm=``.

    Parameters
    ----------
    client : distributed.Client
        Client of a Dask cluster.
    folder : path or None
        Where the rows that the model is fitted on lie (:class:`vicinal.index.SegmentedIndex`), so
        that workers read them themselves; None to send rows through the scheduler.
    """

    client: Client
    folder: Path | None = None
    saved_as: ClassVar[str] = "auto"

    def __call__(self, X: Features, metric: str, n_jobs: int | None) -> ClusterIndex:
        """Return an index over the rows of `X`."""
        if self.folder is not None:
            index = ClusterIndex(self.client, self.folder, metric)
            if (index.n_rows, index.n_features) == X.shape:
                return index
        return ClusterIndex(self.client, X, metric)

    def __deepcopy__(self, memo: object) -> "ClusterAlgorithm":
        """Return itself: a connection is not copied."""
        return self


class ClusterTasks:
    """Runs pure functions on the workers of a Dask cluster, such as those of a blend.

    Pass it as ``SegmentedAlgorithm(limit, index, folder, tasks=ClusterTasks(client))``. Workers
    read the views of a :class:`~vicinal.Blend` from the folder, which they see under the same path:
    they search, solve local ridge, sum up centroids and compare with them, and return what the
    parts say of labels.

    Parameters
    ----------
    client : distributed.Client
        Client of a Dask cluster. Each task uses one thread.
    """

    def __init__(self, client: Client) -> None:
        self._client = client
        self._held: WeakKeyDictionary[Any, Future] = WeakKeyDictionary()

    def __deepcopy__(self, memo: object) -> "ClusterTasks":
        """Return itself: a connection is not copied."""
        return self

    @property
    def at_once(self) -> int:
        """Number of tasks that the workers run at the same time."""
        return max(1, int(sum(self._client.nthreads().values())))

    def run(
        self, function: Callable[..., Any], shared: object, arguments: Iterable[tuple[Any, ...]]
    ) -> Iterator[Any]:
        """Yield ``function(shared, *each)`` for each of the arguments, in their order.

        What they share is sent once to each worker; the scheduler keeps it for others.
        """
        submit = self._client.submit
        with holding_data():
            held = self._held.get(shared)
            if held is None:
                held = self._held[shared] = submit(value, shared, key=f"shared-{token_hex(8)}")
            starters = (partial(submit, function, held, *each, pure=False) for each in arguments)
            yield from in_flight(self._client, starters, TASKS_AHEAD * self.at_once)


@contextmanager
def connected(address: str, timeout: float = 30.0) -> Iterator[Client]:
    """Connect to the scheduler at an address, for as long as the block runs."""
    try:
        client = Client(address, timeout=timeout)
    except (OSError, ValueError) as error:
        expected = "the address of a Dask scheduler, such as tcp://10.0.0.5:8786"
        raise InvalidArgumentError("cluster", expected, f"{address}: {error}") from None
    try:
        yield client
    finally:
        client.close()


def column_graph(
    client: Client, A: object, B: object, k: int, *, block_columns: int = 50_000
) -> NeighborGraph:
    """Return, for each column of `A`, the k columns of `B` with the highest cosine.

    The same as :func:`vicinal.methods._formulas.column_graph`: each task has all
    rows of some columns of `A`, so sums are added in the same order.

    Parameters
    ----------
    client : distributed.Client
        Client of a Dask cluster.
    A, B : sparse arrays, shape (n, a) and (n, b)
        The columns to compare.
    k : int
        Number of neighbours.
    block_columns : int
        Columns of `A` per task.

    Notes
    -----
    Network: `A` once, `B` once per worker. Memory of a worker: `B`, and a block of `A`.
    """
    check_integer("block_columns", block_columns, low=1)
    columns = sparse.csc_array(as_csr(check_features(A, "A")))
    labels = as_csr(check_features(B, "B"))
    with holding_data():
        shared = client.submit(value, labels)
        starters = [
            partial(
                client.submit, _block_graph, columns[:, start : start + block_columns], shared, k
            )
            for start in range(0, columns.shape[1], block_columns)
        ]
        found = list(in_flight(client, starters, max(4, 2 * len(client.nthreads()))))
    ids = np.concatenate([ids for ids, _ in found])
    values = np.concatenate([values for _, values in found])
    return NeighborGraph(ids, values, "cosine", int(labels.shape[1]))


def _block_graph(A: object, B: Csr, k: int) -> tuple[object, object]:
    """Return ids and similarities for a block of columns; a pure task."""
    graph = local_column_graph(as_csr(check_features(A)), B, k, n_jobs=1)
    return graph.ids, graph.values
