"""Search that may miss neighbours, and says how many: never the default."""

import importlib
from typing import Any

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Float, Int32
from vicinal._base.errors import InvalidArgumentError, MissingExtraError
from vicinal._base.validation import (
    METRICS,
    as_csr,
    check_features,
    check_integer,
    check_option,
    check_real,
)
from vicinal.graph.neighbor_graph import NeighborGraph
from vicinal.index.build import Index, build_index
from vicinal.index.chunks import as_dense

SAMPLE = 200
"""Queries that recall is measured on, at most."""


class ApproximateIndex:
    """Near rows, most of the nearest among them.

    Sparse rows are searched with the heaviest features of each query only, those that hold `keep`
    of its squared length. Dense rows are searched through the small-world graph (HNSW) of faiss,
    from the extra ``approx``. What is found is compared in full and ordered; only what was not
    found is missing. For sparse rows and queries of few features the exact index is as fast.

    Parameters
    ----------
    X : ndarray or sparse array, shape (n, m)
    metric : {"cosine", "dot", "euclidean"}
        Sparse rows: cosine and dot product only.
    keep : float
        Share of a sparse query's squared length that is searched, from 0 to 1 (all: exact).
    oversample : int
        Candidates compared for each neighbour wanted.
    n_jobs : int or None

    Attributes
    ----------
    recall_ : float or None
        Share of the exact neighbours found, over a sample of the last queries.

    Examples
    --------
    >>> X = sparse.csr_array(np.array([[3.0, 1.0, 0.0], [3.0, 0.0, 1.0], [0.0, 1.0, 1.0]]))
    >>> index = ApproximateIndex(X, "cosine", keep=0.8)
    >>> index.query(X[[0]], 2).ids
    array([[0, 1]], dtype=int32)
    >>> index.recall_
    1.0
    """

    def __init__(
        self,
        X: object,
        metric: str = "cosine",
        *,
        keep: float = 0.8,
        oversample: int = 4,
        n_jobs: int | None = None,
    ) -> None:
        self.metric = check_option("metric", metric, METRICS)
        self.keep = check_real("keep", keep, 0.0, 1.0)
        self.oversample = check_integer("oversample", oversample, low=1)
        self.recall_: float | None = None
        self._rows: Features = check_features(X)
        if sparse.issparse(self._rows) and self.metric == "euclidean":
            raise InvalidArgumentError("metric", "'cosine' or 'dot' for sparse rows", "'euclidean'")
        self._exact: Index = build_index(self._rows, self.metric, n_jobs)
        self._small_world = None if sparse.issparse(self._rows) else self._linked()

    @property
    def n_rows(self) -> int:
        """Number of rows searched."""
        return self._exact.n_rows

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self._exact.n_features

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return up to k near rows for each row of `Q`, and measure the recall on a sample."""
        queries = check_features(Q, "Q", n_features=self.n_features)
        k = check_integer("k", k, low=1)
        found = self._candidates(queries, k * self.oversample)
        keys = self._keys(queries, found)
        order = np.lexsort((found, keys, found < 0), axis=1)[:, :k]
        ids = np.take_along_axis(found, order, axis=1)
        values = np.take_along_axis(keys, order, axis=1)
        values = np.sqrt(values) if self.metric == "euclidean" else -values
        values[ids < 0] = np.inf if self.metric == "euclidean" else 0.0
        graph = NeighborGraph(ids, values, self.metric, self.n_rows)
        self.recall_ = self._recall(queries, graph)
        return graph

    def _candidates(self, queries: Features, width: int) -> Int32:
        if self._small_world is None:
            return self._exact.query(_heaviest(as_csr(queries), self.keep), width).ids
        _, ids = self._small_world.search(self._placed(queries), width)
        return np.asarray(ids, dtype=np.int32)

    def _keys(self, queries: Features, ids: Int32) -> Float:
        """Return what candidates are ordered by, smaller is nearer."""
        keys = np.zeros(ids.shape)
        for place in range(ids.shape[1]):
            rows = self._rows[np.maximum(ids[:, place], 0)]
            keys[:, place] = _keys(queries, rows, self.metric)
        return keys

    def _recall(self, queries: Features, graph: NeighborGraph) -> float:
        n_queries = queries.shape[0]
        chosen = np.unique(np.linspace(0, max(n_queries - 1, 0), SAMPLE).astype(np.int64))
        if not n_queries:
            return 1.0
        exact = self._exact.query(queries[chosen], graph.k).ids
        near = graph.ids[chosen]
        hits = (exact[:, :, np.newaxis] == near[:, np.newaxis, :]).any(axis=2) & (exact >= 0)
        return float(hits.sum() / max(1, np.count_nonzero(exact >= 0)))

    def _linked(self) -> Any:
        try:
            faiss = importlib.import_module("faiss")
        except ImportError:
            raise MissingExtraError("faiss", "approx") from None
        kind = faiss.METRIC_L2 if self.metric == "euclidean" else faiss.METRIC_INNER_PRODUCT
        graph = faiss.IndexHNSWFlat(self.n_features, 32, kind)
        graph.hnsw.efConstruction = 80
        graph.hnsw.efSearch = 128
        graph.add(self._placed(self._rows))
        return graph

    def _placed(self, rows: Features) -> Any:
        """Return rows as faiss wants them: float32, for cosine of length one."""
        dense = as_dense(rows)
        if self.metric == "cosine":
            norms = np.sqrt(np.einsum("ij,ij->i", dense, dense))[:, np.newaxis]
            dense = dense / np.where(norms == 0, 1.0, norms)
        return np.ascontiguousarray(dense, dtype=np.float32)


def _heaviest(queries: Csr, keep: float) -> Csr:
    """Keep the largest values of each row, the fewest that hold `keep` of its squared length."""
    squares = queries.data.astype(np.float64) ** 2
    row_of = np.repeat(np.arange(queries.shape[0]), np.diff(queries.indptr))
    order = np.lexsort((-squares, row_of))
    total = np.bincount(row_of, weights=squares, minlength=queries.shape[0])
    before = np.cumsum(squares[order]) - squares[order]
    before -= np.repeat(np.append(0.0, np.cumsum(total))[:-1], np.diff(queries.indptr))
    kept = np.zeros(queries.nnz, dtype=np.bool_)
    kept[order] = before < keep * total[row_of[order]]
    pruned = queries.copy()
    pruned.data = np.where(kept, queries.data, 0)
    pruned.eliminate_zeros()
    return pruned


def _keys(queries: Features, rows: Features, metric: str) -> Float:
    """Compare query i with row i."""
    if isinstance(rows, sparse.csr_array):
        a, b = as_csr(queries).astype(np.float64), rows.astype(np.float64)
        dots, squares = _sums(a.multiply(b)), _sums(a.multiply(a)) * _sums(b.multiply(b))
    else:
        left, right = as_dense(queries), as_dense(rows)
        if metric == "euclidean":
            return _dots(left - right, left - right)
        dots, squares = _dots(left, right), _dots(left, left) * _dots(right, right)
    if metric == "dot":
        return -dots
    return -dots / np.sqrt(np.where(squares == 0, 1.0, squares))


def _dots(a: Float, b: Float) -> Float:
    dots: Float = np.einsum("ij,ij->i", a, b)
    return dots


def _sums(matrix: Any) -> Float:
    return np.asarray(matrix.sum(axis=1), dtype=np.float64).ravel()
