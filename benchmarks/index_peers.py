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


def sparse_dot_topn(case: Case, k: int, n_threads: int) -> Search:
    """Return the row-wise sparse product that keeps the k largest of a row."""
    package = importlib.import_module("sparse_dot_topn")
    columns = sparse.csr_matrix(unit_length(case.rows).T)
    queries = sparse.csr_matrix(unit_length(case.queries))

    def search() -> Found:
        found = package.sp_matmul_topn(queries, columns, top_n=k, sort=True, n_threads=n_threads)
        return padded(found, k)

    return search


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


def faiss_flat(rows: NDArray[Any], k: int, n_threads: int) -> Search:
    """Return the flat index of faiss: float32, Euclidean."""
    package = importlib.import_module("faiss")
    package.omp_set_num_threads(n_threads)
    index = package.IndexFlatL2(rows.shape[1])
    index.add(rows.astype(np.float32))

    def search() -> Found:
        distances, ids = index.search(rows.astype(np.float32), k)
        return ids, np.sqrt(np.maximum(distances, 0))

    return search


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
