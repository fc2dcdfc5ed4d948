"""The training rows, ready to be searched."""

import threading
from typing import Any

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Features, Int, stack_rows
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.progress import blocks, is_seen
from vicinal.graph import NeighborGraph
from vicinal.index import Index, InvertedIndex, build_index


class Search:
    """Training rows with an index that is built when first needed, once.

    A model fitted and used with ready graphs never pays for an index. Building it later does not
    change the estimator, and is safe from several threads; a pickled or forked copy builds its own.

    Rows have a place, 0 to n − 1, and an id that stays when rows before it are forgotten. Graphs
    inside the library hold places; those a user sees hold ids.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, m)
    metric : {"euclidean", "cosine", "dot"}
    n_jobs : int or None
    row_ids : ndarray of int64, shape (n,), or None
        Rising; None for 0 to n − 1.
    n_ids : int or None
        How many ids were ever given; None for n.
    """

    def __init__(
        self,
        X: Features,
        metric: str,
        n_jobs: int | None,
        row_ids: Int | None = None,
        n_ids: int | None = None,
    ) -> None:
        self.X = X
        self.metric = metric
        self.n_jobs = n_jobs
        self.row_ids: Int = np.arange(X.shape[0]) if row_ids is None else row_ids
        self.n_ids = int(X.shape[0]) if n_ids is None else n_ids
        self._index: Index | None = None
        self._lock = threading.Lock()

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.X.shape[0])

    @property
    def index(self) -> Index:
        """The index over the training rows."""
        with self._lock:
            if self._index is None:
                self._index = build_index(self.X, self.metric, self.n_jobs)
            return self._index

    def query(self, Q: Features, k: int) -> NeighborGraph:
        """Return the `k` nearest training rows of each row of `Q`, fewer where there are fewer."""
        if k == 0:
            return no_neighbors(Q.shape[0], self.n_rows, self.metric)
        return self._by_place(self.index.query(Q, min(k, self.n_rows)))

    def query_self(self, k: int) -> NeighborGraph:
        """Return the leave-one-out graph: of each training row among the others."""
        if k == 0:
            return no_neighbors(self.n_rows, self.n_rows, self.metric)
        if is_seen():
            return self._query_self_by_blocks(k)
        graph = self.index.query_self(self.width_among_others(k))
        if graph.n_rows == self.n_rows:
            return graph
        ids, values = graph.ids[self.row_ids], graph.values[self.row_ids]
        return self.by_place(NeighborGraph(ids, values, graph.metric, graph.n_rows))

    def _query_self_by_blocks(self, k: int) -> NeighborGraph:
        """Return the same as :meth:`query_self`, telling how far it is."""
        ids = np.empty((self.n_rows, self.width_among_others(k)), dtype=np.int32)
        values = np.empty(ids.shape)
        for start, stop in blocks(self.n_rows, self.n_rows, "Searching"):
            found = self.query_rows(np.arange(start, stop), k)
            ids[start:stop], values[start:stop] = found.ids, found.values
        return NeighborGraph(ids, values, self.metric, self.n_rows)

    def query_rows(self, places: Int, k: int) -> NeighborGraph:
        """Return the leave-one-out graph of some of the training rows."""
        width = self.width_among_others(k)
        graph = self._by_place(self.index.query(self.X[places], width + 1))
        # Without itself a row has the `width` nearest others; if it is not in its own list (ties
        # with rows before it, or no feature at all), the first `width` are those already.
        others = graph.ids != places[:, None]
        others[others.all(axis=1), width:] = False
        ids = graph.ids[others].reshape(len(places), -1)
        return NeighborGraph(ids, graph.values[others].reshape(ids.shape), self.metric, self.n_rows)

    def width_among_others(self, k: int) -> int:
        """Return how wide a leave-one-out graph is: k, or all other rows, but at least 1."""
        return max(1, min(k, self.n_rows - 1))

    def grown(self, X: Features) -> "Search":
        """Return the search of these rows and further ones, which get new ids."""
        fresh = np.arange(self.n_ids, self.n_ids + X.shape[0])
        ids = np.concatenate([self.row_ids, fresh])
        rows = stack_features(self.X, X)
        larger = Search(rows, self.metric, self.n_jobs, ids, self.n_ids + X.shape[0])
        index = self._hand_over()
        if index is not None:
            index.add(X)
            larger._index = index
        return larger

    def reduced(self, places: Int) -> "Search":
        """Return the search of these rows only, which keep their ids."""
        rows = self.X[places]
        smaller = Search(rows, self.metric, self.n_jobs, self.row_ids[places], self.n_ids)
        index = self._hand_over()
        if index is not None:
            index.remove(np.setdiff1d(self.row_ids, smaller.row_ids))
            smaller._index = index
        return smaller

    def _hand_over(self) -> InvertedIndex | None:
        """Give away the index if it can learn and forget rows, and knows them by their ids.

        This search is about to be replaced; asked once more, it builds another index.
        """
        with self._lock:
            index = self._index
            if not isinstance(index, InvertedIndex) or index.n_rows != self.n_ids:
                return None
            self._index = None
            return index

    def _by_place(self, graph: NeighborGraph) -> NeighborGraph:
        """Return the index's graph by places: an index that was handed on answers in ids."""
        return graph if graph.n_rows == self.n_rows else self.by_place(graph)

    def by_id(self, graph: NeighborGraph) -> NeighborGraph:
        """Return a graph of places with the ids of the rows instead."""
        if self.n_ids == self.n_rows:
            return graph
        ids = np.where(graph.ids < 0, -1, self.row_ids[graph.ids]).astype(np.int32)
        return NeighborGraph(ids, graph.values, graph.metric, self.n_ids)

    def by_place(self, graph: NeighborGraph) -> NeighborGraph:
        """Return a caller's graph of ids with the places of the rows instead."""
        if self.n_ids == self.n_rows:
            return graph
        places = np.full(self.n_ids + 1, -2, dtype=np.int32)
        places[self.row_ids] = np.arange(self.n_rows)
        places[-1] = -1
        found = places[graph.ids]
        if np.any(found == -2):
            raise InvalidArgumentError("graph", "rows the model knows", "a row it has forgotten")
        return NeighborGraph(found, graph.values, graph.metric, self.n_rows)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the index and the lock, which belong to this process."""
        kept = ("X", "metric", "n_jobs", "row_ids", "n_ids")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start without an index."""
        self.__dict__.update(state, _index=None, _lock=threading.Lock())


