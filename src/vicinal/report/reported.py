"""Ours against what papers report, cell by cell."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from vicinal.report.blocks import Paragraph, Section
from vicinal.report.cells import Cell
from vicinal.report.table import Column, DataTable

NEAR = 0.02
"""Differences up to this are marked as near."""
ALIASES = {"iblrml": "iblr"}
TEXT = (
    "Papers differ in folds, splits, preprocessing and settings, so a difference here is not an "
    "error by itself. Differences of at most {near:g} are green."
)


@dataclass(frozen=True)
class ReportedCell:
    """A figure that a paper reports.

    Parameters
    ----------
    paper, table : str
        Where it stands.
    dataset, method, metric : str
        What it is of; methods are matched without regard to case and hyphens.
    value : float
    std : float or None
        As the paper gives it.
    """

    paper: str
    table: str
    dataset: str
    method: str
    metric: str
    value: float
    std: float | None = None


@dataclass(frozen=True)
class OwnCell:
    """Our figure for the same: mean and standard deviation."""

    mean: float
    deviation: float | None = None


def same_name(name: str) -> str:
    """Return what two spellings of a method's name share.

    Examples
    --------
    >>> same_name("ML-kNN") == same_name("mlknn"), same_name("IBLR-ML")
    (True, 'iblr')
    """
    bare = re.sub(r"[^a-z0-9=]+", "", name.lower())
    return ALIASES.get(bare, bare)


def reported_section(
    cells: Iterable[ReportedCell], ours: Mapping[tuple[str, str, str], OwnCell]
) -> Section | None:
    """Return a table of the cells that we have too; None where there are none.

    Parameters
    ----------
    cells : iterable of ReportedCell
    ours : mapping of (data set, method, metric) to OwnCell
        Methods as :func:`same_name` spells them.
    """
    rows = [
        _row(cell, ours[key])
        for cell in cells
        if (key := (cell.dataset, same_name(cell.method), cell.metric)) in ours
    ]
    if not rows:
        return None
    columns: Sequence[Column | str] = [
        "data set",
        "method",
        "metric",
        "paper",
        "table",
        Column("reported"),
        Column("ours"),
        Column("difference", "+.3f", note="ours − reported"),
    ]
    table = DataTable("Ours against the papers'", columns, rows)
    return Section("Against the papers", [Paragraph(TEXT.format(near=NEAR)), table])


def _row(cell: ReportedCell, own: OwnCell) -> list[str | Cell]:
    """Return the row of one cell."""
    apart = own.mean - cell.value
    return [
        cell.dataset,
        cell.method,
        cell.metric,
        cell.paper,
        cell.table,
        Cell(cell.value, spread=cell.std, kind="paper"),
        Cell(own.mean, spread=own.deviation, kind="ours"),
        Cell(apart, kind="near" if abs(apart) <= NEAR else ""),
    ]
