"""A table of metrics, grouped, with arrows in the direction that is better."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from rich.markup import escape
from rich.table import Table

from vicinal._core.arrays import Float
from vicinal._core.html import Cells, Tabular
from vicinal.errors import InvalidArgumentError
from vicinal.metrics.catalogue import MetricInfo, in_table_order, metric_info
from vicinal.metrics.evaluate import evaluate

ARROWS = {"low": " ↓", "high": " ↑", "none": ""}


@dataclass(frozen=True)
class MetricsTable(Tabular):
    """Results of :func:`evaluate` side by side, one row per metric.

    ``to_pandas()``, ``to_csv()``, ``to_markdown()`` and ``to_latex()`` as for every other table;
    notebooks and :mod:`rich` show it.

    Parameters
    ----------
    results : dict of column heading to dict of metric to value
        A metric that a column lacks is left blank.
    title : str or None
        Title, if any.
    """

    results: Mapping[str, Mapping[str, float]]
    title: str | None = None

    def __repr__(self) -> str:
        """Describe the table in one line."""
        return f"MetricsTable({len(_in_order(self.results))} metrics × {len(self.results)} columns)"

    def cells(self) -> Cells:
        """Return one row per metric, in the order of the catalogue, and the side that is better."""
        header = ["metric", "better", *self.results]
        rows: list[list[object]] = [
            [info.name, info.better, *(values.get(info.name) for values in self.results.values())]
            for info in _in_order(self.results)
        ]
        return Cells(header, rows)

    def __rich__(self) -> Table:
        """Return the table for a terminal, metrics under their groups."""
        title = None if self.title is None else escape(self.title)
        table = Table(title=title, title_justify="left")
        table.add_column("metric", no_wrap=True)
        for heading in self.results:
            table.add_column(escape(heading), justify="right")
        for group, metrics in groupby(_in_order(self.results), key=lambda info: info.group):
            table.add_row(f"[bold]{group}[/bold]")
            for info in metrics:
                found = (values.get(info.name) for values in self.results.values())
                cells = ("" if value is None else f"{value:.4f}" for value in found)
                table.add_row(f"  {info.name}{ARROWS[info.better]}", *cells)
        return table


def metrics_table(
    results: Mapping[str, Mapping[str, float]], title: str | None = None
) -> MetricsTable:
    """Show results of :func:`evaluate` side by side.

    Parameters
    ----------
    results : dict of column heading to dict of metric to value
        A metric that a column lacks is left blank.
    title : str or None
        Title, if any.

    Examples
    --------
    >>> from rich.console import Console
    >>> results = {"BRkNN": {"hamming-loss": 0.25, "micro-f1": 0.5}, "MLkNN": {"micro-f1": 0.625}}
    >>> Console(width=60).print(metrics_table(results))
    ┏━━━━━━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
    ┃ metric           ┃  BRkNN ┃  MLkNN ┃
    ┡━━━━━━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━┩
    │ example-based    │        │        │
    │   hamming-loss ↓ │ 0.2500 │        │
    │ label-based      │        │        │
    │   micro-f1 ↑     │ 0.5000 │ 0.6250 │
    └──────────────────┴────────┴────────┘
    >>> print(metrics_table(results).to_markdown())
    | metric | better | BRkNN | MLkNN |
    |---|---|---:|---:|
    | hamming-loss | low | 0.2500 | – |
    | micro-f1 | high | 0.5000 | 0.6250 |
    """
    return MetricsTable(results, title)


def _in_order(results: Mapping[str, Mapping[str, float]]) -> list[MetricInfo]:
    """List the metrics of all columns as the catalogue does."""
    names = dict.fromkeys(name for values in results.values() for name in values)
    return in_table_order(map(metric_info, names))


def outside_scores(model: Any, X: object) -> object:
    """Return the scores (rows × labels) of an estimator from another library, or None."""
    if hasattr(model, "predict_proba"):
        given = model.predict_proba(X)
        if isinstance(given, list):
            return np.column_stack(
                [_positive_class(*each) for each in zip(given, model.classes_, strict=True)]
            )
    elif hasattr(model, "decision_function"):
        given = model.decision_function(X)
    else:
        return None
    scores: Float = np.asarray(given.toarray() if hasattr(given, "toarray") else given, np.float64)
    return scores if scores.ndim == 2 else scores[:, None]


def _positive_class(probabilities: Any, classes: Any) -> Float:
    """Return the probability of having the label; 0 if no training row had it."""
    for column, known in enumerate(classes):
        if known == 1:
            return np.asarray(probabilities)[:, column].astype(np.float64)
    return np.zeros(len(probabilities))


@dataclass(frozen=True)
class MetricScorer:
    """A metric as a callable ``(estimator, X, y)``; see :func:`scorer`."""

    metric: str
    conventions: str = "vicinal"

    def __call__(self, estimator: Any, X: object, y: object, **ignored: object) -> float:
        """Return the metric of a fitted estimator; losses are negated."""
        info = metric_info(self.metric)
        last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
        rows = estimator[:-1].transform(X) if hasattr(estimator, "steps") else X
        labels = last.predict(rows) if info.needs == "labels" else None
        scores = None if info.needs == "labels" else _scores(last, rows)
        names = getattr(last, "label_names_", None)
        found = evaluate(
            y, labels, scores, label_names=names, metrics=info.name, conventions=self.conventions
        )[info.name]
        return -found if info.better == "low" else found


def scorer(metric: str, conventions: str = "vicinal") -> MetricScorer:
    """Return a metric for ``scoring=`` of scikit-learn's ``GridSearchCV`` and ``cross_val_score``.

    True labels may be names or an indicator; names are aligned with those of the model. Losses are
    negated, because scikit-learn maximises scores.

    Parameters
    ----------
    metric : str
        A name in :data:`METRICS`.
    conventions : str
        As for :func:`evaluate`.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> model = BRkNN(1).fit([[0.0], [1.0]], [["a"], ["b"]])
    >>> scorer("micro-f1")(model, [[0.1], [0.2]], [["a"], ["b"]])
    0.5
    >>> scorer("hamming-loss")(model, [[0.1], [0.2]], [["a"], ["b"]])
    -0.5
    """
    return MetricScorer(metric_info(metric).name, conventions)


def _scores(estimator: Any, X: object) -> object:
    """Return the scores of rows: those of the library, or of another library's estimator."""
    if hasattr(estimator, "scores"):
        return estimator.scores(X)
    found = outside_scores(estimator, X)
    if found is None:
        expected = "one with predict_proba or decision_function, as the metric needs scores"
        raise InvalidArgumentError("estimator", expected, type(estimator).__name__)
    return found
