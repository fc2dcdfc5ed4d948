r"""Exact search over dense rows: float32 products select candidates for exact comparison.

For Euclidean distance, rows and queries are centred at the mean of the rows (distances stay the
same, norms shrink) and scored by :math:`q \cdot x - \lVert x\rVert^2 / 2`, which decreases with the
distance. For cosine both are scaled to unit length, for the dot product only the queries. A power
of two common to all rows keeps float32 in range.

With :math:`u = 2^{-24}` and d features, rounding q and x to float32, the product of any order of
summation, the bias and the difference are together wrong by at most

.. math::

    1.1\,u\,\bigl((d + 6)\,\lVert q\rVert \lVert x\rVert + 2 \lVert x\rVert^2\bigr)
    + (d + 8)\,2^{-50}\,(\lVert q\rVert^2 + \lVert x\rVert^2) + 2^{-100},

the second term for the float64 rounding of the definition itself, the last for numbers too small
for float32. It is split as error(q) · size(x) + constant(q), with size(x) bounding the norm.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vicinal._core.arrays import Bool, Features, Float, Int, Int32
from vicinal._core.checks import check_integer
from vicinal._core.threads import ForkLock, one_blas_thread, thread_count
from vicinal._core.validation import check_features, check_rows
from vicinal._native import DenseBatch, DenseIndexFloat32, DenseIndexFloat64, dense_norms
from vicinal.distances import UNIT, Distance, get_distance
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.index._common import (
    as_dense,
    by_row_id,
    check_room_for_ids,
    chosen_backend,
    graph_width,
    ids_at,
    mark_removed,
    places_of,
    row_chunks,
    should_compact,
    simd_level,
)

if TYPE_CHECKING:
    from vicinal.gpu import DenseSearch


Single = NDArray[np.float32]

STEP = 2048

HEADROOM = 2.0**10
"""Largest scaled size of rows added later; the initial rows are below 1."""


@dataclass(frozen=True, eq=False)
class RoundedRows:
    """Rows ready for products."""

    rows: Single
    sizes: Single
    biases: Single
    center: Float
    scale: float
    distance: Distance

    @property
    def largest(self) -> float:
        """The largest norm of a row, rounded up."""
        return float(self.sizes.max(initial=0.0))

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.rows.nbytes + self.sizes.nbytes + self.biases.nbytes

    def first(self, count: int) -> "RoundedRows":
        """Return the first rows only, without copying them."""
        parts = self.rows[:count], self.sizes[:count], self.biases[:count]
        return RoundedRows(*parts, self.center, self.scale, self.distance)

    def takes(self, X: NDArray[Any]) -> bool:
        """Tell whether the bounds also hold for further rows, that is, none is too large."""
        sizes = _sizes(X)
        if self.distance.is_normalized:
            return _tame(sizes[sizes > 0])
        largest = float(sizes.max(initial=0.0))
        return largest < 1e120 and largest * self.scale <= HEADROOM

    def write(self, X: NDArray[Any], first: int) -> None:
        """Write the rows of `X` at the places from `first` on."""
        for start in range(0, len(X), STEP):
            part = X[start : start + STEP].astype(np.float64)
            unit = self.distance.is_normalized
            moved = _unit_length(part) if unit else (part - self.center) * self.scale
            norms = _norms(moved)
            place = slice(first + start, first + start + len(part))
            self.rows[place] = moved
            self.sizes[place] = _up(norms)
            self.biases[place] = 0.0 if self.distance.is_similarity else norms**2 / 2

    def queries(self, Q: Float) -> tuple[Single, Single, Single]:
        """Return queries in float32, their errors per row size and their constant errors."""
        scaled = self.distance.is_similarity
        moved = _unit_length(Q) if scaled else (Q - self.center) * self.scale
        norms = _norms(moved)
        d = Q.shape[1]
        largest = self.largest
        errors = 1.1 * UNIT * ((d + 6) * norms + 2.2 * largest)
        constants = (d + 8) * 2.0**-50 * (norms**2 + largest**2) + 2.0**-100
        return moved.astype(np.float32), _up(errors), _up(constants)


def prepare(X: NDArray[Any], distance: Distance, capacity: int | None = None) -> RoundedRows | None:
    """Return `X` ready for products, or None if the bounds would be useless.

    Memory: 4 bytes per cell and 8 per row, for `capacity` rows if rows are to be added.
    """
    if not _in_range(X, distance):
        return None
    n_rows, n_features = capacity or len(X), X.shape[1]
    still = distance.is_similarity
    center = np.zeros(n_features) if still else X.mean(axis=0, dtype=np.float64)
    scale = float(2.0 ** -np.frexp(_sizes(X).max())[1])
    rows = np.empty((n_rows, n_features), dtype=np.float32)
    sizes, biases = np.zeros((2, n_rows), dtype=np.float32)
    prepared = RoundedRows(rows, sizes, biases, center, scale, distance)
    prepared.write(X, 0)
    return prepared


def usable(Q: Float, prepared: RoundedRows) -> Bool:
    """Return for which queries the error bound holds."""
    sizes = _sizes(Q)
    if not prepared.distance.is_similarity:
        near: Bool = sizes * prepared.scale < 1e15
        return near
    tame: Bool = (sizes == 0) | ((sizes > 1e-140) & (sizes < 1e140))
    return tame


def _in_range(X: NDArray[Any], distance: Distance) -> bool:
    """Tell whether squares neither overflow nor underflow, so that relative errors are valid."""
    if not X.size or X.shape[1] > 2**20:
        return False
    sizes = _sizes(X)
    if distance.is_normalized:
        sizes = sizes[sizes > 0]
        return sizes.size > 0 and _tame(sizes)
    return bool(1e-120 < sizes.max() < 1e120)


def _tame(sizes: Float) -> bool:
    """Tell whether rows of these sizes can be scaled to unit length."""
    return bool(np.all((sizes > 1e-140) & (sizes < 1e140)))


def _sizes(rows: NDArray[Any]) -> Float:
    """Return the largest absolute value of each row."""
    largest = np.maximum(rows.max(axis=1, initial=0.0), -rows.min(axis=1, initial=0.0))
    sizes: Float = largest.astype(np.float64)
    return sizes


def _unit_length(rows: Float) -> Float:
    """Scale rows to unit length, dividing by the largest value first to avoid overflow."""
    sizes = _sizes(rows)[:, np.newaxis]
    small: Float = rows / np.where(sizes == 0, 1.0, sizes)
    norms = _norms(small)[:, np.newaxis]
    return small / np.where(norms == 0, 1.0, norms)


def _norms(rows: Float) -> Float:
    norms: Float = np.sqrt(np.einsum("ij,ij->i", rows, rows)) * (1 + 1e-9)
    return norms


def _up(values: Float) -> Single:
    """Round to float32, never down."""
    return np.nextafter(values.astype(np.float32), np.float32(np.inf))


@dataclass(eq=False)
class DenseRoom:
    """Arrays with spare capacity for further rows.

    `prepared`: `values` for float32 products; None if the bounds would be useless.
    `used`: rows written so far, by any of the versions that share the arrays.
    `owned`: False while `values` is the caller's array, which has no spare capacity.
    """

    values: NDArray[Any]
    norms: Float
    prepared: RoundedRows | None
    used: int
    owned: bool = False

    @classmethod
    def joined(cls, old: NDArray[Any], fresh: NDArray[Any], distance: Distance) -> "DenseRoom":
        """Copy rows into new arrays with half as much spare capacity."""
        count = len(old) + len(fresh)
        capacity = count + count // 2
        values = np.empty((capacity, old.shape[1]), dtype=np.result_type(old, fresh))
        values[: len(old)] = old
        values[len(old) : count] = fresh
        norms = np.empty(capacity)
        norms[:count] = dense_norms(values[:count])
        prepared = prepare(values[:count], distance, capacity)
        return cls(values, norms, prepared, count, owned=True)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, the caller's array not counted."""
        own = self.values.nbytes if self.owned else 0
        return own + self.norms.nbytes + (0 if self.prepared is None else self.prepared.nbytes)

    def takes(self, fresh: NDArray[Any], first: int) -> bool:
        """Tell whether rows can be written from `first` on, exactly and with the same bounds."""
        fits = first == self.used and first + len(fresh) <= len(self.values)
        same = np.result_type(self.values, fresh) == self.values.dtype
        return fits and same and (self.prepared is None or self.prepared.takes(fresh))

    def write(self, fresh: NDArray[Any], first: int) -> None:
        """Append rows."""
        stop = first + len(fresh)
        self.values[first:stop] = fresh
        self.norms[first:stop] = dense_norms(self.values[first:stop])
        if self.prepared is not None:
            self.prepared.write(fresh, first)
        self.used = stop


