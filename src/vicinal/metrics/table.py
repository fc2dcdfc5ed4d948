"""A table of metrics, grouped, with arrows in the direction that is better."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import groupby

from rich.markup import escape
from rich.table import Table

from vicinal._base.tabular import Cells, Tabular
from vicinal.metrics.catalogue import METRICS, MetricInfo, metric_info

ARROWS = {"low": " ↓", "high": " ↑", "none": ""}


@dataclass(frozen=True)
class MetricsTable(Tabular):
    """Results of :func:`evaluate` side by side, one row per metric.

    ``to_pandas()``, ``to_markdown()`` and ``to_latex()`` as for every other table; notebooks and
    :mod:`rich` show it.

    Parameters
    ----------
    results : dict of column heading to dict of metric to value
        A metric that a column lacks is left blank.
    title : str or None
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
                cells = (_cell(values.get(info.name)) for values in self.results.values())
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

    Examples
    --------
    >>> from rich.console import Console
    >>> answers = {"BRkNN": {"hamming-loss": 0.25, "micro-f1": 0.5}, "MLkNN": {"micro-f1": 0.625}}
    >>> Console(width=60).print(metrics_table(answers))
    ┏━━━━━━━━━━━━━━━━━━┳━━━━━━━━┳━━━━━━━━┓
    ┃ metric           ┃  BRkNN ┃  MLkNN ┃
    ┡━━━━━━━━━━━━━━━━━━╇━━━━━━━━╇━━━━━━━━┩
    │ example-based    │        │        │
    │   hamming-loss ↓ │ 0.2500 │        │
    │ label-based      │        │        │
    │   micro-f1 ↑     │ 0.5000 │ 0.6250 │
    └──────────────────┴────────┴────────┘
    >>> print(metrics_table(answers).to_markdown())
    | metric | better | BRkNN | MLkNN |
    |---|---|---:|---:|
    | hamming-loss | low | 0.2500 | – |
    | micro-f1 | high | 0.5000 | 0.6250 |
    """
    return MetricsTable(results, title)


def _in_order(results: Mapping[str, Mapping[str, float]]) -> list[MetricInfo]:
    """List the metrics of all columns as the catalogue does, those at k by increasing k."""
    families = list(METRICS)
    known = {name: metric_info(name) for values in results.values() for name in values}

    def place(info: MetricInfo) -> tuple[int, int]:
        family = info.name if info.k is None else info.name.partition("@")[0] + "@k"
        return families.index(family), info.k or 0

    return sorted(known.values(), key=place)


def _cell(value: float | None) -> str:
    """Return four decimals, as printed in papers; blank if there is no value."""
    return "" if value is None else f"{value:.4f}"
