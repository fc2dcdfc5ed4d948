"""The alternatives, each at its best settings: a prepared search that returns ids and values."""

import importlib
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.index_data import Case
from vicinal._core.arrays import Csr

Found: TypeAlias = tuple[NDArray[Any], NDArray[Any]]
Search: TypeAlias = Callable[[], Found]


PACKAGES = ("sparse_dot_topn", "sklearn.neighbors", "faiss")


def load_peers() -> None:
    """Import what is measured, so that no measurement has an import in it."""
    for name in PACKAGES:
        importlib.import_module(name)


def unit_length(matrix: Csr) -> Csr:
    """Scale rows to length one in float32."""
    squares = np.add.reduceat(
        np.append(matrix.data.astype(np.float64) ** 2, 0.0), matrix.indptr[:-1]
    )
    squares[np.diff(matrix.indptr) == 0] = 0
    norms = np.repeat(np.sqrt(squares), np.diff(matrix.indptr))
    scaled = matrix.copy()
    scaled.data = (matrix.data / norms).astype(np.float32)
    return scaled


class SparseDotTopn:
    """The row-wise sparse product that keeps the k largest of a row."""

    def __init__(self, case: Case, k: int, n_threads: int) -> None:
        self._package = importlib.import_module("sparse_dot_topn")
        self._columns = sparse.csr_matrix(unit_length(case.rows).T)
        self._k, self._n_threads = k, n_threads
        self.queries = sparse.csr_matrix(unit_length(case.queries))

    def __call__(self) -> Found:
        """Search all queries once."""
        return padded(self.search(self.queries), self._k)

    def search(self, queries: Any) -> Any:
        """Return the product for queries of length one."""
        return self._package.sp_matmul_topn(
            queries, self._columns, top_n=self._k, sort=True, n_threads=self._n_threads
        )


def brute_cosine(case: Case, k: int, n_threads: int) -> Search:
    """Return scikit-learn's brute force over cosine distances."""
    package = importlib.import_module("sklearn.neighbors")
    model = package.NearestNeighbors(
        n_neighbors=k, algorithm="brute", metric="cosine", n_jobs=n_threads
    ).fit(case.rows)

    def search() -> Found:
        distances, ids = model.kneighbors(case.queries)
        return ids, 1.0 - distances

    return search


def brute_dense(rows: NDArray[Any], k: int) -> Search:
    """Return scikit-learn's reduction over Euclidean distances."""
    package = importlib.import_module("sklearn.neighbors")
    model = package.NearestNeighbors(n_neighbors=k, algorithm="brute").fit(rows)

    def search() -> Found:
        distances, ids = model.kneighbors(rows)
        return ids, distances

    return search


class FaissFlat:
    """The flat index of faiss: float32, Euclidean."""

    def __init__(self, rows: NDArray[Any], k: int, n_threads: int) -> None:
        package = importlib.import_module("faiss")
        package.omp_set_num_threads(n_threads)
        self._rows, self._k = rows.astype(np.float32), k
        self._index = package.IndexFlatL2(rows.shape[1])
        self._index.add(self._rows)

    def __call__(self) -> Found:
        """Search for all indexed rows once."""
        return self.search(self._rows)

    def search(self, queries: NDArray[Any]) -> Found:
        """Return ids and distances."""
        distances, ids = self._index.search(queries, self._k)
        return ids, np.sqrt(np.maximum(distances, 0))


def padded(found: Csr, k: int) -> Found:
    """Return rows of a sparse result side by side, −1 where there are fewer than k."""
    ids = np.full((found.shape[0], k), -1, dtype=np.int64)
    values = np.zeros(ids.shape)
    sizes = np.diff(found.indptr)
    row_of = np.repeat(np.arange(found.shape[0]), sizes)
    place = np.arange(found.nnz) - np.repeat(found.indptr[:-1], sizes)
    ids[row_of, place] = found.indices
    values[row_of, place] = found.data
    return ids, values


def agreement(ours: Found, theirs: Found, tolerance: float = 2e-5) -> float:
    """Share of the peer's neighbours that we return too, or that tie with our last one."""
    same = (theirs[0][:, :, np.newaxis] == ours[0][:, np.newaxis, :]).any(axis=2)
    last = ours[1][:, -1:]
    tied = np.abs(theirs[1] - last) <= tolerance * np.maximum(1.0, np.abs(last))
    return float(np.mean(same | tied | (theirs[0] < 0)))


def wrong_ids(case: Case, ours: Found, theirs: Found, tolerance: float = 1e-12) -> int:
    """Count errors of our neighbours, judged by float64 cosines of the rows that either found.

    An error is a neighbour whose value is not its cosine, a neighbour out of order, one listed
    twice or the query itself, and a neighbour of the peer that is nearer than our last one.
    """
    ids, values = ours
    listed = ids >= 0
    wrong = int((np.abs(values - cosines(case, ids))[listed] > tolerance).sum())
    unordered = (np.diff(values) > 0) | ((np.diff(values) == 0) & (np.diff(ids) <= 0))
    wrong += int((unordered & listed[:, 1:]).sum())
    by_id = np.sort(ids)
    wrong += int(((np.diff(by_id) == 0) & (by_id[:, 1:] >= 0)).sum())
    missed = theirs[0] >= 0
    for place in range(ids.shape[1]):
        missed &= theirs[0] != ids[:, [place]]
    if case.places is not None:
        wrong += int((ids == case.places[:, np.newaxis]).sum())
        missed &= theirs[0] != case.places[:, np.newaxis]
    last = np.where(listed[:, -1], values[:, -1], 0.0)[:, np.newaxis]
    return wrong + int((cosines(case, np.where(missed, theirs[0], -1)) > last + tolerance).sum())


def cosines(case: Case, ids: NDArray[Any], block: int = 500) -> NDArray[np.float64]:
    """Return the float64 cosines of queries and some rows for each, 0 where an id is −1."""
    rows, queries = (each.astype(np.float64) for each in (case.rows, case.queries))
    norms, query_norms = (np.sqrt(each.multiply(each).sum(axis=1)) for each in (rows, queries))
    found = np.zeros(ids.shape)
    for first in range(0, len(ids), block):
        at, place = np.nonzero(ids[first : first + block] >= 0)
        if len(at) == 0:
            continue
        at += first
        chosen = ids[at, place]
        products = np.asarray(queries[at].multiply(rows[chosen]).sum(axis=1)).ravel()
        size = norms[chosen] * query_norms[at]
        found[at, place] = np.divide(products, size, out=np.zeros(len(at)), where=size > 0)
    return found
