"""Cells for the terminal and as plain values."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.box import SIMPLE
from rich.table import Table as RichTable
from rich.text import Text

from vicinal_reproduction.figures.cells import Cell
from vicinal_reproduction.figures.verdict import VERDICTS
from vicinal_reproduction.specification import Table

STYLES = {"matched": "green", "better": "bold green", "worse": "red", "shown": "cyan"}


def terminal_table(title: str, cells: Sequence[Cell]) -> RichTable:
    """Return a table of the paper's figure, ours and the difference, coloured by verdict."""
    table = RichTable(title=title, title_justify="left", header_style="bold", box=SIMPLE)
    for heading in ("data", "metric", "method"):
        table.add_column(heading, overflow="fold")  # narrow terminals wrap names
    for heading in ("paper", "ours", "±", "apart"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for (data, metric), row in grouped(cells):
        for at, cell in enumerate(row):
            names = (data, metric) if at == 0 else ("", "")
            table.add_row(
                *names, cell.reported.method, *_shown(cell), end_section=at + 1 == len(row)
            )
    return table


def _shown(cell: Cell) -> list[Text]:
    """Return the figures of a cell and its verdict."""
    style = STYLES.get(cell.verdict, "yellow")
    ours = "" if cell.ours is None else number(cell.ours)
    std = "" if cell.std is None else number(cell.std)
    apart = "" if cell.difference is None else signed(cell.difference)
    texts = [Text(number(cell.reported.value)), Text(ours, style), Text(std, "dim")]
    return [*texts, Text(apart, style), Text(cell.verdict, style)]


def grouped(cells: Iterable[Cell]) -> Iterator[tuple[tuple[str, str], list[Cell]]]:
    """Yield the rows of a table: data and metric, and their cells."""

    def row(cell: Cell) -> tuple[str, str]:
        return cell.reported.data, cell.reported.metric

    places = {key: at for at, key in enumerate(dict.fromkeys(map(row, cells)))}
    for key, each in groupby(sorted(cells, key=lambda cell: places[row(cell)]), key=row):
        yield key, list(each)


def number(value: float) -> str:
    """Return a figure as papers print it.

    Examples
    --------
    >>> number(0.19512), number(6.4142), number(12240.0)
    ('0.1951', '6.414', '12240')
    """
    if abs(value) < 1:
        return f"{value:.4f}"
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:.0f}"


def signed(value: float) -> str:
    """Return a difference with its sign.

    Examples
    --------
    >>> signed(0.00123), signed(-2.0)
    ('+0.0012', '−2.0000')
    """
    return f"{value:+.4f}".replace("-", "−")


def counts(cells: Iterable[Cell], kind: str | None = None) -> dict[str, int]:
    """Count the cells per verdict, for one kind of method or for all."""
    found = Counter(cell.verdict for cell in cells if kind is None or cell.kind == kind)
    return {verdict: found[verdict] for verdict in VERDICTS if found[verdict]}


def plain(table: Table, cells: Iterable[Cell]) -> list[dict[str, Any]]:
    """Return cells as plain values, for JSON."""
    return [
        {
            "paper": cell.reported.paper,
            "table": table.name,
            "data": cell.reported.data,
            "method": cell.reported.method,
            "metric": cell.reported.metric,
            "reported": cell.reported.value,
            "ours": cell.ours,
            "std": cell.std,
            "difference": cell.difference,
            "verdict": cell.verdict,
            "reason": cell.reason,
        }
        for cell in cells
    ]
