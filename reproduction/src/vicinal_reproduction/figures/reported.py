"""The figures that the papers report, as data."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from vicinal.report.reported import ReportedCell


@dataclass(frozen=True)
class Reported:
    """A cell of a table of a paper.

    Parameters
    ----------
    paper, table, data, method, metric : str
        `metric` is named as in ``vicinal.metrics``, or is self-explanatory (seconds, ranks).
    value : float
    std : float or None
        The standard deviation, if the paper reports one.
    note : str
        How the figure was obtained, and whether it is doubtful.
    """

    paper: str
    table: str
    data: str
    method: str
    metric: str
    value: float
    std: float | None
    note: str


@dataclass(frozen=True)
class ReportedWin:
    """A pair of a partial order: on `metric`, `winner` beats `loser`."""

    paper: str
    table: str
    data: str
    metric: str
    winner: str
    loser: str


@cache
def reported() -> tuple[Reported, ...]:
    """Return every cell of the papers' tables.

    Examples
    --------
    >>> [cell.value for cell in reported() if cell.table == "2" and cell.method == "rank-svm"][:2]
    [0.207, 0.243]
    """
    return tuple(
        Reported(
            row["paper"],
            row["table"],
            row["dataset"],
            row["method"],
            row["metric"],
            float(row["value"]),
            float(row["std"]) if row["std"] else None,
            row["note"],
        )
        for row in _rows("reported.csv")
    )


@cache
def reported_wins() -> tuple[ReportedWin, ...]:
    """Return every pair of the papers' partial orders."""
    return tuple(
        ReportedWin(
            row["paper"], row["table"], row["data"], row["metric"], row["winner"], row["loser"]
        )
        for row in _rows("orders.csv")
    )


def reported_cells() -> list[ReportedCell]:
    """Return the cells in the form used by the reports of ``vicinal compare``."""
    return [
        ReportedCell(
            paper=each.paper,
            table=each.table,
            dataset=each.data,
            method=each.method,
            metric=each.metric,
            value=each.value,
            std=each.std,
        )
        for each in reported()
    ]


def _rows(name: str) -> Iterator[dict[str, str]]:
    """Yield the rows of a file in this package."""
    text = (files("vicinal_reproduction.figures") / name).read_text(encoding="utf-8")
    yield from csv.DictReader(text.splitlines())
