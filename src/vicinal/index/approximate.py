"""Approximate search that may miss neighbours and measures its recall; never the default."""

from typing import Any

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Features, Float, Int, Int32
from vicinal._core.checks import check_integer
from vicinal._core.validation import check_features
from vicinal.distances import Distance, get_distance
from vicinal.errors import InvalidArgumentError, optional_module
from vicinal.graph import NeighborGraph
from vicinal.index._common import as_dense, graph_width, row_chunks
from vicinal.index.dense import DenseIndex

SAMPLE = 200
"""Maximum number of queries used to measure recall."""


class ApproximateIndex:
    """Approximate nearest neighbours of dense rows: the small-world graph (HNSW) of faiss.

    Needs the extra ``approx``. Candidates are compared in full and sorted. Values and order
    are exact, but neighbours may be missing.

    Parameters
    ----------
    X : ndarray, shape (n, m)
        Sparse rows raise an error: their exact index is faster than an approximate one was.
    metric : {"cosine", "dot", "euclidean"}
        Distance or similarity by which neighbours are found.
    oversample : int
        Number of candidates compared per requested neighbour.
    n_jobs : int or None
        Number of threads; None uses all available ones.
    measures_once : bool
        Whether recall is measured by the first search of many rows only. Later searches
        then take no longer than the small-world graph does.

    Attributes
    ----------
    recall_ : float or None
        Share of the exact neighbours found, over a sample of the last queries.
    """

    def __init__(
        self,
        X: object,
        metric: str = "cosine",
        *,
        oversample: int = 4,
        n_jobs: int | None = None,
        measures_once: bool = False,
    ) -> None:
        self._distance = get_distance(metric)
        self.oversample = check_integer("oversample", oversample, low=1)
        self.recall_: float | None = None
        self._measures_once = measures_once
        rows = check_features(X)
        if isinstance(rows, sparse.csr_array):
            raise InvalidArgumentError("X", "dense rows (sparse: algorithm='inverted')", "sparse")
        self._rows = rows
        self._distance.native()
        self._exact = DenseIndex(rows, self.metric, n_jobs=n_jobs)
        self._small_world = self._linked()

    @property
    def metric(self) -> str:
        """Name of the distance."""
        return self._distance.name

    @property
    def n_rows(self) -> int:
        """Number of rows searched."""
        return self._exact.n_rows

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self._exact.n_features

    @property
    def nbytes(self) -> int:
        """Memory in bytes: the exact index, and the small-world graph with its float32 rows."""
        links = 2 * 32 * 4 * self.n_rows
        return self._exact.nbytes + 4 * self.n_rows * self.n_features + links

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return up to k near rows for each row of `Q`, and measure the recall on a sample."""
        queries = check_features(Q, "Q", n_features=self.n_features)
        graph = self._search(queries, check_integer("k", k, low=1), leave_out=False)
        if self._measures_once and (self.recall_ is not None or queries.shape[0] < SAMPLE):
            return graph
        chosen = self._sample(queries.shape[0])
        exact = self._exact.query(queries[chosen], graph.k)
        self.recall_ = _recall(exact.ids, graph.ids[chosen])
        return graph

    def query_self(self, k: int) -> NeighborGraph:
        """Return up to k near other rows for each row, and measure the recall on a sample."""
        graph = self._search(self._rows, check_integer("k", k, low=1), leave_out=True)
        chosen = self._sample(self.n_rows)
        exact = self._exact.query(self._rows[chosen], min(graph.k + 1, self.n_rows + 1)).ids
        exact = np.where(exact == chosen[:, np.newaxis], np.int32(-1), exact)
        # Without the row itself k others remain, or k + 1 if it is not among its own nearest.
        exact[(exact >= 0).all(axis=1), -1] = -1
        self.recall_ = _recall(exact, graph.ids[chosen])
        return graph

    def _search(self, queries: Features, k: int, *, leave_out: bool) -> NeighborGraph:
        width = graph_width(k, self.n_rows)
        ids = np.full((queries.shape[0], width), -1, dtype=np.int32)
        values = np.full(ids.shape, self._distance.padding)
        k = min(k, self.n_rows)
        for start, stop in row_chunks(queries):
            part = queries[start:stop]
            found = self._candidates(part, min((k + leave_out) * self.oversample, self.n_rows))
            if leave_out:
                found = np.where(found == np.arange(start, stop)[:, np.newaxis], -1, found)
            keys = self._keys(part, found)
            order = np.lexsort((found, keys, found < 0), axis=1)[:, :k]
            near = np.take_along_axis(found, order, axis=1)
            near_values = self._distance.values(np.take_along_axis(keys, order, axis=1))
            near_values[near < 0] = self._distance.padding
            ids[start:stop, : near.shape[1]] = near
            values[start:stop, : near.shape[1]] = near_values
        return NeighborGraph(ids, values, self.metric, self.n_rows)

    def _candidates(self, queries: Features, width: int) -> Int32:
        if width == 0:
            return np.empty((queries.shape[0], 0), dtype=np.int32)
        _, ids = self._small_world.search(self._placed(queries), width)
        return np.asarray(ids, dtype=np.int32)

    def _keys(self, queries: Features, ids: Int32) -> Float:
        """Return the sort keys of candidates; smaller is nearer."""
        keys = np.zeros(ids.shape)
        for place in range(ids.shape[1]):
            rows = self._rows[np.maximum(ids[:, place], 0)]
            keys[:, place] = _keys(queries, rows, self._distance)
        return keys

    @staticmethod
    def _sample(n_queries: int) -> Int:
        """Return evenly spaced queries for measuring recall."""
        if not n_queries:
            return np.zeros(0, dtype=np.int64)
        return np.unique(np.linspace(0, n_queries - 1, SAMPLE).astype(np.int64))

    def _linked(self) -> Any:
        faiss = optional_module("faiss", "approx")
        by_product = self._distance.is_similarity
        kind = faiss.METRIC_INNER_PRODUCT if by_product else faiss.METRIC_L2
        graph = faiss.IndexHNSWFlat(self.n_features, 32, kind)
        graph.hnsw.efConstruction = 80
        graph.hnsw.efSearch = 128
        graph.add(self._placed(self._rows))
        return graph

    def _placed(self, rows: Features) -> Any:
        """Return rows for faiss: float32, and unit length for cosine."""
        dense = as_dense(rows)
        if self._distance.is_normalized:
            norms = np.sqrt(np.einsum("ij,ij->i", dense, dense))[:, np.newaxis]
            dense = dense / np.where(norms == 0, 1.0, norms)
        return np.ascontiguousarray(dense, dtype=np.float32)


def _recall(exact: Int32, near: Int32) -> float:
    """Return the share of the exact neighbours that were found; 1 if there are none."""
    if not exact.size:
        return 1.0
    hits = (exact[:, :, np.newaxis] == near[:, np.newaxis, :]).any(axis=2) & (exact >= 0)
    return float(hits.sum() / max(1, np.count_nonzero(exact >= 0)))


def _keys(queries: Features, rows: Features, distance: Distance) -> Float:
    """Compare query i with row i."""
    left, right = as_dense(queries), as_dense(rows)
    if not distance.is_similarity:
        return _dots(left - right, left - right)
    dots, squares = _dots(left, right), _dots(left, left) * _dots(right, right)
    if not distance.is_normalized:
        return -dots
    return -dots / np.sqrt(np.where(squares == 0, 1.0, squares))


def _dots(a: Float, b: Float) -> Float:
    dots: Float = np.einsum("ij,ij->i", a, b)
    return dots