@dataclass(frozen=True, eq=False)
class DenseRows:
    """An immutable version of the rows; changes create a new version, so running searches are safe.

    `room`: shared with later versions, whose additional rows follow the first `count`.
    `count`: number of rows in the arrays, including removed ones. The index of a row there is its
    place.
    `removed`: 1 for a removed row; empty if none has been removed.
    `n_ids`: number of ids assigned so far.
    `ids`: the id of the row at each place, ascending; None if ids equal places.
    """

    room: DenseRoom
    count: int
    removed: NDArray[np.uint8]
    distance: Distance
    n_ids: int
    ids: Int32 | None = None

    @classmethod
    def of(cls, rows: NDArray[Any], distance: Distance) -> "DenseRows":
        """Prepare rows, which are kept by reference."""
        room = DenseRoom(rows, dense_norms(rows), prepare(rows, distance), len(rows))
        return cls(room, len(rows), np.zeros(0, dtype=np.uint8), distance, len(rows))

    @classmethod
    def unprepared(cls, rows: NDArray[Any], distance: Distance) -> "DenseRows":
        """Keep rows that are searched elsewhere."""
        room = DenseRoom(rows, np.zeros(0), None, len(rows))
        return cls(room, len(rows), np.zeros(0, dtype=np.uint8), distance, len(rows))

    @property
    def values(self) -> NDArray[Any]:
        """The rows, including removed ones."""
        return self.room.values[: self.count]

    @cached_property
    def prepared(self) -> RoundedRows | None:
        """The rows for float32 products."""
        prepared = self.room.prepared
        return None if prepared is None else prepared.first(self.count)

    @cached_property
    def native(self) -> DenseIndexFloat32 | DenseIndexFloat64:
        """The compiled comparison by the definition."""
        kind = DenseIndexFloat32 if self.values.dtype == np.float32 else DenseIndexFloat64
        return kind(self.values, self.room.norms[: self.count], self.distance.native())

    def with_rows(self, fresh: NDArray[Any]) -> "DenseRows":
        """Return these rows with further rows appended, which get the next ids."""
        room, ids = self.room, self.ids
        if room.takes(fresh, self.count):
            room.write(fresh, self.count)
        else:
            room = DenseRoom.joined(self.values, fresh, self.distance)
        removed = self.removed
        if len(removed):
            removed = np.append(removed, np.zeros(len(fresh), dtype=np.uint8))
        n_ids = self.n_ids + len(fresh)
        if ids is not None:
            ids = np.append(ids, np.arange(self.n_ids, n_ids, dtype=np.int32))
        return DenseRows(room, self.count + len(fresh), removed, self.distance, n_ids, ids)

    def without(self, ids: Int) -> "DenseRows":
        """Return these rows without `ids`; compacted if many rows have been removed."""
        places = places_of(ids, self.ids)
        removed = mark_removed(self.removed, places, self.count)
        fewer = replace(self, removed=removed)
        return fewer.compacted() if should_compact(removed) else fewer

    def compacted(self) -> "DenseRows":
        """Return the remaining rows in new arrays."""
        if not self.removed.any():
            return self
        kept = np.flatnonzero(self.removed == 0)
        ids = kept.astype(np.int32) if self.ids is None else self.ids[kept]
        rows = DenseRows.of(self.values[kept], self.distance)
        return replace(rows, room=replace(rows.room, owned=True), n_ids=self.n_ids, ids=ids)


FEW_CELLS = 2**18
"""Queries × cells of the rows up to which all rows are compared by the definition at once: that
takes less time than to prepare products."""
CELLS_OF_ONE_THREAD = 2**16
"""Queries × cells up to which a second thread takes longer to start than it saves."""
CELLS_OF_ONE_PRODUCT = 2**24
"""The same for the threads of BLAS, which wait for each other in a busy loop. With other work on
the machine, one query of 19,000 × 384 cells took up to 78 ms with them. Alone it takes 0.8."""


class DenseIndex:
    """The nearest rows of a dense matrix, exactly.

    Blocks of float32 products with known error bounds (:mod:`vicinal.index.dense`) select the
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
        :data:`~vicinal.index._common.COMPACT_SHARE` of the rows are removed.
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
        """Search batches of queries on several threads; return the undecided ones."""
        one = partial(self._batch, rows, Q, excluded, ids, values)
        starts = range(0, len(Q), self.batch_queries)
        if len(Q) * rows.values.size <= CELLS_OF_ONE_PRODUCT:
            with one_blas_thread():
                return [one(start) for start in starts]
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
