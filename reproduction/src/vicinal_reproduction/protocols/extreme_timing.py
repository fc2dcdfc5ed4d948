"""Run times of the two parts of LCIF on extreme data: search and prediction."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import process_time
from typing import TypeVar

import numpy as np

from vicinal.datasets import Dataset
from vicinal.decision import Threshold
from vicinal.decision.never_empty import FittedNeverEmpty
from vicinal.graph import NeighborGraph
from vicinal.index import build_index
from vicinal.methods.feature_knn import FeatureKNNScoring
from vicinal.methods.instance_knn import InstanceKNNScoring
from vicinal.methods.training import Training
from vicinal.results import Result, provenance
from vicinal_reproduction.specification import Job

T = TypeVar("T")
SOME_THRESHOLD = 0.1
"""Its value does not affect the cost of a prediction."""


@dataclass(frozen=True)
class ExtremeTiming:
    """Time the search and the prediction of instance kNN and of feature kNN, one after the other.

    Search means building the index and finding the test rows' neighbours, or the labels nearest to
    each feature; prediction means scoring the test rows and applying one threshold. Seconds are
    processor seconds, as in :class:`vicinal_reproduction.protocols.timing.Timing`.
    """

    n_neighbors: int = 15

    def quick(self) -> "ExtremeTiming":
        """Return the protocol itself."""
        return self

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the seconds of each step."""
        train, test = job.dataset.split()
        for name, seconds in self._steps(train, test):
            yield Result(
                job.experiment,
                job.data,
                name,
                {"seconds": (round(seconds, 4),)},
                settings={"k": self.n_neighbors},
                seed=job.seed,
                provenance=provenance(job.dataset),
            )

    def _steps(self, train: Dataset, test: Dataset) -> Iterator[tuple[str, float]]:
        """Yield each step and its seconds."""
        k = self.n_neighbors
        graph, seconds = timed(lambda: build_index(train.X, "cosine").query(test.X, k))
        yield "instance-knn search", seconds
        instance = InstanceKNNScoring(k, train.Y)
        yield "instance-knn predict", _predicting(instance, graph, test)
        training = Training(_no_neighbors(train.n_rows), train.Y, train.X)
        feature, seconds = timed(lambda: FeatureKNNScoring.fit(training, k))
        yield "feature-knn search", seconds
        yield "feature-knn predict", _predicting(feature, graph, test)


def _no_neighbors(n_rows: int) -> NeighborGraph:
    """Return a graph of width 0, as feature kNN uses no neighbouring rows."""
    ids = np.empty((n_rows, 0), dtype=np.int32)
    return NeighborGraph(ids, np.empty((n_rows, 0)), "cosine", n_rows)


def _predicting(
    scoring: InstanceKNNScoring | FeatureKNNScoring, graph: NeighborGraph, test: Dataset
) -> float:
    """Return the seconds of scoring and deciding."""
    rule = FittedNeverEmpty(Threshold(SOME_THRESHOLD), label_when_all_zero=0)
    return timed(lambda: rule.decide(scoring.scores(graph, test.X)))[1]


def timed(step: Callable[[], T]) -> tuple[T, float]:
    """Return the result of a step and its processor seconds."""
    began = process_time()
    return step(), process_time() - began
