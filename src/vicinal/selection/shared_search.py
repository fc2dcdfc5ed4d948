r"""One search for all folds: each fold's graphs are derived exactly from the graph of all rows.

The graph of all rows is searched with slightly more neighbours than needed. For each fold, rows
outside its training set are removed from every list, which leaves the nearest training rows in
order. A list that becomes too short and was full before may have had further candidates, so it is
searched again among the training rows. Both graphs of a fold, that of the training rows and that of
the held-out rows, therefore equal those of a new search.
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
"""The search of all rows finds at most this many times the number of neighbours needed."""


class SharedSearch:
    """One search over all rows that serves every fold.

    Parameters
    ----------
    X : ndarray or csr_array, shape (n, m)
    metric : {"euclidean", "cosine", "dot"}
    k : int
        Number of neighbours needed in every fold; 0 for none.
    train_share : float
        The smallest share of rows that any fold trains on.
    n_jobs : int or None
    algorithm : str or callable
        The index. Fold graphs equal those of a new search if it is exact.

    Notes
    -----
    Memory: 12 bytes per row and neighbour, for about k / `train_share` neighbours.

    Examples
    --------
    >>> rows = SharedSearch(np.array([[0.0], [1.0], [3.0], [6.0]]), "euclidean", 2, 0.5, None)
    >>> among_training, held_out = rows.fold(Split(np.array([0, 3]), np.array([1, 2])))
    >>> among_training.ids.tolist(), held_out.ids.tolist()
    ([[1], [0]], [[0, 1], [0, 1]])
    """

    def __init__(
        self,
        X: Features,
        metric: str,
        k: int,
        train_share: float,
        n_jobs: int | None,
        *,
        algorithm: object = "auto",
    ) -> None:
        self.k = k
        self._rows = TrainingRows(X, metric, n_jobs, algorithm=algorithm)
        self._depth = depth(k, train_share)
        self._graph: NeighborGraph | None = None

    @property
    def graph(self) -> NeighborGraph:
        """The leave-one-out graph of all rows, k or more neighbours, searched when needed."""
        if self._graph is None:
            self._graph = self._rows.query_self(self._depth)
        return self._graph

    def fold(self, split: Split) -> tuple[NeighborGraph, NeighborGraph]:
        """Return the graphs of training and of held-out rows, with training rows as neighbours."""
        test, n_rows, metric = split.test, len(split.train), self._rows.metric
        if self.k == 0:
            return no_neighbors(n_rows, n_rows, metric), no_neighbors(len(test), n_rows, metric)
        others, kept = self._among(split), _Kept(self.graph, split.train)
        held_out = kept.nearest(
            test, min(self.k, n_rows), lambda asked: others.query(self._rows.X[test[asked]], self.k)
        )
        return self._training(split, others, kept), held_out

    def training(self, split: Split) -> NeighborGraph:
        """Return only the graph of the training rows, for k of at least 1."""
        return self._training(split, self._among(split), _Kept(self.graph, split.train))

    def _among(self, split: Split) -> TrainingRows:
        """Return an index of a fold's training rows, for lists that became too short."""
        rows = self._rows
        X = rows.X[split.train]
        return TrainingRows(X, rows.metric, rows.n_jobs, algorithm=rows.algorithm)

    def _training(self, split: Split, others: TrainingRows, kept: "_Kept") -> NeighborGraph:
        width = others.width_among_others(self.k)
        return kept.nearest(split.train, width, lambda asked: others.query_rows(asked, self.k))


class _Kept:
    """A graph without the rows that a fold does not train on."""

    def __init__(self, graph: NeighborGraph, train: Int) -> None:
        n_rows = graph.n_rows
        gone = np.setdiff1d(np.arange(n_rows), train)
        self._rest, lost = graph.without(gone)
        # A list as long as the number of other rows contains all of them.
        self._lost = lost if graph.k < n_rows - 1 else lost[:0]
        self._place: Int32 = np.full(n_rows + 1, -1, dtype=np.int32)
        self._place[train] = np.arange(len(train))
        self._n_train = len(train)

    def nearest(self, rows: Int, width: int, ask: Callable[[Int], NeighborGraph]) -> NeighborGraph:
        """Return the lists of some rows; lists shorter than `width` are searched again."""
        ids = self._place[self._rest.ids[rows, :width]]
        values = self._rest.values[rows, :width]
        short = np.flatnonzero((ids[:, -1] < 0) & np.isin(rows, self._lost))
        if len(short):
            fresh = ask(short)
            ids[short], values[short] = fresh.ids, fresh.values
        return NeighborGraph(ids, values, self._rest.metric, self._n_train)


def depth(k: int, train_share: float) -> int:
    """Return how many neighbours to search so that few lists become shorter than k in a fold.

    Of d neighbours, d × `train_share` remain on average; two standard deviations are added.

    Examples
    --------
    >>> depth(30, 0.9), depth(1, 0.9), depth(30, 0.1), depth(0, 0.9)
    (38, 2, 120, 0)
    """
    mean = k / train_share
    spread = sqrt(k * (1 - train_share)) / train_share
    return min(DEEPEST * k, ceil(mean + 2 * spread))
