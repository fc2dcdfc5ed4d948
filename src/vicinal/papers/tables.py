"""Cells for the terminal and as plain values."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from rich.table import Table as RichTable
from rich.text import Text

from vicinal.papers.cells import Cell
from vicinal.papers.spec import Table
from vicinal.papers.verdict import VERDICTS

STYLES = {"matched": "green", "better": "bold green", "worse": "red", "shown": "cyan"}


def terminal_table(title: str, cells: Sequence[Cell], methods: Sequence[str]) -> RichTable:
    """Return a table of the paper's figure, ours and the difference, coloured by verdict."""
    table = RichTable(title=title, title_justify="left", header_style="bold")
    table.add_column("data")
    table.add_column("metric")
    for method in methods:
        table.add_column(f"{method}\npaper  ours  difference", justify="right", no_wrap=True)
    for (data, metric), row in grouped(cells):
        by_method = {cell.reported.method: cell for cell in row}
        shown = (show_cell(by_method.get(method)) for method in methods)
        table.add_row(data, metric, *shown)
    return table


def grouped(cells: Iterable[Cell]) -> Iterator[tuple[tuple[str, str], list[Cell]]]:
    """Yield the rows of a table: data and metric, and their cells."""

    def row(cell: Cell) -> tuple[str, str]:
        return cell.reported.data, cell.reported.metric

    places = {key: at for at, key in enumerate(dict.fromkeys(map(row, cells)))}
    for key, each in groupby(sorted(cells, key=lambda cell: places[row(cell)]), key=row):
        yield key, list(each)


def show_cell(cell: Cell | None) -> Text:
    """Return the figures of a cell."""
    if cell is None:
        return Text("")
    paper = number(cell.reported.value)
    if cell.ours is None or cell.difference is None:
        return Text.assemble((f"{paper}  ", "dim"), (cell.verdict, "yellow"))
    ours = f"{number(cell.ours)}  {signed(cell.difference)}"
    return Text.assemble((f"{paper}  ", "dim"), (ours, STYLES[cell.verdict]))


def number(value: float) -> str:
    """Return a figure as papers print it.

    Examples
    --------
    >>> number(0.19512), number(6.4142), number(12240.0)
    ('0.1951', '6.414', '12240')
    """
    return f"{value:.4f}" if abs(value) < 1 else f"{value:.4g}" if abs(value) < 1e4 else f"{value:.0f}"


def signed(value: float) -> str:
    """Return a difference with its sign.

    Examples
    --------
    >>> signed(0.00123), signed(-2.0)
    ('+0.0012', '−2.0000')
    """
    return f"{value:+.4f}".replace("-", "−")


def counts(cells: Iterable[Cell], kind: str | None = None) -> dict[str, int]:
    """Count the cells of each verdict, of one kind of method or of all."""
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
