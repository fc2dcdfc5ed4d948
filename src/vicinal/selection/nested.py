"""Nested cross-validation: settings are chosen on inner folds and tested on outer folds."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from vicinal._base.arrays import Csr, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.labels import read_labels
from vicinal._base.tabular import Cells, Tabular
from vicinal._base.validation import check_integer
from vicinal.estimators import prepared
from vicinal.estimators.answers import answers
from vicinal.metrics import Conventions, evaluate
from vicinal.selection.fold_source import take_rows
from vicinal.selection.splits import Split, read_splits
from vicinal.selection.table import Best
from vicinal.selection.tuning import TuningResult, metric_names, tune


@dataclass(frozen=True, eq=False)
class NestedResult(Tabular):
    """The performance of tuning on rows that were not used for it.

    Parameters
    ----------
    metric : str
        The metric that was optimised.
    chosen : tuple of Best
        The setting chosen in each outer fold, with its mean over the inner folds.
    metrics : tuple of str
    values : ndarray of float64, shape (outer folds, metrics)
        Results of the chosen setting, fitted on the fold's training rows, on its test rows.
    complete : bool
        False if it was interrupted; then only the completed folds are included.
    """

    metric: str
    chosen: tuple[Best, ...]
    metrics: tuple[str, ...]
    values: Float
    complete: bool = True

    def __repr__(self) -> str:
        """Summarise the result in one line."""
        folds, measured = self.values.shape
        return f"NestedResult({self.metric}; {folds} outer folds, {measured} metrics)"

    def cells(self) -> Cells:
        """Return mean, deviation and the value of each outer fold, one row per metric."""
        mean, std = self.mean(), self.std()
        rows: list[list[object]] = [
            [name, mean[name], std[name], *self.values[:, at].tolist()]
            for at, name in enumerate(self.metrics)
        ]
        return Cells(
            ["metric", "mean", "std", *(f"fold {n + 1}" for n in range(len(self.values)))], rows
        )

    def mean(self) -> dict[str, float]:
        """Return the mean of each metric over the outer folds."""
        return dict(zip(self.metrics, self.values.mean(axis=0).tolist(), strict=True))

    def std(self) -> dict[str, float]:
        """Return the standard deviation of each metric over the outer folds (of n, not n − 1)."""
        return dict(zip(self.metrics, self.values.std(axis=0).tolist(), strict=True))


def nested(
    methods: str | Sequence[str],
    X: object,
    Y: object,
    metric: str = "example-f1",
    outer: object = 5,
    inner: int = 10,
    grid: Mapping[str, object] | None = None,
    *,
    metrics: Sequence[str] | None = None,
    conventions: str | Conventions = "vicinal",
    random_state: int | None = 0,
    store: str | os.PathLike[str] | None = None,
    **options: Any,
) -> NestedResult:
    """Tune on the training rows of each outer fold and test the chosen setting on its test rows.

    Parameters
    ----------
    methods, X, Y, metric, grid, metrics, conventions, random_state
        As for :func:`tune`.
    outer : int, splitter or iterable of (train, test)
        The outer folds.
    inner : int
        Number of inner folds of the outer fold's training rows.
    store : path or None
        Results folder with one file per outer fold. An interrupted run resumes from it and gives
        the same result.
    **options
        Further arguments of :func:`tune`. ``preprocess`` is fitted on the training rows only.

    Notes
    -----
    The test rows of an outer fold are held out before anything is fitted, searched or chosen. All
    folds have the labels of all rows.

    Examples
    --------
    >>> X = [[float(10 * (row % 2) + row / 100)] for row in range(24)]
    >>> Y = [[1 - row % 2, row % 2] for row in range(24)]
    >>> found = nested("brknn", X, Y, "micro-f1", 3, 2, {"n_neighbors": [20, 1]})
    >>> found.mean()["micro-f1"], [best.params for best in found.chosen]
    (1.0, [{'n_neighbors': 1}, {'n_neighbors': 1}, {'n_neighbors': 1}])
    """
    check_integer("inner", inner, low=2)
    _check_options(options)
    rows = np.asarray(X) if isinstance(X, list) and not (X and isinstance(X[0], str)) else X
    labels = read_labels(Y, count_rows(rows)).matrix
    names = metric_names(metric, metrics)
    chosen: list[Best] = []
    values: list[list[float]] = []
    complete = True
    given = options | {"metrics": names, "conventions": conventions, "random_state": random_state}
    files = _files(store)
    try:
        for split in read_splits(outer, rows, labels, random_state):
            train, known = take_rows(rows, split.train), labels[split.train]
            found = tune(methods, train, known, metric, inner, grid, store=next(files), **given)
            if not found.complete:
                raise KeyboardInterrupt  # tuning would return the best setting so far
            values.append(_tested(found, rows, labels, split, names, conventions))
            chosen.append(found.best[metric])
    except KeyboardInterrupt:
        complete = False
        if not chosen:
            raise
    return NestedResult(metric, tuple(chosen), names, np.array(values[: len(chosen)]), complete)


def _files(store: str | os.PathLike[str] | None) -> Iterator[Path | None]:
    """Yield the file of each outer fold, or none."""
    if store is not None and Path(store).is_file():
        raise InvalidArgumentError("store", "a folder, or a new path", f"the file {store}")
    for number in count(1):
        yield None if store is None else Path(store) / f"fold-{number}.jsonl"


def _check_options(options: Mapping[str, object]) -> None:
    """Refuse arguments of ``tune`` that a nested evaluation sets itself, or has no use for."""
    for name in ("cv", "refit", "label_names"):
        if name in options:
            raise InvalidArgumentError("options", f"no {name} in a nested evaluation", "one")


def _tested(
    found: TuningResult,
    X: object,
    labels: Csr,
    split: Split,
    names: tuple[str, ...],
    conventions: str | Conventions,
) -> list[float]:
    """Return the metrics of the chosen setting on rows it never saw."""
    if found.estimator is None:
        raise InvalidArgumentError("metric", "a metric that some setting has a value of", "none")
    features, model = prepared(found.estimator, take_rows(X, split.test))
    measured = evaluate(
        labels[split.test],
        *answers(model, features),
        metrics=names,
        conventions=conventions,
        train_label_counts=labels[split.train],
    )
    return list(measured.values())


def count_rows(X: Any) -> int:
    """Return how many rows an array, a frame or a list has."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)
