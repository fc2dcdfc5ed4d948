"""Exact search over dense rows: float32 products select candidates for exact comparison."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Features, Float, Int, Int32
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.fork_lock import ForkLock
from vicinal._base.threads import one_blas_thread, thread_count
from vicinal._base.validation import check_features, check_integer, check_rows
from vicinal._native import DenseBatch
from vicinal.distances import get_distance
from vicinal.graph.neighbor_graph import NeighborGraph
from vicinal.index.backend import chosen_backend
from vicinal.index.chunks import as_dense, row_chunks
from vicinal.index.dense_rows import DenseRows
from vicinal.index.products import usable
from vicinal.index.row_ids import by_row_id, check_room_for_ids, ids_at
from vicinal.index.simd import simd_level
from vicinal.index.widths import graph_width

if TYPE_CHECKING:
    from vicinal.gpu import DenseSearch

FEW_CELLS = 2**18
"""Queries × cells of the rows up to which all rows are compared by the definition at once: that
takes less time than to prepare products."""
CELLS_OF_ONE_THREAD = 2**16
"""Queries × cells up to which a second thread takes longer to start than it saves."""


class DenseIndex:
    """The nearest rows of a dense matrix, exactly.

    Blocks of float32 products with known error bounds (:mod:`vicinal.index.products`) select the
    rows that could be among the k nearest; these are compared by the float64 definition of
    :mod:`vicinal.index.reference`. Neighbours, order and values therefore match the definition.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Kept by reference. A sparse matrix is made dense.
    metric : {"euclidean", "cosine", "dot"}
        With cosine and dot product, only rows that share a non-zero feature are neighbours.
    n_jobs : int or None
        Number of threads of a query; None for all cores.
    block_rows, batch_queries : int
        Size of a block of products.
    simd : {"plain", "avx2", "avx512"} or None
        Vector instructions of the compiled part, as for
        :class:`~vicinal.index.inverted.InvertedIndex`.
    backend : {"numpy", "torch"}
        ``"torch"`` searches on a GPU with the same results (:mod:`vicinal.gpu`); it requires the
        extra ``vicinal[gpu]``. If there is no GPU, the CPU is used with a warning.
    device : str or None
        PyTorch device, such as ``"cuda:1"``; None for the first GPU.

    Notes
    -----
    Memory: 4 bytes per cell of `X` and 16 per row; while searching, per thread, 4 bytes per cell of
    a block of products and about 24 bytes per query and neighbour. After rows have been added, half
    as much again, and a copy of `X`. On a GPU: 12 to 20 bytes per cell of `X` and up to 2 GiB while
    searching.

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
        self._distance = get_distance(metric)
        self.n_jobs = n_jobs
        self.block_rows = check_integer("block_rows", block_rows, low=1)
        self.batch_queries = check_integer("batch_queries", batch_queries, low=1)
        self.simd = simd
        self._level = simd_level(simd)
        self._threads = thread_count(n_jobs)
        rows = _dense_features(X, "X")
        self.backend = chosen_backend(backend, device)
        self.device = device
        self._on_device: DenseSearch | None = None
        if self.backend == "torch":
            self._on_device = _device_search(rows, self.metric, device)
        there = self._on_device is not None
        self._distance.native()
        self._rows = (DenseRows.unprepared if there else DenseRows.of)(rows, self._distance)
        self._writing = ForkLock()

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the remaining rows; the index is rebuilt from them."""
        rows = self._rows.compacted()
        options = {
            "n_jobs": self.n_jobs,
            "block_rows": self.block_rows,
            "batch_queries": self.batch_queries,
            "simd": self.simd,
            "backend": self.backend,
            "device": self.device,
        }
        return _rebuild, (rows.values, self.metric, options, rows.ids, rows.n_ids)

    @property
    def metric(self) -> str:
        """Name of the distance."""
        return self._distance.name

    @property
    def n_rows(self) -> int:
        """Number of row ids assigned so far; ids of removed rows are never reused."""
        return self._rows.n_ids

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self._rows.values.shape[1])

    @property
    def nbytes(self) -> int:
        """Main memory of the index in bytes, excluding `X` itself."""
        return self._rows.room.nbytes

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return the k nearest rows for each row of `Q`, dense or sparse."""
        queries = check_features(Q, "Q", n_features=self.n_features)
        return self._search(self._rows, queries, check_integer("k", k, low=1), leave_out=False)

    def query_self(self, k: int) -> NeighborGraph:
        """Return the k nearest other rows of each indexed row; duplicates count as other rows.

        A removed row has no neighbours and is not a neighbour of any row.
        """
        k, rows = check_integer("k", k, low=1), self._rows
        if self._on_device is not None:
            width = graph_width(k, rows.count)
            return NeighborGraph(*self._on_device.self_graph(width), self.metric, rows.count)
        return self._search(rows, rows.values, k, leave_out=True)

    @property
    def is_mutable(self) -> bool:
        """Whether rows can be added and removed, which is not possible on a device."""
        return self._on_device is None

    def add(self, rows: object) -> Int:
        """Add rows and return their ids, which are the next free ones in order.

        The index stays exact. Rows are appended to arrays that grow by half when they are full, so
        that each row is copied only a few times in total, however many calls add rows; the first
        call copies `X`. Adding rows more than a thousand times larger than all others, or float64
        rows to a float32 index, prepares all rows again.
        """
        self._refuse_on_device()
        fresh = _dense_features(rows, "rows", self.n_features)
        with self._writing:
            first, count = self.n_rows, len(fresh)
            check_room_for_ids(first, count)
            if count:
                self._rows = self._rows.with_rows(fresh)
        return np.arange(first, first + count)

    def remove(self, rows: object) -> None:
        """Remove rows by id. Other ids do not change, and removed ids are not reused.

        Their memory is released by :meth:`compact`, which is called automatically once more than
        :data:`~vicinal.index.row_ids.COMPACT_SHARE` of the rows are removed.
        """
        self._refuse_on_device()
        with self._writing:
            ids = check_rows("rows", rows, self.n_rows)
            if len(ids):
                self._rows = self._rows.without(ids)

    def compact(self) -> None:
        """Release the memory of removed rows now, by copying the others."""
        with self._writing:
            self._rows = self._rows.compacted()

    def copy(self) -> "DenseIndex":
        """Return an independent copy of the index."""
        twin = object.__new__(DenseIndex)
        with self._writing:  # shared: both may write to the same arrays
            twin.__dict__.update(self.__dict__)
        return twin

    def _refuse_on_device(self) -> None:
        if not self.is_mutable:
            raise InvalidArgumentError("backend", "'numpy' for add() and remove()", "'torch'")

    def _search(
        self, rows: DenseRows, queries: Features, k: int, *, leave_out: bool
    ) -> NeighborGraph:
        ids = np.full((queries.shape[0], graph_width(k, rows.n_ids)), -1, dtype=np.int32)
        padding = self._distance.padding
        values = np.full(ids.shape, padding)
        for start, stop in row_chunks(queries):
            chunk = as_dense(queries if stop - start == len(ids) else queries[start:stop])
            if self._on_device is not None:
                found = self._on_device.graph(chunk, ids.shape[1])
                ids[start:stop], values[start:stop] = found
                continue
            excluded = np.arange(start if leave_out else stop, stop, dtype=np.int32)
            self._answer(rows, chunk, excluded, ids[start:stop], values[start:stop])
        found_ids = ids_at(ids, rows.ids)
        if leave_out:
            gone = np.flatnonzero(rows.removed)
            found_ids[gone], values[gone] = -1, padding
            if rows.ids is not None:
                found_ids, values = by_row_id(found_ids, values, rows.ids, rows.n_ids, padding)
        return NeighborGraph.trusted(found_ids, values, self.metric, rows.n_ids)

    def _answer(
        self, rows: DenseRows, Q: Float, excluded: Int32, ids: Int32, values: Float
    ) -> None:
        """Write the results of one chunk: by products if certain, otherwise by all rows."""
        left: list[Int] = []
        if rows.prepared is None or len(Q) * rows.values.size <= FEW_CELLS:
            left.append(np.arange(len(Q)))
        else:
            left.extend(self._by_products(rows, Q, excluded, ids, values))
        chosen = np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *left]))
        batch = DenseBatch(len(Q), ids.shape[1], excluded, rows.removed, self._level)
        is_short = len(chosen) * rows.values.size <= CELLS_OF_ONE_THREAD
        threads = 1 if is_short else self._threads
        rows.native.compare_with_all(batch, Q, chosen, ids, values, threads)

    def _by_products(
        self, rows: DenseRows, Q: Float, excluded: Int32, ids: Int32, values: Float
    ) -> list[Int]:
        """Search batches of queries on several threads; return the queries that are not settled."""
        one = partial(self._batch, rows, Q, excluded, ids, values)
        starts = range(0, len(Q), self.batch_queries)
        if len(starts) == 1:
            return [one(0)]
        with one_blas_thread(), ThreadPoolExecutor(self._threads) as pool:
            futures = [pool.submit(one, start) for start in starts]
            try:
                return [future.result() for future in futures]
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _batch(
        self, rows: DenseRows, Q: Float, excluded: Int32, ids: Int32, values: Float, start: int
    ) -> Int:
        prepared = rows.prepared
        if prepared is None:
            raise RuntimeError("rows without products")
        stop = min(start + self.batch_queries, len(Q))
        part = slice(start, stop)
        ok = usable(Q[part], prepared)
        quick, errors, constants = prepared.queries(np.where(ok[:, np.newaxis], Q[part], 0.0))
        k = min(ids.shape[1], rows.count)
        batch = DenseBatch(stop - start, k, excluded[part], rows.removed, self._level)
        for first in range(0, rows.count, self.block_rows):
            block = slice(first, first + self.block_rows)
            products = quick @ prepared.rows[block].T
            batch.collect(
                products, first, prepared.sizes[block], prepared.biases[block], errors, constants
            )
        unsure = rows.native.finish(batch, Q[part], ids[part], values[part])
        left = np.union1d(unsure, np.flatnonzero(~ok))
        return left.astype(np.int64) + start


def _dense_features(X: object, name: str, n_features: int | None = None) -> NDArray[Any]:
    """Return checked rows as an array."""
    rows = check_features(X, name, n_features=n_features)
    return rows if isinstance(rows, np.ndarray) else rows.toarray()


def _device_search(rows: Features, metric: str, device: str | None) -> "DenseSearch":
    """Copy rows to a device; PyTorch is only imported here."""
    from vicinal.gpu import DenseSearch

    return DenseSearch.of(rows, metric, device)


def _rebuild(
    X: Float, metric: str, options: dict[str, Any], ids: Int32 | None, n_ids: int
) -> DenseIndex:
    index = DenseIndex(X, metric, **options)
    index._rows = replace(index._rows, ids=ids, n_ids=n_ids)
    return index
