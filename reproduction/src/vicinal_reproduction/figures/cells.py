"""The cells of a table: the paper's figure, ours, and a verdict."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np

from vicinal.results import Result
from vicinal_reproduction.figures.reported import Reported, reported
from vicinal_reproduction.figures.verdict import Verdict, judge, much_better
from vicinal_reproduction.sources import UNAVAILABLE
from vicinal_reproduction.specification import Paper, Reason, Table

Place: TypeAlias = tuple[str, str, str]


@dataclass(frozen=True)
class Cell:
    """A cell of a table of a paper.

    Parameters
    ----------
    reported : Reported
    kind : {"own", "rival"}
        The kind of method.
    ours : float or None
        Mean over seeds and folds; None if it was not run.
    std : float or None
        Standard deviation over folds, or over seeds if each has a single figure.
    verdict : str
    reason : str
        Why it is worse or better, if it is; empty if no reason is known.
    """

    reported: Reported
    kind: str
    ours: float | None
    std: float | None
    verdict: Verdict
    reason: str = ""

    @property
    def needs_reason(self) -> bool:
        """Whether the cell is worse, or better by more than a tenth of the paper's figure."""
        if self.verdict != "better":
            return self.verdict == "worse"
        return self.ours is not None and much_better(self.ours, self.reported.value)

    @property
    def difference(self) -> float | None:
        """Our figure minus the paper's."""
        return None if self.ours is None else self.ours - self.reported.value


@dataclass(frozen=True)
class Figures:
    """Results, looked up by experiment, data and method."""

    results: tuple[Result, ...]

    @cached_property
    def _by_place(self) -> Mapping[Place, list[Result]]:
        """Results of each place, one per seed."""
        found: dict[Place, list[Result]] = defaultdict(list)
        for result in self.results:
            found[result.experiment, result.data, result.method].append(result)
        return found

    def at(self, experiment: str, data: str, method: str) -> list[Result]:
        """Return the results of a place, one per seed."""
        return self._by_place.get((experiment, data, method), [])

    def values(self, experiment: str, data: str, method: str, metric: str) -> list[list[float]]:
        """Return the values of a metric, one list per seed."""
        return [
            list(result.values[metric])
            for result in self.at(experiment, data, method)
            if result.values.get(metric)
        ]


def figures_of(paper: Paper, results: Iterable[Result]) -> Figures:
    """Return the figures of a paper: results and values derived from them."""
    found = Figures(tuple(results))
    if paper.derive is None:
        return found
    return Figures((*found.results, *paper.derive(found)))


def table_cells(
    paper: Paper, table: Table, figures: Figures, experiments: Iterable[str] | None = None
) -> list[Cell]:
    """Return the cells of a table, in the order of the paper.

    Parameters
    ----------
    paper : Paper
    table : Table
    figures : Figures
    experiments : iterable of str or None
        Fill the table from these instead of its own.
    """
    sources = tuple(table.experiments if experiments is None else experiments)
    return [
        _cell(paper, table, each, figures, sources)
        for each in reported()
        if (each.paper, each.table) == (paper.name, table.name)
    ]


def _cell(
    paper: Paper, table: Table, each: Reported, figures: Figures, sources: tuple[str, ...]
) -> Cell:
    """Return one cell."""
    kind = paper.kind(each.method)
    seeds = _seeds(table, each, figures, sources)
    judged = table.judged is None or each.method in table.judged
    if not seeds and each.data in table.stand_ins:
        other = table.stand_ins[each.data]
        seeds, judged = _seeds(table, replace(each, data=other), figures, sources), False
    if not seeds:
        absent = each.data in UNAVAILABLE
        return Cell(each, kind, None, None, "no data" if absent else "not run")
    ours = float(np.mean([np.mean(values) for values in seeds]))
    pooled = np.concatenate([np.asarray(values) for values in seeds])
    std = float(pooled.std(ddof=1)) if len(pooled) > 1 else None
    verdict = judge(each.metric, ours, each.value, each.std) if judged else "shown"
    cell = Cell(each, kind, ours, std, verdict)
    reasons = {"worse": paper.reasons, "better": paper.better}.get(verdict, ())
    return replace(cell, reason=reason_for(reasons, each))


def _seeds(
    table: Table, each: Reported, figures: Figures, sources: tuple[str, ...]
) -> list[list[float]]:
    """Return the values of a cell for each seed; a mean of rows has one value."""
    metric = table.metric_of.get(each.metric, each.metric)
    members = table.averages.get(each.data)
    if members is None:
        return _first(figures, sources, each.data, each.method, metric)
    parts = [_first(figures, sources, member, each.method, metric) for member in members]
    if not all(parts):
        return []
    return [[float(np.mean([np.mean(part[0]) for part in parts]))]]


def _first(
    figures: Figures, sources: tuple[str, ...], data: str, method: str, metric: str
) -> list[list[float]]:
    """Return the values of the first experiment that has any."""
    for experiment in sources:
        found = figures.values(experiment, data, method, metric)
        if found:
            return found
    return []


def reason_for(reasons: Iterable[Reason], each: Reported) -> str:
    """Return why a cell differs from the paper; empty if no reason is known."""
    for reason in reasons:
        if reason.fits(each.table, each.data, each.method, each.metric):
            return reason.text
    return ""
