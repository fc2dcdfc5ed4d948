r"""What ML-ARP minimises: the error of ML-kNN on the projected rows, each left out of its own.

.. math:: \Theta(P) = \sum_i \mathrm{HL}\left(y_i, h_P(x_i)\right)

:math:`h_P` is ML-kNN fitted on the rows of XP; row i is never its own neighbour, the counts are
those of all rows. Which labels a row gets depends only on how many of its neighbours carry each of
them, so that the counts of ML-kNN alone, :math:`c_l[j]` and :math:`c'_l[j]`, tell how many cells
are wrong:

.. math:: \sum_l \sum_j \left[ r_l(j) < \tfrac12 \right] c_l[j]
    + \left[ r_l(j) \ge \tfrac12 \right] c'_l[j]
"""

from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Csr, Features, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import one_blas_thread
from vicinal.decision import Threshold
from vicinal.graph import NeighborGraph
from vicinal.index import DenseIndex
from vicinal.metrics import evaluate, metric_info
from vicinal.scoring import MLkNNScoring, Training


@dataclass(frozen=True, eq=False)
class Objective:
    """The loss of a projection; less is better.

    Parameters
    ----------
    X : ndarray or csr_array of float64, shape (n, m)
    Y : csr_array of int32, shape (n, L)
    k : int
    smoothing : float
    metric : str
        Of predicted label sets; one where more is better counts with the opposite sign.
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
        graph = self._neighbors(P)
        scoring = MLkNNScoring.fit(Training(graph, self.Y), self.k, self.smoothing)
        if self.metric == "hamming-loss":
            return wrong_cells(scoring) / (self.Y.shape[0] * self.Y.shape[1])
        labels = Threshold(0.5, inclusive=True).decide(scoring.scores(graph))
        value = evaluate(self.Y, labels, metrics=self.metric)[self.metric]
        return -value if metric_info(self.metric).better == "high" else value

    def _neighbors(self, P: Float) -> NeighborGraph:
        """Return the leave-one-out graph of the projected rows."""
        with one_blas_thread():  # so that the last bits do not depend on the number of threads
            projected = np.asarray(self.X @ P)
        width = max(1, min(self.k, len(projected) - 1))
        return DenseIndex(projected, n_jobs=self.n_jobs).query_self(width)


def wrong_cells(scoring: MLkNNScoring) -> int:
    """Count the cells of the training labels that ML-kNN gets wrong.

    Examples
    --------
    Both rows with the first label got a vote for it, and one of the two without: a vote decides for
    it, which is wrong once. Of the second label a vote tells nothing; at an exact half it is
    predicted, wrong for the two rows without.

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
    """Return the name of a metric of label sets that can be better or worse."""
    info = metric_info(name)
    if info.needs != "labels" or info.better == "none":
        raise InvalidArgumentError(
            "objective", "a metric of predicted labels that has a better", repr(name)
        )
    return info.name
