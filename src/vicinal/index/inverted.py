"""Exact search over sparse rows through an inverted index."""

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Float, Int, Int32
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import thread_count
from vicinal._base.validation import (
    METRICS,
    as_csr,
    check_features,
    check_integer,
    check_option,
    check_rows,
    owned,
)
from vicinal.graph.neighbor_graph import NeighborGraph
from vicinal.index.chunks import row_chunks
from vicinal.index.segment import Build, Segment
from vicinal.index.simd import simd_level


class InvertedIndex:
    """The nearest rows of a sparse matrix, exactly.

    Feature by feature, the rows that have it add to integer accumulators; rows whose sum, with its
    largest possible error, cannot reach the k-th best are dropped, and the others are compared by
    the float64 definition of :mod:`vicinal.index.reference`. So neighbours, order and values are
    those of the definition, whatever the block size, batch size and number of threads.

    Parameters
    ----------
    X : sparse array, shape (n, m)
        Kept by reference. A dense array is converted.
    metric : {"cosine", "dot", "euclidean"}
        For cosine and dot product only rows that share a non-zero feature are neighbours.
    n_jobs : int or None
        Threads of a query; None for all cores.
    block_rows : int
        Rows searched at a time, at most 65,536.
    batch_queries : int
        Queries that share a block while it is in the cache.
    simd : {"plain", "avx2", "avx512"} or None
        Vector instructions to use; None for the best this machine has, or what the environment
        variable ``VICINAL_SIMD`` says. The answers are the same.
    patterns : bool
        Count shared features where all values of a row are equal, instead of weighing them; the
        answers are the same.

    Notes
    -----
    Memory: at most 16 bytes an entry of `X` besides `X` itself, 42 for each feature that occurs and
    16 a row; while searching, 64 or 128 kilobytes for each query of a batch and thread, and at most
    512 a thread.

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> graph = InvertedIndex(X).query(X[[1]], 2)
    >>> graph.ids
    array([[1, 0]], dtype=int32)
    >>> graph.similarity.round(4)
    array([[1.    , 0.7071]])
    """

    def __init__(
        self,
        X: object,
        metric: str = "cosine",
        *,
        n_jobs: int | None = None,
        block_rows: int = 65_536,
        batch_queries: int = 32,
        simd: str | None = None,
        patterns: bool = True,
    ) -> None:
        self.metric = check_option("metric", metric, METRICS)
        self.n_jobs = n_jobs
        self.block_rows = check_integer("block_rows", block_rows, low=1)
        self.batch_queries = check_integer("batch_queries", batch_queries, low=1)
        self.simd = simd
        self.patterns = bool(patterns)
        self._threads = thread_count(n_jobs)
        self._build = Build(self.metric, self.block_rows, simd_level(simd), self.patterns)
        rows = as_csr(check_features(X))
        self._segments: tuple[Segment, ...] = (Segment.of(rows, 0, self._build),)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rows and build again: the index is made from nothing else."""
        options = self.n_jobs, self.block_rows, self.batch_queries, self.simd, self.patterns
        removed = [np.flatnonzero(s.removed) + s.first_id for s in self._segments]
        return _rebuild, (self._rows(), self.metric, *options, np.concatenate(removed))

    @property
    def n_rows(self) -> int:
        """Number of row ids given so far; ids of removed rows are never given again."""
        return self._segments[-1].stop_id

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self._segments[0].rows.shape[1])

    @property
    def nbytes(self) -> int:
        """Memory of the index in bytes, `X` itself not counted."""
        return sum(segment.native.bytes() for segment in self._segments)

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return the k nearest rows for each row of `Q`, dense or sparse."""
        queries = check_features(Q, "Q", n_features=self.n_features)
        k = check_integer("k", k, low=1)
        segments = self._segments
        ids, values = self._search(segments, queries, k, None)
        return NeighborGraph(ids, values, self.metric, segments[-1].stop_id)

    def query_self(self, k: int) -> NeighborGraph:
        """Return the k nearest other rows for each indexed row; a duplicate is another row.

        A removed row has no neighbours, and is nobody's.
        """
        k = check_integer("k", k, low=1)
        segments = self._segments
        parts = [self._search(segments, s.rows, k, s.first_id) for s in segments]
        ids, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        for segment in segments:
            gone = np.flatnonzero(segment.removed) + segment.first_id
            ids[gone], values[gone] = -1, self._padding
        return NeighborGraph(ids, values, self.metric, segments[-1].stop_id)

    def add(self, rows: object) -> Int:
        """Index more rows, and return the ids they got: the next ones, in order.

        The index stays exact and is not built again: rows added go to a segment of their own, which
        takes in the segments before it that are not much larger. So a row is indexed at most
        ``log2(n_rows)`` times, however many calls bring it.
        """
        checked = check_features(rows, "rows", n_features=self.n_features)
        fresh = as_csr(owned(checked, rows))
        first, count = self.n_rows, fresh.shape[0]
        if first + count >= 2**31 - 1:
            raise InvalidArgumentError("rows", "fewer than 2^31 - 1 rows in all", first + count)
        ids = np.arange(first, first + count)
        if count:
            self._segments = self._grown(fresh)
        return ids

    def remove(self, rows: object) -> None:
        """Take rows out by id. Ids of other rows stay, and those of removed rows are not reused."""
        ids = check_rows("rows", rows, self.n_rows)
        for segment in self._segments:
            segment.remove(ids)

    def _grown(self, fresh: Csr) -> tuple[Segment, ...]:
        """Return the segments with one for `fresh` rows at the end."""
        kept = list(self._segments)
        rows, removed = [fresh], [np.zeros(0, dtype=np.int64)]
        first_id, count = self.n_rows, fresh.shape[0]
        while kept and kept[-1].rows.shape[0] <= 2 * count:
            last = kept.pop()
            rows.insert(0, last.rows)
            removed.append(np.flatnonzero(last.removed) + last.first_id)
            first_id, count = last.first_id, count + last.rows.shape[0]
        joined = rows[0] if len(rows) == 1 else as_csr(sparse.vstack(rows, format="csr"))
        segment = Segment.of(joined, first_id, self._build)
        segment.remove(np.concatenate(removed))
        return (*kept, segment)

    def _rows(self) -> Csr:
        rows = [segment.rows for segment in self._segments]
        return rows[0] if len(rows) == 1 else as_csr(sparse.vstack(rows, format="csr"))

    @property
    def _padding(self) -> float:
        return np.inf if self.metric == "euclidean" else 0.0

    def _search(
        self, segments: tuple[Segment, ...], queries: Features, k: int, self_from: int | None
    ) -> tuple[Int32, Float]:
        """Search all segments in turn; `self_from` is the first query's own id, if it has one."""
        n_queries = queries.shape[0]
        ids = np.full((n_queries, k), -1, dtype=np.int32)
        values = np.empty((n_queries, k))
        for start, stop in row_chunks(queries):
            chunk = as_csr(queries[start:stop])
            own = 0 if self_from is None else self_from
            excluded = np.arange(own + start, own + stop, dtype=np.int32)
            if self_from is None:
                excluded = excluded[:0]
            found = ids[start:stop], values[start:stop]
            for segment in segments:
                segment.search(
                    chunk, excluded, found, segments[-1].stop_id, self._threads, self.batch_queries
                )
            self._to_values(*found)
        return ids, values

    def _to_values(self, ids: Int32, keys: Float) -> None:
        """Turn keys, which are ordered rising, into distances or similarities, in place."""
        if self.metric == "euclidean":
            np.sqrt(keys, out=keys, where=ids >= 0)
        else:
            np.negative(keys, out=keys)
        keys[ids < 0] = self._padding


def _rebuild(
    X: Csr,
    metric: str,
    n_jobs: int | None,
    block_rows: int,
    batch_queries: int,
    simd: str | None,
    patterns: bool,
    removed: Int,
) -> InvertedIndex:
    index = InvertedIndex(
        X,
        metric,
        n_jobs=n_jobs,
        block_rows=block_rows,
        batch_queries=batch_queries,
        simd=simd,
        patterns=patterns,
    )
    index.remove(removed)
    return index
