"""The data of a tuning run: the caller's rows and labels, validated, preprocessed and split."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
from sklearn.base import clone

from vicinal._base.arrays import Features, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.labels import Labels, read_labels
from vicinal._base.validation import check_features, check_integer
from vicinal.estimators import NeighborEstimator
from vicinal.results.digest import digest_of
from vicinal.selection.fold_source import (
    JOINT,
    Folds,
    PreparedFolds,
    SharedFolds,
    Step,
    Widths,
    fit_steps,
)
from vicinal.selection.grid import Grid, Position, Search, search_of
from vicinal.selection.splits import Split, read_splits
from vicinal.selection.strategy import farthest

TRIAL_ROWS = 10
"""Number of rows on which every value of a grid is tried before tuning starts."""


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels and folds.

    Parameters
    ----------
    given : object
        Rows as the caller passed them.
    Y : object
        Labels as the caller passed them.
    features : ndarray or csr_array
        Rows after preprocessing that was fitted on all rows.
    labels : Labels
    steps : list of (name, transformer)
        The preprocessing, fitted on all rows.
    per_fold : bool
        Whether preprocessing is fitted in each fold, on its training rows only.
    splits : list of Split
    """

    given: object
    Y: object
    features: Features
    labels: Labels
    steps: list[Step]
    per_fold: bool
    splits: list[Split]

    @property
    def digest(self) -> str:
        """A digest of rows, labels, folds and the version of the library."""
        ids: list[Int] = [rows for split in self.splits for rows in (split.train, split.test)]
        steps = repr(self.steps) if self.per_fold else ""
        return digest_of(version("vicinal"), self.features, self.labels.matrix, steps, *ids)

    def folds(self, grids: Sequence[Grid], n_jobs: int | None) -> Folds:
        """Return the folds, with as many neighbours as the grids may need."""
        widths, Y = neighbor_widths(grids), self.labels.matrix
        if self.per_fold and self.steps:
            return PreparedFolds(self.given, Y, self.splits, widths, self.steps, n_jobs)
        return SharedFolds(self.features, Y, self.splits, widths, n_jobs)

    def try_values(self, grids: Sequence[Grid]) -> None:
        """Fit every given value on a few rows, so that an invalid value is rejected immediately."""
        X, Y = self.features[:TRIAL_ROWS], self.labels.matrix[:TRIAL_ROWS]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for grid in grids:
                given = one_by_one(grid)[: 1 if grid.is_default else None]
                for model in map(grid.estimator, given):
                    if isinstance(model, NeighborEstimator):
                        model.fit(X, Y)


def read_problem(
    X: object,
    Y: object,
    cv: object,
    preprocess: object,
    per_fold: bool,
    random_state: int | None,
    label_names: Sequence[str] | None = None,
) -> Problem:
    """Validate rows, labels, folds and preprocessing."""
    if random_state is not None:
        check_integer("random_state", random_state, low=0)
    steps = read_steps(preprocess)
    features = fit_steps(steps, X, Y) if steps else check_features(X)
    labels = read_labels(Y, features.shape[0], label_names)
    splits = read_splits(cv, features, labels.matrix, random_state)
    return Problem(X, Y, features, labels, steps, per_fold, splits)


def read_steps(preprocess: object) -> list[Step]:
    """Return one or several given transformers as unfitted, named steps.

    Examples
    --------
    >>> from vicinal.preprocess import MinMax
    >>> read_steps(MinMax()), read_steps(None)
    ([('minmax', MinMax())], [])
    """
    if preprocess is None:
        return []
    listed: list[Any] = list(preprocess) if isinstance(preprocess, list | tuple) else [preprocess]
    named = [
        each if isinstance(each, tuple) else (type(each).__name__.lower(), each) for each in listed
    ]
    for name, step in named:
        if not (isinstance(name, str) and hasattr(step, "fit") and hasattr(step, "transform")):
            raise InvalidArgumentError("preprocess", "transformers", repr(step))
    return [(name, clone(step)) for name, step in named]


def neighbor_widths(grids: Sequence[Grid]) -> Widths:
    """Return the number of neighbours that the grids need, including their possible extensions."""
    widths: dict[Search, int] = {}
    for grid in map(farthest, grids):
        for position in one_by_one(grid):
            model = grid.estimator(position)
            if not isinstance(model, NeighborEstimator):
                continue
            k = model.needed_neighbors()
            search = search_of(model)
            widths[search] = max(widths.get(search, 0), k)
            if getattr(model, "second_order", False):
                widths[JOINT] = max(widths.get(JOINT, 1), k - 1)
    deepest = max(widths.values(), default=0)
    # Axes are inspected one by one, so combinations of k and search that do not occur are covered
    # too.
    return Widths({search: deepest if k else k for search, k in widths.items()})


def one_by_one(grid: Grid) -> list[Position]:
    """Return settings that cover every value of every axis, varying one axis at a time."""
    start = np.zeros(len(grid.axes), dtype=np.int64)
    positions = []
    for axis, values in enumerate(grid.axes.values()):
        for place in range(len(values)):
            position = start.copy()
            position[axis] = place
            positions.append(tuple(position.tolist()))
    return list(dict.fromkeys(positions))
