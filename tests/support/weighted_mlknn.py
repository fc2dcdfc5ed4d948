"""A method of a user's own: ML-kNN in which near neighbours count more. Nothing else knows of it.

A label's vote is the share of the neighbours' similarity that carries it, rounded to k-ths.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Self

import numpy as np

from vicinal._core.arrays import Csr, Features
from vicinal.graph import NeighborGraph
from vicinal.methods import Method, MLkNN
from vicinal.methods.fold import at_each_k
from vicinal.methods.instance_knn import InstanceKNNScoring
from vicinal.methods.mlknn import MLkNNScoring, looked_up
from vicinal.methods.training import Training
from vicinal.scores import Scores


class WeightedMLkNNScoring(MLkNNScoring):
    """The tables of ML-kNN, over weighted votes."""

    @classmethod
    def fit(cls, training: Training, k: int, smoothing: float) -> Self:
        return next(cls.fit_sweep(training, [k], smoothing))

    @classmethod
    def fit_sweep(cls, training: Training, ks: Iterable[int], smoothing: float) -> Iterator[Self]:
        wanted = list(ks)
        shares = partial(InstanceKNNScoring.fit(training, wanted[-1]).sweep, training.graph)
        for k, scores in zip(wanted, at_each_k(shares, wanted, training.graph.k), strict=True):
            counts = rounded(scores, min(k, training.n_rows))
            yield cls.of_votes(counts, training, k, smoothing)

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        shares = InstanceKNNScoring(self.k, self.Y).scores(graph)
        counts = rounded(shares, min(self.k, self.Y.shape[0]))
        return looked_up(self.posterior, counts, shares.neighbor_cardinality)


def rounded(shares: Scores, most: int) -> Csr:
    """Return shares as votes, from 0 to `most`."""
    votes = shares.values.copy()
    votes.data = np.rint(votes.data * most)
    votes = votes.astype(np.int32)
    votes.eliminate_zeros()
    return votes


class WeightedMLkNN(MLkNN):
    """ML-kNN with weighted votes."""

    method = Method(
        name="weighted-mlknn",
        grid={"smoothing": (0.5, 1.0), "n_neighbors": (1, 3, 5)},
        scoring=(WeightedMLkNNScoring,),
    )

    def _fit_scoring(self, training: Training) -> WeightedMLkNNScoring:
        return WeightedMLkNNScoring.fit(training, self.n_neighbors, self.smoothing)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterator[WeightedMLkNNScoring]:
        return WeightedMLkNNScoring.fit_sweep(training, ks, self.smoothing)
