"""The training rows, ready to be searched."""

import threading
from typing import Any

import numpy as np

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.index import Index, build_index


class Search:
    """Training rows with an index that is built when first needed, once.

    A model fitted and used with ready graphs never pays for an index. Building it later does not
    change the estimator, and is safe from several threads; a pickled or forked copy builds its own.
    """

    def __init__(self, X: Features, metric: str, n_jobs: int | None) -> None:
        self.X = X
        self.metric = metric
        self.n_jobs = n_jobs
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
        return self.index.query(Q, min(k, self.n_rows))

    def query_self(self, k: int) -> NeighborGraph:
        """Return the leave-one-out graph: of each training row among the others."""
        if k == 0:
            return no_neighbors(self.n_rows, self.n_rows, self.metric)
        return self.index.query_self(max(1, min(k, self.n_rows - 1)))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the index and the lock, which belong to this process."""
        return {"X": self.X, "metric": self.metric, "n_jobs": self.n_jobs}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start without an index."""
        self.__dict__.update(state, _index=None, _lock=threading.Lock())


def no_neighbors(n_queries: int, n_rows: int, metric: str) -> NeighborGraph:
    """Return the graph of width 0, for a method that looks at no neighbours."""
    ids = np.empty((n_queries, 0), dtype=np.int32)
    return NeighborGraph(ids, np.empty((n_queries, 0)), metric, n_rows)


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


def narrowed(graph: NeighborGraph, k: int) -> NeighborGraph:
    """Return the nearest k of a graph, or all it has; k may be 0."""
    if k == 0:
        return no_neighbors(graph.n_queries, graph.n_rows, graph.metric)
    return graph.prefix(min(k, graph.k))


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
