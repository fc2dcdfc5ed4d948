"""Training and test rows with their neighbours, searched once for every method and k."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from vicinal._base.arrays import Csr, Features, Float
from vicinal.datasets import Dataset
from vicinal.estimators import LAMLkNN
from vicinal.estimators.base import NeighborEstimator
from vicinal.graph import NeighborGraph
from vicinal.index import build_index
from vicinal.metrics import evaluate
from vicinal.preprocess import MinMax
from vicinal.scores import Scores
from vicinal.scoring.clusters import find_centers
from vicinal_reproduction.protocols.baseline_answers import baseline_answers
from vicinal_reproduction.specification import Method, Methods

DIGITS = 6
"""Number of decimals of stored figures."""


@dataclass(frozen=True, eq=False)
class Part:
    """Training rows, test rows, and the neighbours of both among the training rows.

    Parameters
    ----------
    train, test : Dataset
    graph : NeighborGraph
        Leave-one-out, of the training rows.
    queries : NeighborGraph
        Of the test rows.
    """

    train: Dataset
    test: Dataset
    graph: NeighborGraph
    queries: NeighborGraph


Answer: TypeAlias = Callable[[Any, Part], tuple[Csr, Scores]]


def make_part(train: Dataset, test: Dataset, k: int, metric: str, scale: bool) -> Part:
    """Search the `k` nearest rows, optionally after scaling features to [0, 1]."""
    if scale:
        train, test = scaled(train, test)
    index = build_index(train.X, metric)
    k = min(k, train.n_rows - 1)
    return Part(train, test, index.query_self(k), index.query(test.X, k))


def scaled(train: Dataset, test: Dataset) -> tuple[Dataset, Dataset]:
    """Return both parts as Weka's distance sees them.

    Features are scaled to [0, 1] by the training rows. A nominal attribute counts once where two
    rows differ in it; as columns ``name=value`` it would count twice, so these weigh √½.
    """
    scaler = MinMax().fit(train.X)
    weights = np.array([np.sqrt(0.5) if "=" in name else 1.0 for name in train.feature_names])

    def seen_by_weka(part: Dataset) -> Dataset:
        rows = scaler.transform(part.X)
        return replace(part, X=rows * weights if isinstance(rows, np.ndarray) else rows)

    return seen_by_weka(train), seen_by_weka(test)


def widest(methods: Methods) -> int:
    """Return the largest number of neighbours that any of the methods needs."""
    return max((k for method in methods.values() for k in method.ks), default=1)


def settings_of(method: Method) -> Iterator[dict[str, Any]]:
    """Yield the settings of a method's grid; k varies fastest."""
    names = [*method.grid, *(["n_neighbors"] if method.ks else [])]
    values = [*method.grid.values(), *([method.ks] if method.ks else [])]
    for chosen in product(*values):
        yield dict(zip(names, chosen, strict=True))


def measure(
    method: Method,
    part: Part,
    seed: int,
    metrics: Sequence[str],
    conventions: str = "vicinal",
    answer: Answer | None = None,
) -> Iterator[tuple[dict[str, Any], dict[str, float]]]:
    """Yield each setting of a method and its metrics on the test rows, including ``seconds``.

    `answer` fits an estimator and predicts; by default :func:`answers`.
    """
    centers: dict[int, object] = {}
    for settings in settings_of(method):
        estimator = method.make(seed).set_params(**settings)
        if isinstance(estimator, LAMLkNN):  # Clusters do not depend on k.
            wanted = estimator.n_clusters
            if wanted not in centers:
                centers[wanted] = find_centers(part.train.X, wanted, seed)
            estimator.set_params(centers=centers[wanted])
        began = perf_counter()
        labels, scores = (answer or answers)(estimator, part)
        seconds = perf_counter() - began
        found = evaluate(part.test.Y, labels, scores, conventions=conventions, metrics=metrics)
        yield settings, {**found, "seconds": seconds}


def answers(estimator: Any, part: Part) -> tuple[Csr, Scores]:
    """Fit an estimator and return its label sets and scores for the test rows."""
    if isinstance(estimator, NeighborEstimator):
        graph = part.graph if estimator.get_params().get("n_neighbors") else None
        estimator.fit(part.train.X, part.train.Y, graph=graph)
        scores = estimator.scores(part.test.X, graph=part.queries)
        return estimator.decide(scores), scores
    return baseline_answers(estimator, part.train, part.test)


def rounded(values: Sequence[float]) -> tuple[float, ...]:
    """Return figures rounded for storage."""
    return tuple(round(float(value), DIGITS) for value in values)


def dense(rows: Features) -> Float:
    """Return rows as an array: 8 bytes per cell."""
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
