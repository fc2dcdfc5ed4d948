"""Evaluate methods on a fold whose neighbours are searched once for every method and k."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from time import perf_counter
from typing import Any, TypeAlias, cast

import numpy as np

from vicinal._core.arrays import Csr, Features, Float
from vicinal.datasets import Dataset
from vicinal.graph import NeighborGraph
from vicinal.index import build_index
from vicinal.methods import LAMLkNN
from vicinal.methods.fold import Fold, fit_on, predict_on
from vicinal.methods.lamlknn import find_centers
from vicinal.methods.training import Training, check_given
from vicinal.metrics import evaluate
from vicinal.preprocess import MinMax
from vicinal.scores import Scores
from vicinal_reproduction.specification import Method, Methods

DIGITS = 6
"""Number of decimals of stored figures."""


Answer: TypeAlias = Callable[[Any, Fold], tuple[Csr, Scores]]


def make_fold(train: Dataset, test: Dataset, k: int, metric: str, scale: bool) -> Fold:
    """Search the `k` nearest rows, optionally after scaling features to [0, 1]."""
    if scale:
        train, test = scaled(train, test)
    index = build_index(train.X, metric)
    k = min(k, train.n_rows - 1)
    return fold_of(train, test, index.query_self(k), index.query(test.X, k))


def fold_of(train: Dataset, test: Dataset, graph: NeighborGraph, queries: NeighborGraph) -> Fold:
    """Return training and test rows, and the neighbours of both among the training rows."""
    return Fold(Training(graph, train.Y, train.X), queries, test.X, test.Y)


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
    fold: Fold,
    seed: int,
    metrics: Sequence[str],
    conventions: str = "vicinal",
    answer: Answer | None = None,
) -> Iterator[tuple[dict[str, Any], dict[str, float]]]:
    """Yield each setting of a method and its metrics on the test rows, including ``seconds``.

    `answer` fits an estimator and predicts; by default :func:`answers`.
    """
    centers: dict[int, object] = {}
    features = training_features(fold)
    for settings in settings_of(method):
        estimator = method.make(seed).set_params(**settings)
        if isinstance(estimator, LAMLkNN):  # Clusters do not depend on k.
            wanted = estimator.n_clusters
            if wanted not in centers:
                centers[wanted] = find_centers(features, wanted, seed)
            estimator.set_params(centers=centers[wanted])
        began = perf_counter()
        labels, scores = (answer or answers)(estimator, fold)
        seconds = perf_counter() - began
        found = evaluate(fold.Y, labels, scores, conventions=conventions, metrics=metrics)
        yield settings, {**found, "seconds": seconds}


def answers(estimator: Any, fold: Fold) -> tuple[Csr, Scores]:
    """Fit an estimator and return its label sets and scores for the test rows."""
    labels, scores = predict_on(fit_on(estimator, fold), fold.X, fold.graph)
    return cast("Csr", labels), cast("Scores", scores)


def training_features(fold: Fold) -> Features:
    """Return the features of the training rows."""
    return check_given(fold.training.X, fold.training.n_rows)


def rounded(values: Sequence[float]) -> tuple[float, ...]:
    """Return figures rounded for storage."""
    return tuple(round(float(value), DIGITS) for value in values)


def dense(rows: Features) -> Float:
    """Return rows as an array: 8 bytes per cell."""
    return np.asarray(rows if isinstance(rows, np.ndarray) else rows.toarray(), dtype=np.float64)
