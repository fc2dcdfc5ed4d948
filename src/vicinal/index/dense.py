"""Exact search over dense rows: products in float32, the nearest compared by the definition."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from vicinal._base.arrays import Features, Float, Int, Int32
from vicinal._base.threads import one_blas_thread, thread_count
from vicinal._base.validation import METRICS, check_features, check_integer, check_option
from vicinal._native import DenseBatch, DenseIndexFloat32, DenseIndexFloat64
from vicinal.graph.neighbor_graph import NeighborGraph
from vicinal.index.backend import chosen_backend
from vicinal.index.chunks import as_dense, row_chunks
from vicinal.index.products import prepare, usable
from vicinal.index.simd import simd_level

if TYPE_CHECKING:
    from vicinal.gpu import DenseSearch


class DenseIndex:
    """The nearest rows of a dense matrix, exactly.

    Blocks of float32 products, each with a bound on its error (:mod:`vicinal.index.products`), say
    which rows could be among the k nearest; those are compared by the float64 definition of
    :mod:`vicinal.index.reference`. So neighbours, order and values are those of the definition.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Kept by reference. A sparse matrix is made dense.
    metric : {"euclidean", "cosine", "dot"}
        For cosine and dot product only rows that share a non-zero feature are neighbours.
    n_jobs : int or None
        Threads of a query; None for all cores.
    block_rows, batch_queries : int
        Size of a block of products.
    simd : {"plain", "avx2", "avx512"} or None
        Vector instructions of the compiled part, as for
        :class:`~vicinal.index.inverted.InvertedIndex`.
    backend : {"numpy", "torch"}
        ``"torch"`` searches on a GPU, with the same answers (:mod:`vicinal.gpu`); needs the extra
        ``vicinal[gpu]``. Without a GPU the CPU is used, and a warning says so.
    device : str or None
        Which device of PyTorch, such as ``"cuda:1"``; None for the first GPU.

    Notes
    -----
    Memory: 4 bytes a cell of `X` and 16 a row; while searching, 4 bytes a cell of the block of
    products and about 24 bytes a query and neighbour, for each thread. On a GPU: 12 to 20 bytes a
    cell of `X` and up to 2 GiB while searching.

    Examples
    --------
    >>> graph = DenseIndex([[0.0, 0.0], [3.0, 4.0], [1.0, 0.0]]).query([[0.0, 0.0]], 2)
    >>> graph.ids
    array([[0, 2]], dtype=int32)
    >>> graph.distance
    array([[0., 1.]])
    """

    def __init__(
        self,
        X: object,
        metric: str = "euclidean",
        *,
        n_jobs: int | None = None,
        block_rows: int = 2048,
        batch_queries: int = 256,
        simd: str | None = None,
        backend: str = "numpy",
        device: str | None = None,
    ) -> None:
        self.metric = check_option("metric", metric, METRICS)
        self.n_jobs = n_jobs
        self.block_rows = check_integer("block_rows", block_rows, low=1)
        self.batch_queries = check_integer("batch_queries", batch_queries, low=1)
        self.simd = simd
        self._level = simd_level(simd)
        self._threads = thread_count(n_jobs)
        rows = check_features(X)
        self._rows = rows if isinstance(rows, np.ndarray) else rows.toarray()
        self.backend = chosen_backend(backend, device)
        self.device = device
        self._on_device: DenseSearch | None = None
        if self.backend == "torch":
            self._on_device = _device_search(self._rows, self.metric, device)
            return
        kind = DenseIndexFloat32 if self._rows.dtype == np.float32 else DenseIndexFloat64
        self._native = kind(self._rows, METRICS.index(self.metric))
        self._prepared = prepare(self._rows, self.metric)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the rows and build again: the index is made from nothing else."""
        blocks = self.n_jobs, self.block_rows, self.batch_queries, self.simd
        return _rebuild, (self._rows, self.metric, *blocks, self.backend, self.device)

    @property
    def n_rows(self) -> int:
        """Number of rows searched."""
        return int(self._rows.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self._rows.shape[1])

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return the k nearest rows for each row of `Q`, dense or sparse."""
        queries = check_features(Q, "Q", n_features=self.n_features)
        return self._search(queries, check_integer("k", k, low=1), leave_out=False)

    def query_self(self, k: int) -> NeighborGraph:
        """Return the k nearest other rows for each indexed row; a duplicate is another row."""
        if self._on_device is not None:
            return self._graph(self._on_device.self_graph(check_integer("k", k, low=1)))
        return self._search(self._rows, check_integer("k", k, low=1), leave_out=True)

    def _search(self, queries: Features, k: int, *, leave_out: bool) -> NeighborGraph:
        ids = np.full((queries.shape[0], k), -1, dtype=np.int32)
        values = np.full(ids.shape, np.inf if self.metric == "euclidean" else 0.0)
        for start, stop in row_chunks(queries):
            chunk = as_dense(queries[start:stop])
            if self._on_device is not None:
                ids[start:stop], values[start:stop] = self._on_device.graph(chunk, k)
                continue
            excluded = np.arange(start if leave_out else stop, stop, dtype=np.int32)
            self._answer(chunk, excluded, ids[start:stop], values[start:stop])
        return self._graph((ids, values))

    def _graph(self, found: tuple[Int32, Float]) -> NeighborGraph:
        return NeighborGraph(*found, self.metric, self.n_rows)

    def _answer(self, Q: Float, excluded: Int32, ids: Int32, values: Float) -> None:
        """Write the answers of one chunk: certain ones by products, the rest by comparing all."""
        left: list[Int] = []
        if self._prepared is None:
            left.append(np.arange(len(Q)))
        else:
            left.extend(self._by_products(Q, excluded, ids, values))
        chosen = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *left]))
        batch = DenseBatch(len(Q), ids.shape[1], excluded, np.zeros(0, dtype=np.uint8), self._level)
        self._native.compare_with_all(batch, Q, chosen, ids, values, self._threads)

    def _by_products(self, Q: Float, excluded: Int32, ids: Int32, values: Float) -> list[Int]:
        """Answer batches of queries on several threads; return those that are left."""
        one = partial(self._batch, Q, excluded, ids, values)
        starts = range(0, len(Q), self.batch_queries)
        with one_blas_thread(), ThreadPoolExecutor(self._threads) as pool:
            futures = [pool.submit(one, start) for start in starts]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _batch(self, Q: Float, excluded: Int32, ids: Int32, values: Float, start: int) -> Int:
        prepared = self._prepared
        if prepared is None:
            raise RuntimeError("rows without products")
        stop = min(start + self.batch_queries, len(Q))
        part = slice(start, stop)
        ok = usable(Q[part], prepared)
        quick, errors, constants = prepared.queries(np.where(ok[:, np.newaxis], Q[part], 0.0))
        nobody = np.zeros(0, dtype=np.uint8)
        k = min(ids.shape[1], self.n_rows)
        batch = DenseBatch(stop - start, k, excluded[part], nobody, self._level)
        for first in range(0, self.n_rows, self.block_rows):
            block = slice(first, first + self.block_rows)
            products = quick @ prepared.rows[block].T
            batch.collect(
                products, first, prepared.sizes[block], prepared.biases[block], errors, constants
            )
        unsure = self._native.finish(batch, Q[part], ids[part], values[part])
        left = np.union1d(unsure, np.flatnonzero(~ok))
        return left.astype(np.int64) + start


def _device_search(rows: Features, metric: str, device: str | None) -> "DenseSearch":
    """Bring rows to a device; PyTorch is loaded only here."""
    from vicinal.gpu import DenseSearch

    return DenseSearch.of(rows, metric, device)


def _rebuild(
    X: Float,
    metric: str,
    n_jobs: int | None,
    block_rows: int,
    batch_queries: int,
    simd: str | None,
    backend: str,
    device: str | None,
) -> DenseIndex:
    return DenseIndex(
        X,
        metric,
        n_jobs=n_jobs,
        block_rows=block_rows,
        batch_queries=batch_queries,
        simd=simd,
        backend=backend,
        device=device,
    )
