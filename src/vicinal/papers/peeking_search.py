"""ML-ARP that looks at the rows it is tested on: what a search that peeks would report."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from vicinal._base.arrays import Csr, Features, Float
from vicinal.decision import Threshold
from vicinal.index import DenseIndex
from vicinal.reduction import MLARP
from vicinal.reduction._objective import DeviceObjective, Objective
from vicinal.scoring import MLkNNScoring, Training


@dataclass(frozen=True, eq=False, kw_only=True)
class LossOnOthers(Objective):
    """The Hamming loss of ML-kNN behind a projection, on rows that it did not learn from.

    Parameters
    ----------
    X_test : ndarray or csr_array of float64, shape (q, m)
    Y_test : csr_array of int32, shape (q, L)
    """

    X_test: Features
    Y_test: Csr

    def __call__(self, P: Float) -> float:
        """Return the loss of the projection P, shape (m, r)."""
        index = DenseIndex(np.asarray(self.X @ P))
        training = Training(index.query_self(min(self.k, index.n_rows - 1)), self.Y)
        scoring = MLkNNScoring.fit(training, self.k, self.smoothing)
        scores = scoring.scores(index.query(np.asarray(self.X_test @ P), self.k))
        labels = Threshold(0.5, inclusive=True).decide(scores)
        n_rows, n_labels = self.Y_test.shape
        return float(abs(labels - self.Y_test).sum() / (n_rows * n_labels))


class PeekingMLARP(MLARP):
    """ML-ARP whose search lowers the loss of the test rows instead of the training rows'."""

    def look_at(self, X_test: Features, Y_test: Csr) -> Self:
        """Show the rows that the projection will be tested on."""
        self._shown = X_test, Y_test
        return self

    def _loss(self, rows: Features, labels: Csr) -> Objective | DeviceObjective:
        """Return what is minimised."""
        X_test, Y_test = self._shown
        return LossOnOthers(
            rows, labels, self.n_neighbors, self.smoothing, X_test=X_test, Y_test=Y_test
        )
