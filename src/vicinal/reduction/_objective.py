r"""The objective of ML-ARP: the leave-one-out error of ML-kNN on the projected rows.

.. math:: \Theta(P) = \sum_i \mathrm{HL}\left(y_i, h_P(x_i)\right)

:math:`h_P` is ML-kNN fitted on the rows of XP; row i is never its own neighbour, but the counts
include all rows. The prediction for a row only depends on how many of its neighbours have each
label, so the number of wrong cells follows from the counts of ML-kNN, :math:`c_l[j]` and
:math:`c'_l[j]`:

.. math:: \sum_l \sum_j \left[ r_l(j) < \tfrac12 \right] c_l[j]
    + \left[ r_l(j) \ge \tfrac12 \right] c'_l[j]
"""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Float, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import one_blas_thread, using_threads
from vicinal.decision import Threshold
from vicinal.distances import EUCLIDEAN
from vicinal.graph import NeighborGraph
from vicinal.index import DenseIndex
from vicinal.metrics import evaluate, metric_info
from vicinal.scoring import MLkNNScoring, Training

if TYPE_CHECKING:
    from vicinal.gpu import ProjectionLoss


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss of a projection; lower is better.

    Parameters
    ----------
    X : ndarray or csr_array of float64, shape (n, m)
    Y : csr_array of int32, shape (n, L)
    k : int
    smoothing : float
    metric : str
        A metric of predicted label sets; if higher is better, its sign is reversed.
    n_jobs : int or None
    """

    X: Features
    Y: Csr
    k: int
    smoothing: float
    metric: str = "hamming-loss"
    n_jobs: int | None = None

    def __call__(self, P: Float) -> float:
        """Return the loss of the projection P, shape (m, r)."""
        return self.of_graph(self.graph(P))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.Y.shape[0])

    def of_rows(self, rows: Int) -> Self:
        """Return the loss on some of the rows only."""
        return replace(self, X=self.X[rows], Y=self.Y[rows])

    def graph(self, P: Float) -> NeighborGraph:
        """Return the leave-one-out graph of the projected rows."""
        with one_blas_thread():  # so that the last bits do not depend on the number of threads
            projected = np.asarray(self.X @ P)
        width = max(1, min(self.k, len(projected) - 1))
        return DenseIndex(projected, n_jobs=self.n_jobs).query_self(width)

    def of_graph(self, graph: NeighborGraph) -> float:
        """Return the loss of ML-kNN on a leave-one-out graph."""
        with using_threads(self.n_jobs):
            scoring = MLkNNScoring.fit(Training(graph, self.Y), self.k, self.smoothing)
            if self.metric == "hamming-loss":
                return wrong_cells(scoring) / (self.Y.shape[0] * self.Y.shape[1])
            labels = Threshold(0.5, inclusive=True).decide(scoring.scores(graph))
        value = evaluate(self.Y, labels, metrics=self.metric)[self.metric]
        return -value if metric_info(self.metric).better == "high" else value


@dataclass(frozen=True, eq=False)
class DeviceObjective:
    """The same loss with the projection and the search on a device.

    The Hamming loss is computed on the device too; other metrics are computed on the CPU from the
    graph.
    """

    here: Objective
    there: "ProjectionLoss"

    @classmethod
    def of(cls, here: Objective, device: str | None) -> Self:
        """Copy rows and labels to a device."""
        from vicinal.gpu import ProjectionLoss, sparse_rows

        X: object = here.X
        if isinstance(here.X, sparse.csr_array):
            X = sparse_rows(here.X.indptr, here.X.indices, here.X.data, here.X.shape, device)
        parts = here.Y.indptr, here.Y.indices, int(here.Y.shape[1])
        return cls(here, ProjectionLoss(X, *parts, here.k, here.smoothing, device))

    def __call__(self, P: Float) -> float:
        """Return the loss of the projection P, shape (m, r)."""
        if self.here.metric == "hamming-loss":
            return self.there(P)
        ids, values = self.there.graph(P)
        return self.here.of_graph(NeighborGraph(ids, values, EUCLIDEAN.name, len(ids)))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.here.n_rows

    def of_rows(self, rows: Int) -> Self:
        """Return the loss on some of the rows only."""
        return replace(self, here=self.here.of_rows(rows), there=self.there.of_rows(rows))


def wrong_cells(scoring: MLkNNScoring) -> int:
    """Count the cells of the training labels that ML-kNN gets wrong.

    Examples
    --------
    Both rows with the first label have one vote for it, and so has one of the two rows without it;
    a vote therefore predicts the label, which is wrong once. For the second label a vote carries no
    information; at a posterior of exactly 0.5 it is predicted, which is wrong for the two rows
    without it.

    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 1], [1, 1], [0, 0], [0, 0]], dtype=np.int32))
    >>> with_label, without_label = np.array([[0, 2], [1, 1]]), np.array([[1, 1], [1, 1]])
    >>> wrong_cells(MLkNNScoring(1, 0.0, with_label, without_label, Y))
    3
    """
    predicted = scoring.posterior >= 0.5
    missed = scoring.with_label[~predicted].sum()
    return int(missed + scoring.without_label[predicted].sum())


def check_objective(name: object) -> str:
    """Return the name of a metric of label sets that can be optimised."""
    info = metric_info(name)
    if info.needs != "labels" or info.better == "none":
        raise InvalidArgumentError(
            "objective", "a metric of predicted labels that can be optimised", repr(name)
        )
    return info.name
