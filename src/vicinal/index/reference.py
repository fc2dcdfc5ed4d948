r"""Neighbours from the definition, in plain NumPy: slow, and right by inspection.

.. math::

    \mathrm{sim}(q, x) = \frac{\sum_j q_j x_j}{\lVert q\rVert \cdot \lVert x\rVert}, \qquad
    d(q, x)^2 = \sum_j (q_j - x_j)^2

in float64, sums in ascending feature order, one addition at a time. Where squares underflow so that
the norms' product is 0, or overflow so that a sum or quotient is undefined, the similarity counts
as 0. Every other index returns these neighbours, in this order, with these values.
"""

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Bool, Features, Float
from vicinal._base.validation import METRICS, check_features, check_integer, check_option
from vicinal.graph.neighbor_graph import NeighborGraph


def reference_query(X: object, Q: object, k: int, metric: str = "euclidean") -> NeighborGraph:
    """Return the k nearest rows of `X` for each row of `Q`.

    Memory: both matrices dense, and one row of `X`'s length per query.

    Examples
    --------
    >>> graph = reference_query([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]], [[1.0, 0.0]], 3, "cosine")
    >>> graph.ids
    array([[ 0,  1, -1]], dtype=int32)
    >>> graph.similarity
    array([[1. , 0.6, 0. ]])
    """
    rows = _dense(check_features(X))
    queries = _dense(check_features(Q, "Q", n_features=rows.shape[1]))
    return _search(rows, queries, check_integer("k", k, low=1), metric, leave_out=False)


def reference_query_self(X: object, k: int, metric: str = "euclidean") -> NeighborGraph:
    """Return the k nearest other rows for each row of `X`; a duplicate is another row."""
    rows = _dense(check_features(X))
    return _search(rows, rows, check_integer("k", k, low=1), metric, leave_out=True)


def _dense(matrix: Features) -> Float:
    array = matrix.toarray() if isinstance(matrix, sparse.csr_array) else matrix
    return np.asarray(array, dtype=np.float64)


def _search(rows: Float, queries: Float, k: int, metric: str, *, leave_out: bool) -> NeighborGraph:
    check_option("metric", metric, METRICS)
    n_rows = len(rows)
    ids = np.full((len(queries), k), -1, dtype=np.int32)
    values = np.full(ids.shape, np.inf if metric == "euclidean" else 0.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        for i, query in enumerate(queries):
            keys, candidate = _keys(rows, query, metric)
            if leave_out:
                candidate[i] = False
            chosen = np.flatnonzero(candidate)
            chosen = chosen[np.lexsort((chosen, keys[chosen]))][:k]
            ids[i, : len(chosen)] = chosen
            found = keys[chosen]
            values[i, : len(chosen)] = np.sqrt(found) if metric == "euclidean" else -found
    return NeighborGraph(ids, values, metric, n_rows)


def _keys(rows: Float, query: Float, metric: str) -> tuple[Float, Bool]:
    """Return what rows are ordered by (smaller is nearer), and which rows are candidates."""
    if metric == "euclidean":
        return _squared_distances(rows, query), np.ones(len(rows), dtype=np.bool_)
    shares_feature: Bool = ((rows != 0) & (query != 0)).any(axis=1)
    similarity = _dots(rows, query)
    if metric == "cosine":
        size = _norms(query[np.newaxis]) * _norms(rows)
        similarity = np.where(size == 0, 0.0, similarity / size)
    return -np.where(np.isnan(similarity), 0.0, similarity), shares_feature


def _squared_distances(rows: Float, query: Float) -> Float:
    sums = np.zeros(len(rows))
    for j, value in enumerate(query):
        difference = value - rows[:, j]
        sums += difference * difference
    return sums


def _dots(rows: Float, query: Float) -> Float:
    sums = np.zeros(len(rows))
    for j, value in enumerate(query):
        sums += value * rows[:, j]
    return sums


def _norms(rows: Float) -> Float:
    sums = np.zeros(len(rows))
    for j in range(rows.shape[1]):
        sums += rows[:, j] * rows[:, j]
    return np.sqrt(sums)
