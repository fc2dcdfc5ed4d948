"""Folds of a data set, ready to be learned from: preprocessed, searched, their rows taken apart."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from vicinal._base.arrays import Csr, Features
from vicinal._base.validation import check_features
from vicinal.distances import COSINE
from vicinal.estimators.joint import joined
from vicinal.graph import NeighborGraph
from vicinal.index import TrainingRows
from vicinal.scoring import Training
from vicinal.selection.fold_data import Fold
from vicinal.selection.shared_search import SharedSearch
from vicinal.selection.splits import Split, train_share

JOINT = "joint"
"""Stands beside the metrics: neighbours by the cosine of features and labels together."""

Step = tuple[str, Any]


@dataclass(frozen=True)
class Widths:
    """How many neighbours are wanted, by metric; those of features and labels under ``JOINT``."""

    by_metric: Mapping[str, int]

    def of(self, metric: str) -> int:
        """Return how many neighbours are wanted by a metric."""
        return self.by_metric.get(metric, 0)


class SharedFolds:
    """Folds of rows that were preprocessed once: one search a metric, for all of them.

    Memory: the graph of all rows, and the rows of one fold at a time.
    """

    def __init__(
        self, X: Features, Y: Csr, splits: Sequence[Split], widths: Widths, n_jobs: int | None
    ) -> None:
        self.X, self.Y, self.splits = X, Y, splits
        self._widths, self._n_jobs = widths, n_jobs
        self._searches: dict[str, SharedSearch] = {}

    def search(self, metric: str) -> SharedSearch:
        """Return the search of all rows by a metric."""
        if metric not in self._searches:
            rows = joined(self.X, self.Y) if metric == JOINT else self.X
            share = train_share(self.splits, self.Y.shape[0])
            by = COSINE.name if metric == JOINT else metric
            self._searches[metric] = SharedSearch(
                rows, by, self._widths.of(metric), share, self._n_jobs
            )
        return self._searches[metric]

    def fold(self, number: int, metric: str) -> Fold:
        """Return a fold with neighbours by a metric."""
        split = self.splits[number]
        graph, held_out = self.search(metric).fold(split)
        training = Training(graph, self.Y[split.train], self.X[split.train])
        if self._widths.of(JOINT):
            training = replace(training, joint=self.search(JOINT).training(split))
        return Fold(training, held_out, self.X[split.test], self.Y[split.test])


class PreparedFolds:
    """Folds that are preprocessed one by one, by their training rows only: one search a fold."""

    def __init__(
        self,
        X: object,
        Y: Csr,
        splits: Sequence[Split],
        widths: Widths,
        steps: Sequence[Step],
        n_jobs: int | None,
    ) -> None:
        self.X, self.Y, self.splits = X, Y, splits
        self._widths, self._steps, self._n_jobs = widths, steps, n_jobs

    def fold(self, number: int, metric: str) -> Fold:
        """Return a fold with neighbours by a metric."""
        split = self.splits[number]
        steps = [(name, clone(step)) for name, step in self._steps]
        train = fit_steps(steps, take_rows(self.X, split.train), self.Y[split.train])
        test = transform(steps, take_rows(self.X, split.test))
        graph, held_out = self._graphs(train, test, metric)
        training = Training(graph, self.Y[split.train], train)
        k = self._widths.of(JOINT)
        if k:
            both = TrainingRows(joined(train, training.Y), COSINE.name, self._n_jobs)
            training = replace(training, joint=both.query_self(k))
        return Fold(training, held_out, test, self.Y[split.test])

    def _graphs(
        self, train: Features, test: Features, metric: str
    ) -> tuple[NeighborGraph, NeighborGraph]:
        search, k = TrainingRows(train, metric, self._n_jobs), self._widths.of(metric)
        return search.query_self(k), search.query(test, k)


Folds = SharedFolds | PreparedFolds


def fit_steps(steps: Sequence[Step], X: object, Y: object) -> Features:
    """Fit preprocessing steps, one after the other, and return the features that come out."""
    for _, step in steps:
        X = step.fit(X, Y).transform(X)
    return check_features(X)


def transform(steps: Sequence[Step], X: object) -> Features:
    """Return what fitted steps make of rows."""
    for _, step in steps:
        X = step.transform(X)
    return check_features(X)


def take_rows(X: Any, rows: Any) -> Any:
    """Return some rows of an array, a frame or a list.

    Examples
    --------
    >>> take_rows(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    if hasattr(X, "iloc"):
        return X.iloc[rows]
    if isinstance(X, list | tuple):
        return [X[row] for row in rows]
    return X[np.asarray(rows)]