def stack_features(first: Features, second: Features) -> Features:
    """Return the rows of both, sparse or dense as the first."""
    if isinstance(first, sparse.csr_array):
        return stack_rows([first, sparse.csr_array(second)])
    return np.vstack([first, second.toarray() if sparse.issparse(second) else second])


def no_neighbors(n_queries: int, n_rows: int, metric: str) -> NeighborGraph:
    """Return the graph of width 0, for a method that looks at no neighbours."""
    ids = np.empty((n_queries, 0), dtype=np.int32)
    return NeighborGraph(ids, np.empty((n_queries, 0)), metric, n_rows)


def narrowed(graph: NeighborGraph, k: int) -> NeighborGraph:
    """Return the nearest k of a graph, or all it has; k may be 0."""
    if k == 0:
        return no_neighbors(graph.n_queries, graph.n_rows, graph.metric)
    return graph.prefix(min(k, graph.k))


def check_training_graph(graph: NeighborGraph, n_rows: int, k: int) -> NeighborGraph:
    """Return the part of a caller's leave-one-out graph that k needs, or say why it will not do."""
    check_graph(graph, n_rows, n_rows, min(k, n_rows - 1))
    own = graph.ids == np.arange(n_rows)[:, None]
    if own.any():
        row = int(own.any(axis=1).argmax())
        raise InvalidArgumentError(
            "graph",
            "the training rows' graph without themselves (query_self)",
            f"row {row} as its own neighbour",
        )
    return narrowed(graph, k)


def check_graph(graph: object, n_queries: int, n_rows: int, k: int) -> None:
    """Raise unless `graph` holds at least k neighbours of so many queries among so many rows."""
    if not isinstance(graph, NeighborGraph):
        raise InvalidArgumentError("graph", "a NeighborGraph", f"a {type(graph).__name__}")
    if (graph.n_queries, graph.n_rows) != (n_queries, n_rows):
        raise InvalidArgumentError(
            "graph",
            f"{n_queries} queries among {n_rows} training rows",
            f"{graph.n_queries} queries among {graph.n_rows} rows",
        )
    if graph.k < k:
        raise InvalidArgumentError("graph", f"at least {k} neighbours a row", graph.k)
