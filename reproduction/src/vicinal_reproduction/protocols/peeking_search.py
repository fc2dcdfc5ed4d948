"""Variants of ML-ARP that use other rows than the training rows: test rows or validation rows."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from vicinal._core.arrays import Csr, Features, Float
from vicinal._core.threads import one_blas_thread
from vicinal.decision import Threshold
from vicinal.index import DenseIndex
from vicinal.methods.mlknn import MLkNNScoring
from vicinal.methods.training import Training
from vicinal.metrics import evaluate
from vicinal.reduction import MLARP
from vicinal.reduction.mlarp import DeviceObjective, Objective

HELD_OUT = 0.1
"""Share of the rows that are used for validation."""


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
        with one_blas_thread():
            seen, new = np.asarray(self.X @ P), np.asarray(self.X_test @ P)
        index = DenseIndex(seen)
        training = Training(index.query_self(min(self.k, index.n_rows - 1)), self.Y)
        scoring = MLkNNScoring.fit(training, self.k, self.smoothing)
        scores = scoring.scores(index.query(new, self.k))
        labels = Threshold(0.5, inclusive=True).decide(scores)
        return evaluate(self.Y_test, labels, metrics=self.metric)[self.metric]


class PeekingMLARP(MLARP):
    """ML-ARP whose search minimises the loss of the test rows instead of the training rows."""

    def look_at(self, X_test: Features, Y_test: Csr) -> Self:
        """Set the rows on which the projection will be tested."""
        self._shown = X_test, Y_test
        return self

    def _loss(self, rows: Features, labels: Csr) -> Objective | DeviceObjective:
        """Return the objective."""
        X_test, Y_test = self._shown
        return LossOnOthers(
            rows, labels, self.n_neighbors, self.smoothing, X_test=X_test, Y_test=Y_test
        )


class HeldOutMLARP(MLARP):
    """ML-ARP that searches on 90 % of its rows and keeps the best projection for the other 10 %."""

    def _loss(self, rows: Features, labels: Csr) -> Objective | DeviceObjective:
        """Return the objective, and set validation rows aside."""
        order = np.random.default_rng(0).permutation(rows.shape[0])
        aside, searched = np.split(order, [round(HELD_OUT * len(order))])
        aside.sort()
        searched.sort()
        self._aside = LossOnOthers(
            rows[searched],
            labels[searched],
            self.n_neighbors,
            self.smoothing,
            X_test=rows[aside],
            Y_test=labels[aside],
        )
        return super()._loss(rows[searched], labels[searched])

    def _follow(self, steps: Iterator[tuple[Float, float]], began: float) -> None:
        """Run the search, and keep the best projection on the validation rows."""
        super()._follow(self._best_aside(steps), began)

    def _best_aside(self, steps: Iterator[tuple[Float, float]]) -> Iterator[tuple[Float, float]]:
        """Yield the best projection on the validation rows so far, and the loss of the search."""
        lowest, last = np.inf, None
        for P, loss in steps:
            if P is not last:
                last, on_aside = P, self._aside(P)
                if on_aside < lowest:
                    kept, lowest = P, on_aside
            yield kept, loss
