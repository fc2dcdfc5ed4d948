"""Our results next to the published ones, cell by cell."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

from vicinal.comparison.method_ranking import Mark
from vicinal.report.page import Details, Paragraph, Section
from vicinal.report.sortable_table import Cell, Column, DataTable

NEAR = 0.02
"""Largest difference that counts as close."""
FOLDED = 24
"""With more cells than this, a summary comes first."""
ALIASES = {"iblrml": "iblr", "adtboostmh": "adtboost"}
TEXT = (
    "Papers differ in folds, splits, preprocessing and settings, so a difference here is not an "
    "error by itself. Differences of at most {near:g} (relative for figures above 1) are shown "
    "in green."
)


@dataclass(frozen=True)
class ReportedCell:
    """A figure that a paper reports."""

    paper: str
    table: str
    dataset: str
    method: str
    metric: str
    value: float
    std: float | None = None


Pair: TypeAlias = tuple[ReportedCell, Mark]


def same_name(name: str) -> str:
    """Return a normalised method name that is the same for all spellings."""
    bare = re.sub(r"[^a-z0-9=]+", "", name.lower())
    return ALIASES.get(bare, bare)


def reported_section(
    cells: Iterable[ReportedCell], ours: Mapping[tuple[str, str, str], Mark]
) -> Section | None:
    """Return a table of the cells that we also have; None if there are none."""
    pairs = [
        (cell, ours[key])
        for cell in cells
        if (key := (cell.dataset, same_name(cell.method), cell.metric)) in ours
    ]
    if not pairs:
        return None
    text = Paragraph(TEXT.format(near=NEAR))
    table = _all_cells(pairs)
    if len(pairs) <= FOLDED:
        return Section("Against the papers", [text, table])
    return Section("Against the papers", [text, _by_paper(pairs), Details("Every cell", [table])])


def is_near(reported: float, own: float) -> bool:
    """Tell whether two figures differ by at most :data:`NEAR`, relatively if above 1."""
    return abs(own - reported) <= NEAR * max(1.0, abs(reported))


def _by_paper(pairs: Sequence[Pair]) -> DataTable:
    """Return how many cells of each paper are close."""
    rows = []
    for paper in dict.fromkeys(cell.paper for cell, _ in pairs):
        of_paper = [(cell.value, own.mean) for cell, own in pairs if cell.paper == paper]
        near = sum(is_near(*each) for each in of_paper)
        apart = median(abs(own - value) for value, own in of_paper)
        rows.append((paper, len(of_paper), near, apart))
    counts = (Column("cells", "d"), Column("near", "d"))
    columns: list[Column | str] = ["paper", *counts, "median difference"]
    return DataTable("Cells available in both, by paper", columns, rows)


def _all_cells(pairs: Sequence[Pair]) -> DataTable:
    """Return every published cell next to ours."""
    names = ("data set", "method", "metric", "paper", "table", "reported", "ours")
    columns: list[Column | str] = [*names, Column("difference", "+.3f", note="ours − reported")]
    return DataTable("Ours against the papers'", columns, [_row(*pair) for pair in pairs])


def _row(cell: ReportedCell, own: Mark) -> list[str | Cell]:
    """Return the row of one cell."""
    return [
        cell.dataset,
        cell.method,
        cell.metric,
        cell.paper,
        cell.table,
        Cell(cell.value, spread=cell.std, kind="paper"),
        Cell(own.mean, spread=own.deviation, kind="ours"),
        Cell(own.mean - cell.value, kind="near" if is_near(cell.value, own.mean) else ""),
    ]
