"""Validation of rows against a model, and the search for their nearest training rows."""

import numpy as np
from sklearn.utils.validation import validate_data

from vicinal._base.arrays import Features, Float, Int32
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_features, check_integer, check_readable
from vicinal.estimators.quick_rows import quick_rows
from vicinal.estimators.versioned import Versioned
from vicinal.graph import NeighborGraph
from vicinal.graph.neighbor_graph import narrowed


class NeighborQueries(Versioned):
    """``kneighbors`` and ``neighbor_graph`` of every estimator."""

    def neighbor_graph(self, X: object, k: int | None = None) -> NeighborGraph:
        """Return the `k` nearest training rows of each row; by default as many as the method uses.

        The result can be passed to other methods as ``graph=``. Training rows are identified by
        their ids (``row_ids_``).
        """
        version = self._fitted()
        queries = self._read_new_X(X)
        width = version.scoring.k if k is None else check_integer("k", k, low=1)
        return version.rows.by_id(version.rows.query(queries, width))

    def kneighbors(
        self, X: object = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[Float, Int32] | Int32:
        """Return the nearest training rows, as scikit-learn's ``kneighbors`` does.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m), or None
            None for the training rows; a row is not its own neighbour then.
        n_neighbors : int or None
            At most the number of training rows (less one if `X` is None); None for as many as the
            method uses, or all rows if there are fewer.
        return_distance : bool

        Returns
        -------
        distances : ndarray of float64, shape (n, n_neighbors)
            In increasing order: the Euclidean distance, 1 − cosine, or the negated dot product; inf
            where there is no further neighbour. Only if `return_distance`.
        ids : ndarray of int32, of the same shape
            Ids of training rows (``row_ids_``; :meth:`forget` does not renumber them), −1 where
            there is no further neighbour. For the cosine and the dot product, only rows that share
            a feature are neighbours.
        """
        graph = self._neighbors_of(X, n_neighbors)
        if not return_distance:
            return graph.ids
        distances = graph.distance_kind.as_distances(graph.values)
        return np.where(graph.ids < 0, np.inf, distances), graph.ids

    def _neighbors_of(self, X: object, n_neighbors: int | None) -> NeighborGraph:
        """Return the graph that :meth:`kneighbors` converts to distances and ids."""
        version = self._fitted()
        rows = version.whole.rows if X is None else version.rows
        most = rows.n_rows - (X is None)
        k = min(version.scoring.k, most)
        if n_neighbors is not None:
            k = check_integer("n_neighbors", n_neighbors, low=1)
            if k > most:
                raise InvalidArgumentError("n_neighbors", f"at most {most} (training rows)", k)
        found = rows.query_self(k) if X is None else rows.query(self._read_new_X(X), k)
        return rows.by_id(narrowed(found, k))

    def _read_X(self, X: object, *, reset: bool) -> Features:
        """Return validated features; their number and names are stored (`reset`) or compared."""
        if not reset and "feature_names_in_" not in vars(self):
            quick = quick_rows(X, self.n_features_in_)
            if quick is not None:
                return quick
        check_readable(X)
        checked = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        return check_features(checked)

    def _read_new_X(self, X: object) -> Features:
        """Return validated features of rows to predict."""
        self._fitted()
        return self._read_X(X, reset=False)
