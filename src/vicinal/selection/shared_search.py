r"""One search for all folds: each fold's graphs from that of all rows, exactly.

The graph of all rows among themselves is searched a little deeper than asked for. A fold drops the
rows it does not train on from every list. What is left of a list are the nearest training rows, in
order; a list that is then too short, and was full before, may have had further rows that were never
looked at, and is searched again among the training rows. So both graphs of a fold, that of its
training rows and that of its held-out rows, equal fresh searches.
"""

from collections.abc import Callable
from math import ceil, sqrt

import numpy as np

from vicinal._base.arrays import Features, Int, Int32
from vicinal.graph import NeighborGraph
from vicinal.graph.neighbor_graph import no_neighbors
from vicinal.index import TrainingRows
from vicinal.selection.splits import Split

DEEPEST = 4
"""How many times deeper than asked for the search of all rows goes at most."""


class SharedSearch:
    """Rows searched once, for every fold of them.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, m)
    metric : {"euclidean", "cosine", "dot"}
    k : int
        Neighbours wanted in every fold; 0 for none.
    train_share : float
        Share of the rows that a fold trains on, the least of all folds.
    n_jobs : int or None

    Notes
    -----
    Memory: 12 bytes a row and neighbour, for about k / `train_share` neighbours.

    Examples
    --------
    >>> rows = SharedSearch(np.array([[0.0], [1.0], [3.0], [6.0]]), "euclidean", 2, 0.5, None)
    >>> among_training, held_out = rows.fold(Split(np.array([0, 3]), np.array([1, 2])))
    >>> among_training.ids.tolist(), held_out.ids.tolist()
    ([[1], [0]], [[0, 1], [0, 1]])
    """

    def __init__(
        self, X: Features, metric: str, k: int, train_share: float, n_jobs: int | None
    ) -> None:
        self.k = k
        self._rows = TrainingRows(X, metric, n_jobs)
        self._depth = depth(k, train_share)
        self._graph: NeighborGraph | None = None

    @property
    def graph(self) -> NeighborGraph:
        """The leave-one-out graph of all rows, at least k wide, searched when first needed."""
        if self._graph is None:
            self._graph = self._rows.query_self(self._depth)
        return self._graph

    def fold(self, split: Split) -> tuple[NeighborGraph, NeighborGraph]:
        """Return the graphs of the training rows and of the held-out rows, among the former."""
        test, n_rows, metric = split.test, len(split.train), self._rows.metric
        if self.k == 0:
            return no_neighbors(n_rows, n_rows, metric), no_neighbors(len(test), n_rows, metric)
        others, kept = self._among(split), _Kept(self.graph, split.train)
        held_out = kept.nearest(
            test, min(self.k, n_rows), lambda asked: others.query(self._rows.X[test[asked]], self.k)
        )
        return self._training(split, others, kept), held_out

    def training(self, split: Split) -> NeighborGraph:
        """Return the graph of the training rows alone, for k of at least 1."""
        return self._training(split, self._among(split), _Kept(self.graph, split.train))

    def _among(self, split: Split) -> TrainingRows:
        """Return the search of a fold's training rows, for lists that ran short."""
        return TrainingRows(self._rows.X[split.train], self._rows.metric, self._rows.n_jobs)

    def _training(self, split: Split, others: TrainingRows, kept: "_Kept") -> NeighborGraph:
        width = others.width_among_others(self.k)
        return kept.nearest(split.train, width, lambda asked: others.query_rows(asked, self.k))


class _Kept:
    """A graph without the rows that a fold does not train on."""

    def __init__(self, graph: NeighborGraph, train: Int) -> None:
        n_rows = graph.n_rows
        gone = np.setdiff1d(np.arange(n_rows), train)
        self._rest, lost = graph.without(gone)
        # A list as long as there are other rows held all of them.
        self._lost = lost if graph.k < n_rows - 1 else lost[:0]
        self._place: Int32 = np.full(n_rows + 1, -1, dtype=np.int32)
        self._place[train] = np.arange(len(train))
        self._n_train = len(train)

    def nearest(self, rows: Int, width: int, ask: Callable[[Int], NeighborGraph]) -> NeighborGraph:
        """Return the lists of some rows, those that ran short of `width` asked for again."""
        ids = self._place[self._rest.ids[rows, :width]]
        values = self._rest.values[rows, :width]
        short = np.flatnonzero((ids[:, -1] < 0) & np.isin(rows, self._lost))
        if len(short):
            fresh = ask(short)
            ids[short], values[short] = fresh.ids, fresh.values
        return NeighborGraph(ids, values, self._rest.metric, self._n_train)


def depth(k: int, train_share: float) -> int:
    """Return how deep to search so that few lists run short of k when a fold is dropped.

    Of d neighbours d × `train_share` are left in the mean; the rest is two standard deviations.

    Examples
    --------
    >>> depth(30, 0.9), depth(1, 0.9), depth(30, 0.1), depth(0, 0.9)
    (38, 2, 120, 0)
    """
    mean = k / train_share
    spread = sqrt(k * (1 - train_share)) / train_share
    return min(DEEPEST * k, ceil(mean + 2 * spread))
