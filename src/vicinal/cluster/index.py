"""Exact search over sparse rows on a Dask cluster."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from distributed import Client, Future

from vicinal._base.arrays import Csr, Features, Float, Int32
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import part
from vicinal._base.validation import as_csr, check_features, check_integer
from vicinal.cluster.blocks import query_blocks
from vicinal.cluster.merging import Found
from vicinal.cluster.shards import FileRows, Search, search_block, search_files, value
from vicinal.cluster.sources import Shard, Source, read_source
from vicinal.cluster.tasks import holding_data, in_flight, merged
from vicinal.distances import Distance, get_distance
from vicinal.graph.neighbor_graph import NeighborGraph
from vicinal.index.postings_cache import BYTES_PER_ENTRY
from vicinal.index.row_ids import by_row_id, ids_at
from vicinal.index.row_run import RowRun, are_same_rows
from vicinal.index.segmented import DEFAULT_MEMORY
from vicinal.index.widths import graph_width

TASKS_AHEAD = 2
"""So many tasks per thread are under way at least: no thread waits for the client."""


class ClusterIndex:
    """The nearest rows of a sparse matrix, exactly, searched by the workers of a Dask cluster.

    A task searches one shard of the rows for one block of queries; trees of merges by (value, row
    id) join the lists. Tasks are pure: when a worker dies, Dask runs its tasks on another, and the
    answer is the same to the bit.

    Parameters
    ----------
    client : distributed.Client
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
        self._source: Source = read_source(client, source, entries, metric)
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

    def _search(self, k: int) -> Search:
        width = graph_width(check_integer("k", k, low=1), self.n_rows)
        return Search(self.metric, self.max_memory, width, self._source.n_places)

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

    def _given_blocks(self, queries: Csr, search: Search) -> Iterator[Callable[[], Future]]:
        """Yield what starts the search of each block of a caller's queries."""
        run = RowRun.of(queries, 0)
        for start, stop in self._blocks(len(run)):
            yield partial(self._start, run.rows(start, stop), None, search)

    def _own_blocks(self, search: Search) -> Iterator[Callable[[], Future]]:
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

    def _start(self, queries: Csr | FileRows | Future, own: int | None, search: Search) -> Future:
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
        return max(1, sum(self._client.nthreads().values()))


def _groups(shards: Sequence[Shard], max_memory: int) -> list[list[Shard]]:
    """Return shards that one task searches: neighbours whose stored postings a worker can hold.

    A shard whose postings are built by workers is a group of its own.
    """
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
