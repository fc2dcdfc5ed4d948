"""Exact search over sparse rows through an inverted index."""

import os

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Csr, Features, Float, Int32
from vicinal._base.threads import thread_count
from vicinal._base.validation import (
    METRICS,
    check_features,
    check_integer,
    check_option,
    csr_parts,
)
from vicinal._native import InvertedIndexFloat32, InvertedIndexFloat64, simd_levels
from vicinal.graph.neighbor_graph import NeighborGraph
from vicinal.index.chunks import as_csr, row_chunks


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
    Memory: at most 16 bytes an entry of `X` besides `X` itself, 36 for each feature that occurs and
    12 a row; while searching, some kilobytes for each query of a batch.

    Examples
    --------
    >>> from scipy import sparse
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
        batch_queries: int = 16,
        simd: str | None = None,
        patterns: bool = True,
    ) -> None:
        self.metric = check_option("metric", metric, METRICS)
        self.n_jobs = n_jobs
        self.block_rows = check_integer("block_rows", block_rows, low=1)
        self.batch_queries = check_integer("batch_queries", batch_queries, low=1)
        self.simd = simd
        self.patterns = patterns
        self._threads = thread_count(n_jobs)
        self._rows: Csr = as_csr(check_features(X))
        self._native = self._build()

    def _build(self) -> InvertedIndexFloat32 | InvertedIndexFloat64:
        rows = self._rows
        kind = InvertedIndexFloat32 if rows.dtype == np.float32 else InvertedIndexFloat64
        indptr, indices = csr_parts(rows)
        values = np.ascontiguousarray(rows.data[: indptr[-1]])
        return kind(
            indptr,
            indices,
            values,
            rows.shape[1],
            METRICS.index(self.metric),
            self.block_rows,
            _simd_level(self.simd),
            bool(self.patterns),
        )

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rows and build again: the index is made from nothing else."""
        options = self.n_jobs, self.block_rows, self.batch_queries, self.simd, self.patterns
        return _rebuild, (self._rows, self.metric, *options)

    @property
    def n_rows(self) -> int:
        """Number of rows searched."""
        return int(self._rows.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self._rows.shape[1])

    @property
    def nbytes(self) -> int:
        """Memory of the index in bytes, `X` itself not counted."""
        return self._native.bytes()

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return the k nearest rows for each row of `Q`, dense or sparse."""
        queries = check_features(Q, "Q", n_features=self.n_features)
        return self._search(queries, check_integer("k", k, low=1), leave_out=False)

    def query_self(self, k: int) -> NeighborGraph:
        """Return the k nearest other rows for each indexed row; a duplicate is another row."""
        return self._search(self._rows, check_integer("k", k, low=1), leave_out=True)

    def _search(self, queries: Features, k: int, *, leave_out: bool) -> NeighborGraph:
        n_queries = queries.shape[0]
        ids = np.empty((n_queries, k), dtype=np.int32)
        values = np.empty((n_queries, k))
        for start, stop in row_chunks(queries):
            chunk = as_csr(queries[start:stop])
            excluded = np.arange(start if leave_out else stop, stop, dtype=np.int32)
            ids[start:stop], values[start:stop] = self._answers(chunk, k, excluded)
        return NeighborGraph(ids, values, self.metric, self.n_rows)

    def _answers(self, queries: Csr, k: int, excluded: Int32) -> tuple[Int32, Float]:
        removed: NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        values = np.ascontiguousarray(queries.data, dtype=np.float64)
        return self._native.search(
            *csr_parts(queries), values, k, excluded, removed, self._threads, self.batch_queries
        )


def _rebuild(
    X: Csr,
    metric: str,
    n_jobs: int | None,
    block_rows: int,
    batch_queries: int,
    simd: str | None,
    patterns: bool,
) -> InvertedIndex:
    return InvertedIndex(
        X,
        metric,
        n_jobs=n_jobs,
        block_rows=block_rows,
        batch_queries=batch_queries,
        simd=simd,
        patterns=patterns,
    )


def _simd_level(asked: str | None) -> str:
    """Return the level of vector instructions: as asked, else by the environment, else the best."""
    level = os.environ.get("VICINAL_SIMD", "auto") if asked is None else asked
    return check_option("simd", level, ("auto", *simd_levels()))
