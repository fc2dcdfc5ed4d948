"""Nearest columns: the labels most similar to a feature, or the reverse."""

from typing import cast

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features
from vicinal._base.checked_csr import adopted
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import thread_count
from vicinal._base.validation import as_csr, check_integer
from vicinal._native import column_search
from vicinal.distances import COSINE
from vicinal.graph import NeighborGraph
from vicinal.scoring.row_sums import native_matrix


def column_graph(A: Features, B: Features, k: int, n_jobs: int | None = None) -> NeighborGraph:
    """Return, for each column of `A`, the k columns of `B` with the highest cosine.

    The order is the same as in every search: descending similarity, then ascending column id.
    Columns that share no row are not candidates.

    Parameters
    ----------
    A : array, shape (n, a)
    B : array, shape (n, b)
        Over the same rows.
    k : int
    n_jobs : int or None
        Threads; None for all.

    Returns
    -------
    NeighborGraph
        Queries are columns of `A`, ids columns of `B`.

    Notes
    -----
    The search is exact; its cost is the number of pairs of an entry of `A` and one of `B` in the
    same row. Memory: 12 bytes per entry of `A` for its transpose and 8 of `B` where it is not
    float64, 12 for each result, and 9 per column of `B` and thread. No a × b matrix is built.

    Examples
    --------
    The first column of A is the second of B; with the first of B it shares one of its two rows.

    >>> A = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    >>> B = np.array([[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]])
    >>> graph = column_graph(A, B, k=2)
    >>> graph.ids
    array([[ 1,  0],
           [-1, -1]], dtype=int32)
    >>> graph.similarity.round(4)
    array([[1.    , 0.7071],
           [0.    , 0.    ]])
    """
    if A.shape[0] != B.shape[0]:
        raise InvalidArgumentError("B", f"{A.shape[0]} rows", B.shape[0])
    width = max(1, min(check_integer("k", k, low=1), B.shape[1]))
    items = as_csr(A).T.tocsr()
    ids, values = column_search(
        native_matrix(items), native_matrix(as_csr(B)), width, thread_count(n_jobs), np.empty(0)
    )
    return NeighborGraph(ids, values, COSINE.name, B.shape[1])


def kept_similarities(graph: NeighborGraph) -> Csr:
    """Return the positive similarities of a graph as a matrix, queries × rows.

    Examples
    --------
    >>> ids = np.array([[2, 0], [1, -1]], dtype=np.int32)
    >>> values = np.array([[0.5, 0.25], [0.75, 0.0]])
    >>> kept_similarities(NeighborGraph(ids, values, "cosine", n_rows=3)).toarray()
    array([[0.25, 0.  , 0.5 ],
           [0.  , 0.75, 0.  ]])
    """
    kept = (graph.ids >= 0) & (graph.similarity > 0)
    indptr = np.concatenate([[0], np.cumsum(np.count_nonzero(kept, axis=1))])
    shape = (graph.n_queries, graph.n_rows)
    parts = (graph.similarity[kept], graph.ids[kept], indptr)
    matrix = cast("Csr", sparse.csr_array(parts, shape=shape))
    matrix.sort_indices()
    return adopted(matrix)
