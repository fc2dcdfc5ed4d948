"""The table of tuning results: every setting, fold and metric, and the best settings."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vicinal._core.arrays import Bool, Float
from vicinal._core.checks import check_option
from vicinal._core.files import without_nan
from vicinal._core.html import Cells, Tabular
from vicinal.metrics.catalogue import better_side
from vicinal.results import plain


@dataclass(frozen=True)
class Best:
    """The best setting for a metric.

    Parameters
    ----------
    method : str
        Name of the method.
    params : dict of str to object
        The parameters that were tuned.
    mean, std : float
        Mean and standard deviation of the metric over the folds.
    """

    method: str
    params: Mapping[str, object]
    mean: float
    std: float


@dataclass(frozen=True, eq=False)
class TuningTable(Tabular):
    """Values of every setting on every fold.

    Parameters
    ----------
    methods : tuple of str
        The method of each setting. Settings are in grid order, methods in the order in which they
        were passed.
    params : tuple of dict
        The parameters of each setting that were tuned.
    metrics : tuple of str
        Names of the metrics.
    values : ndarray of float64, shape (settings, folds, metrics)
        NaN if a metric is undefined or a fold was not evaluated.
    done : ndarray of bool, shape (settings, folds)
        The folds on which each setting was evaluated; all, unless tuning was interrupted.

    Examples
    --------
    >>> values = np.array([[[0.5], [0.25]], [[0.75], [0.25]]])
    >>> done = np.ones((2, 2), dtype=np.bool_)
    >>> table = TuningTable(("mlknn",) * 2, ({"n_neighbors": 1}, {"n_neighbors": 2}),
    ...                     ("micro-f1",), values, done)
    >>> table
    TuningTable(2 settings of mlknn; 2 folds, 1 metrics)
    >>> table.best("micro-f1")
    Best(method='mlknn', params={'n_neighbors': 2}, mean=0.5, std=0.3535533905932738)
    """

    methods: tuple[str, ...]
    params: tuple[Mapping[str, object], ...]
    metrics: tuple[str, ...]
    values: Float
    done: Bool

    def __repr__(self) -> str:
        """Summarise the table in one line, as there may be thousands of settings."""
        of = ", ".join(dict.fromkeys(self.methods))
        measured = f"{self.done.shape[1]} folds, {len(self.metrics)} metrics"
        return f"TuningTable({len(self)} settings of {of}; {measured})"

    def __len__(self) -> int:
        """Return the number of settings."""
        return len(self.methods)

    def of(self, metric: str) -> Float:
        """Return the values of one metric, shape (settings, folds)."""
        check_option("metric", metric, self.metrics)
        of_metric: Float = self.values[:, :, self.metrics.index(metric)]
        return of_metric

    def mean(self, metric: str) -> Float:
        """Return the mean over the evaluated folds, NaN if there are none, shape (settings,)."""
        counts = self.done.sum(axis=1)
        sums = np.where(self.done, self.of(metric), 0.0).sum(axis=1)
        return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)

    def std(self, metric: str) -> Float:
        """Return the standard deviation (n − 1) over the evaluated folds; 0 for a single fold."""
        return spread(self.of(metric), self.done)

    def best_row(self, metric: str, among: Sequence[int] | None = None) -> int | None:
        """Return the setting with the best mean, the first of equals; None if all means are NaN.

        Only settings evaluated on the largest number of folds are compared, so all have the
        same folds.

        Parameters
        ----------
        metric : str
            Name of the metric.
        among : sequence of int, optional
            Settings to choose from; all by default.
        """
        rows = np.arange(len(self)) if among is None else np.asarray(among, dtype=np.int64)
        better = better_side(metric)
        counts = self.done[rows].sum(axis=1)
        rows = rows[counts == counts.max(initial=1)]
        means = self.mean(metric)[rows]
        ranked = np.where(np.isnan(means), np.inf, means if better == "low" else -means)
        if len(rows) == 0 or np.isinf(ranked.min()):
            return None
        return int(rows[np.argmin(ranked)])

    def best(self, metric: str, method: str | None = None) -> Best | None:
        """Return the best setting for a metric, or None if all its means are NaN.

        Over all methods by default, or for one method.
        """
        rows = [row for row in range(len(self)) if method in (None, self.methods[row])]
        row = self.best_row(metric, rows)
        if row is None:
            return None
        mean, std = (float(each[row]) for each in (self.mean(metric), self.std(metric)))
        return Best(self.methods[row], self.params[row], mean, std)

    def records(self) -> list[dict[str, object]]:
        """Return one dictionary per setting and metric: method, parameters, mean, std, folds."""
        summary = {metric: (self.mean(metric), self.std(metric)) for metric in self.metrics}
        return [
            {
                "method": self.methods[row],
                "params": {name: plain(value) for name, value in self.params[row].items()},
                "metric": metric,
                "mean": float(summary[metric][0][row]),
                "std": float(summary[metric][1][row]),
                "folds": self.of(metric)[row][self.done[row]].tolist(),
            }
            for row in range(len(self))
            for metric in self.metrics
        ]

    def to_json(self, path: str | os.PathLike[str]) -> None:
        """Write the records as JSON; NaN becomes null."""
        text = json.dumps(without_nan(self.records()), ensure_ascii=False, indent=1)
        Path(path).write_text(text + "\n", encoding="utf-8")

    def cells(self) -> Cells:
        """Return one row per setting and metric, one column per parameter and fold.

        A parameter with the name of another column is marked: ``metric (parameter)``.
        """
        names = list(dict.fromkeys(name for params in self.params for name in params))
        folds = [f"fold {fold + 1}" for fold in range(self.done.shape[1])]
        others = ["metric", "mean", "std", *folds]
        taken = {"method", *others}
        shown = [f"{name} (parameter)" if name in taken else name for name in names]
        rows: list[list[object]] = []
        for at, params in enumerate(self.params):
            values = [plain(params[name]) if name in params else None for name in names]
            for metric in self.metrics:
                figures = [float(self.mean(metric)[at]), float(self.std(metric)[at])]
                folds_done = zip(self.of(metric)[at].tolist(), self.done[at], strict=True)
                measured = [value if done else None for value, done in folds_done]
                rows.append([self.methods[at], *values, metric, *figures, *measured])
        return Cells(["method", *shown, *others], rows)


def spread(values: Float, done: Bool) -> Float:
    """Return the standard deviation (n − 1) of each row over the columns that are done."""
    counts = done.sum(axis=1)
    means = np.where(done, values, 0.0).sum(axis=1) / np.maximum(counts, 1)
    squares = np.where(done, (values - means[:, None]) ** 2, 0.0).sum(axis=1)
    return np.where(counts > 0, np.sqrt(squares / np.maximum(counts - 1, 1)), np.nan)


def settings_text(params: Mapping[str, object]) -> str:
    """Return parameters as one cell."""
    return ", ".join(f"{name}={plain(value)}" for name, value in params.items())
