"""The folds of a comparison: rows to learn from and rows to test on, prepared, searched once."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from scipy import sparse

from vicinal._base.arrays import Csr, Features, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_integer
from vicinal.comparison.entrants import Entrant
from vicinal.datasets import Dataset
from vicinal.graph import NeighborGraph
from vicinal.index import TrainingRows
from vicinal.preprocess import make_steps
from vicinal.selection import IterativeStratification

Folds: TypeAlias = int | str
SPLIT = "split"


@dataclass(frozen=True, eq=False)
class SharedGraphs:
    """What one search found: the graphs of the training rows and of the test rows."""

    training: NeighborGraph
    test: NeighborGraph
    seconds: float


@dataclass(eq=False)
class PreparedFold:
    """One fold with features as methods see them, and the graphs that they share.

    Parameters
    ----------
    X, Y : training rows
    X_test, Y_test : test rows
    graphs : dict of metric to SharedGraphs
    """

    X: Features
    Y: Csr
    X_test: Features
    Y_test: Csr
    graphs: dict[str, SharedGraphs] = field(default_factory=dict)

    def search(self, entrants: Sequence[Entrant], n_jobs: int | None) -> None:
        """Search once for each metric, for the most neighbours that any method takes.

        Memory: 12 bytes a row and neighbour.
        """
        widest: dict[str, int] = {}
        for entrant in entrants:
            if entrant.n_neighbors:
                metric = entrant.estimator.metric
                widest[metric] = max(entrant.n_neighbors, widest.get(metric, 0))
        for metric, k in widest.items():
            began = time.perf_counter()
            rows = TrainingRows(self.X, metric, n_jobs)
            found = rows.query_self(k), rows.query(self.X_test, k)
            self.graphs[metric] = SharedGraphs(*found, time.perf_counter() - began)


def fold_rows(dataset: Dataset, folds: Folds, seed: int | None) -> Iterator[tuple[Int, Int]]:
    """Yield the training and test rows of each fold: the published split, or shuffled folds.

    Folds keep the labels in proportion (:class:`vicinal.selection.IterativeStratification`).
    """
    if folds == SPLIT:
        if dataset.train is None or dataset.test is None:
            expected = f"a number: {dataset.source or 'the data'} has no published split"
            raise InvalidArgumentError("folds", expected, repr(SPLIT))
        yield dataset.train, dataset.test
        return
    n_splits = check_integer("folds", folds, low=2)
    splitter = IterativeStratification(n_splits, shuffle=True, random_state=seed)
    yield from splitter.split(dataset.X, dataset.Y)


def count_folds(folds: Folds) -> int:
    """Return how many folds are asked for, checked."""
    if folds == SPLIT:
        return 1
    if isinstance(folds, str):
        raise InvalidArgumentError("folds", "a number of folds, or 'split'", repr(folds))
    return check_integer("folds", folds, low=2)


def prepare(dataset: Dataset, train: Int, test: Int, preprocess: str) -> PreparedFold:
    """Return a fold, its features prepared by steps that are fitted on the training rows."""
    X: Features = dataset.X[train]
    X_test: Features = dataset.X[test]
    for _, step in make_steps(preprocess, sparse.issparse(X)):
        X = step.fit(X).transform(X)
        X_test = step.transform(X_test)
    return PreparedFold(X, dataset.Y[train], X_test, dataset.Y[test])
