"""Neighbours from the definition, in plain NumPy: slow, and right by inspection.

The definitions are those of :mod:`vicinal.distances`. Every other exact index returns these
neighbours, in this order, with these values.
"""

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Bool, Features, Float
from vicinal._core.checks import check_integer
from vicinal._core.validation import check_features
from vicinal.distances import Distance, get_distance
from vicinal.graph import NeighborGraph
from vicinal.index._common import graph_width


class ReferenceIndex:
    """The nearest rows by comparing every query with every row, in NumPy: for any distance.

    Memory: a dense float64 copy of `X`, and two more copies while searching.

    Parameters
    ----------
    X : ndarray or sparse array, shape (n, m)
        Rows to search.
    metric : str
        Any name in :mod:`vicinal.distances`.

    Examples
    --------
    >>> index = ReferenceIndex([[1.0, 0.0], [3.0, 4.0], [0.0, 2.0]], "cosine")
    >>> index.query_self(1).ids.ravel()
    array([1, 2, 1], dtype=int32)
    """

    def __init__(self, X: object, metric: str = "euclidean") -> None:
        self._distance = get_distance(metric)
        self._rows = _dense(check_features(X))

    @property
    def metric(self) -> str:
        """Name of the distance."""
        return self._distance.name

    @property
    def n_rows(self) -> int:
        """Number of rows searched."""
        return len(self._rows)

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self._rows.shape[1])

    @property
    def nbytes(self) -> int:
        """Memory of the dense copy in bytes."""
        return self._rows.nbytes

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return the k nearest rows for each row of `Q`, dense or sparse."""
        queries = _dense(check_features(Q, "Q", n_features=self.n_features))
        return self._search(queries, check_integer("k", k, low=1), leave_out=False)

    def query_self(self, k: int) -> NeighborGraph:
        """Return the k nearest other rows for each row; a duplicate is another row."""
        return self._search(self._rows, check_integer("k", k, low=1), leave_out=True)

    def _search(self, queries: Float, k: int, *, leave_out: bool) -> NeighborGraph:
        rows, distance = self._rows, self._distance
        ids = np.full((len(queries), graph_width(k, len(rows))), -1, dtype=np.int32)
        values = np.full(ids.shape, distance.padding)
        with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
            for i, query in enumerate(queries):
                keys, candidate = distance.keys(rows, query), _candidates(rows, query, distance)
                if leave_out:
                    candidate[i] = False
                chosen = np.flatnonzero(candidate)
                # Ids rise, and a stable sort leaves those of equal keys in this order.
                chosen = chosen[np.argsort(keys[chosen], kind="stable")[:k]]
                ids[i, : len(chosen)] = chosen
                values[i, : len(chosen)] = distance.values(keys[chosen])
        return NeighborGraph(ids, values, distance.name, len(rows))


def reference_query(X: object, Q: object, k: int, metric: str = "euclidean") -> NeighborGraph:
    """Return the k nearest rows of `X` for each row of `Q`."""
    return ReferenceIndex(X, metric).query(Q, k)


def reference_query_self(X: object, k: int, metric: str = "euclidean") -> NeighborGraph:
    """Return the k nearest other rows for each row of `X`; a duplicate is another row."""
    return ReferenceIndex(X, metric).query_self(k)


def _dense(matrix: Features) -> Float:
    array = matrix.toarray() if isinstance(matrix, sparse.csr_array) else matrix
    return np.asarray(array, dtype=np.float64)


def _candidates(rows: Float, query: Float, distance: Distance) -> Bool:
    """Say which rows are neighbours at all."""
    if distance.is_similarity:
        shares_feature: Bool = ((rows != 0) & (query != 0)).any(axis=1)
        return shares_feature
    return np.ones(len(rows), dtype=np.bool_)
