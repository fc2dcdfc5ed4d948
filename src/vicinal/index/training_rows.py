"""The training rows of a model, ready to be searched."""

from typing import Any

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Features, Int, Int32, stack_rows
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.fork_lock import ForkLock
from vicinal._base.progress import blocks, is_seen
from vicinal.graph.neighbor_graph import NeighborGraph, no_neighbors
from vicinal.index.build import build_index
from vicinal.index.protocol import Index, MutableIndex, is_mutable
from vicinal.index.row_ids import check_room_for_ids


class TrainingRows:
    """Training rows with an index that is built when first needed, once.

    A model fitted and used with ready graphs never pays for an index. Building it later does not
    change the estimator, and is safe from several threads; a pickled or forked copy builds its own.

    Rows have a place, 0 to n − 1, and an id that stays when rows before it are forgotten. Graphs
    inside the library hold places; those a user sees hold ids. Rows that change make another
    object; this one, and its index, stay as they are.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, m)
    metric : {"euclidean", "cosine", "dot"}
        Or another name in :mod:`vicinal.distances`.
    n_jobs : int or None
    row_ids : ndarray of int64, shape (n,), or None
        Rising; None for 0 to n − 1.
    n_ids : int or None
        How many ids were ever given; None for n.
    algorithm : str or callable
        Which index is built (:func:`vicinal.index.build_index`).
    """

    def __init__(
        self,
        X: Features,
        metric: str,
        n_jobs: int | None,
        row_ids: Int | None = None,
        n_ids: int | None = None,
        *,
        algorithm: object = "auto",
    ) -> None:
        self.X = X
        self.metric = metric
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.row_ids: Int = np.arange(X.shape[0]) if row_ids is None else row_ids
        self.n_ids = int(X.shape[0]) if n_ids is None else n_ids
        self._indexed: tuple[Index, Int32] | None = None
        self._building = ForkLock()

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.X.shape[0])

    @property
    def index(self) -> Index:
        """The index over the training rows; its ids are its own."""
        return self._index_and_ids()[0]

    @property
    def has_index(self) -> bool:
        """Whether the index has been built."""
        return self._indexed is not None

    def build_index(self, X: Features) -> Index:
        """Return an index over other rows, of the kind that these rows have."""
        return build_index(X, self.metric, self.n_jobs, self.algorithm)

    def query(self, Q: Features, k: int) -> NeighborGraph:
        """Return the `k` nearest training rows of each row of `Q`, fewer where there are fewer."""
        if k == 0:
            return no_neighbors(Q.shape[0], self.n_rows, self.metric)
        index, ids = self._index_and_ids()
        return self._from_index(index.query(Q, min(k, self.n_rows)), ids)

    def query_self(self, k: int) -> NeighborGraph:
        """Return the leave-one-out graph: of each training row among the others."""
        if k == 0:
            return no_neighbors(self.n_rows, self.n_rows, self.metric)
        if is_seen():
            return self._query_self_by_blocks(k)
        index, ids = self._index_and_ids()
        graph = index.query_self(self.width_among_others(k))
        if graph.n_rows == self.n_rows:
            return graph
        own = NeighborGraph(graph.ids[ids], graph.values[ids], graph.metric, graph.n_rows)
        return self._from_index(own, ids)

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
        index, index_ids = self._index_and_ids()
        graph = self._from_index(index.query(self.X[places], width + 1), index_ids)
        # Without itself a row has the `width` nearest others; if it is not in its own list (ties
        # with rows before it, or no feature at all), the first `width` are those already.
        others = graph.ids != places[:, None]
        others[others.all(axis=1), width:] = False
        ids = graph.ids[others].reshape(len(places), -1)
        return NeighborGraph(ids, graph.values[others].reshape(ids.shape), self.metric, self.n_rows)

    def width_among_others(self, k: int) -> int:
        """Return how wide a leave-one-out graph is: k, or all other rows, but at least 1."""
        return max(1, min(k, self.n_rows - 1))

    def grown(self, X: Features) -> "TrainingRows":
        """Return these rows and further ones, which get new ids."""
        n_ids = self.n_ids + int(X.shape[0])
        check_room_for_ids(self.n_ids, int(X.shape[0]))
        ids = np.concatenate([self.row_ids, np.arange(self.n_ids, n_ids)])
        larger = self._like(stack_features(self.X, X), ids, n_ids)
        known = self._copied_index()
        if known is not None:
            index, index_ids = known
            added = index.add(X).astype(np.int32)
            larger._indexed = index, np.concatenate([index_ids, added])
        return larger

    def reduced(self, places: Int) -> "TrainingRows":
        """Return these rows only, which keep their ids."""
        smaller = self._like(self.X[places], self.row_ids[places], self.n_ids)
        known = self._copied_index()
        if known is not None:
            index, index_ids = known
            index.remove(np.setdiff1d(index_ids, index_ids[places]))
            smaller._indexed = index, index_ids[places]
        return smaller

    def compact(self) -> None:
        """Release the memory that the index holds for rows forgotten, now."""
        known = self._indexed
        if known is not None and is_mutable(known[0]):
            known[0].compact()

    def _like(self, X: Features, row_ids: Int, n_ids: int) -> "TrainingRows":
        """Return other rows, searched in the same way."""
        return TrainingRows(X, self.metric, self.n_jobs, row_ids, n_ids, algorithm=self.algorithm)

    def _index_and_ids(self) -> tuple[Index, Int32]:
        """Return the index, built if need be, and the id that it has for each row."""
        known = self._indexed
        if known is None:
            with self._building:
                known = self._indexed
                if known is None:
                    known = self.build_index(self.X), np.arange(self.n_rows, dtype=np.int32)
                    self._indexed = known
        return known

    def _copied_index(self) -> tuple[MutableIndex, Int32] | None:
        """Return a copy of the index that can change, or None: then it is built when needed."""
        known = self._indexed
        if known is None or not is_mutable(known[0]):
            return None
        return known[0].copy(), known[1]

    def _from_index(self, graph: NeighborGraph, index_ids: Int32) -> NeighborGraph:
        """Return the index's graph by places."""
        if graph.n_rows == self.n_rows:
            return graph
        return self._renumbered(graph, index_ids)

    def _renumbered(self, graph: NeighborGraph, known: Int32 | Int) -> NeighborGraph:
        """Return a graph of ids `known` with their places instead; all must be known."""
        near = graph.ids
        places = np.searchsorted(known, near)
        places[near < 0] = -1
        if np.any(known[np.minimum(places, len(known) - 1)][near >= 0] != near[near >= 0]):
            raise InvalidArgumentError("graph", "rows the model knows", "a row it has forgotten")
        return NeighborGraph(places.astype(np.int32), graph.values, graph.metric, self.n_rows)

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
        return self._renumbered(graph, self.row_ids)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the index and the lock, which belong to this process."""
        kept = ("X", "metric", "n_jobs", "algorithm", "row_ids", "n_ids")
        return {name: getattr(self, name) for name in kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start without an index."""
        self.__dict__.update(state, _indexed=None, _building=ForkLock())


def stack_features(first: Features, second: Features) -> Features:
    """Return the rows of both, sparse or dense as the first."""
    if isinstance(first, sparse.csr_array):
        return stack_rows([first, sparse.csr_array(second)])
    return np.vstack([first, second.toarray() if sparse.issparse(second) else second])
