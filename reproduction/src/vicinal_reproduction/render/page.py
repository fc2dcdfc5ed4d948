"""One HTML page per paper: published and our figures, coloured, with explanations."""

import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from vicinal.report.page import (
    MARKERS,
    SERIES,
    Block,
    Facts,
    Page,
    Paragraph,
    PlotFigure,
    Section,
)
from vicinal.report.sortable_table import Cell, Column, DataTable, Row
from vicinal.selection.plots import QUIET
from vicinal_reproduction.figures.cells import Cell as PaperCell
from vicinal_reproduction.figures.cells import Figures, figures_of, table_cells
from vicinal_reproduction.figures.curves import curve_points
from vicinal_reproduction.figures.orders import OrderAgreement, compare_order
from vicinal_reproduction.figures.rank_tests import rank_test
from vicinal_reproduction.figures.verdict import VERDICTS, Verdict
from vicinal_reproduction.render.tables import counts, grouped, number, signed
from vicinal_reproduction.results.stores import Stores
from vicinal_reproduction.specification import OWN, RIVAL, Curve, Paper, Table

KINDS: dict[Verdict, str] = {"matched": "near", "better": "near", "worse": "far"}
"""Style sheet classes; other verdicts have none."""


def write_pages(
    papers: Iterable[Paper], stores: Stores, folder: str | os.PathLike[str]
) -> list[Path]:
    """Write one page per paper into a folder and return the paths."""
    return [
        paper_page(paper, figures_of(paper, stores.of(paper.name).read())).write(
            Path(folder) / f"{paper.name}.html"
        )
        for paper in papers
    ]


def paper_page(paper: Paper, figures: Figures) -> Page:
    """Return the page of a paper."""
    cells = {table.name: table_cells(paper, table, figures) for table in paper.tables}
    every = [cell for each in cells.values() for cell in each]
    sections = [Section("Tables and counts", [_overview(paper, cells)])]
    sections += [_table_section(table, cells[table.name]) for table in paper.tables]
    sections += list(_order_sections(paper, figures))
    sections += [
        Section(f"Figure {curve.figure}", [drawn])
        for curve in paper.curves
        if (drawn := curve_figure(curve, figures)) is not None
    ]
    sections += list(_rank_sections(paper, figures))
    sections.append(Section("How it was run", _how(paper, figures)))
    found = counts(every, OWN)
    lead = Paragraph(
        "Cells of the library’s own methods: "
        + ", ".join(f"{count} {verdict}" for verdict, count in found.items())
        + ". Green: within 0.0015 or 3 % of the paper’s figure (or its standard deviation), or "
        "better; red: worse. Hover over a cell to see the explanation."
    )
    return Page(f"{paper.name}: {paper.title}", [lead], sections, "vicinal reproduce")


def _overview(paper: Paper, cells: dict[str, list[PaperCell]]) -> DataTable:
    """Return the counts of each table."""
    rows: list[Row] = []
    for table in paper.tables:
        for kind in (OWN, RIVAL):
            found = counts(cells[table.name], kind)
            if found:
                rows.append([table.name, kind, *(found.get(verdict, 0) for verdict in VERDICTS)])
    columns = [Column("table"), Column("methods"), *(Column(each, "d") for each in VERDICTS)]
    return DataTable("Cells by table", columns, rows)


def _table_section(table: Table, cells: Sequence[PaperCell]) -> Section:
    """Return a table of the paper: three columns per method."""
    columns = [Column("data"), Column("metric")]
    for method in table.methods:
        columns += [Column(each, group=method) for each in ("paper", "ours", "difference")]
    rows: list[Row] = []
    for (data, metric), row in grouped(cells):
        by_method = {cell.reported.method: cell for cell in row}
        shown = [each for name in table.methods for each in _three(by_method.get(name))]
        rows.append([data, metric, *shown])
    notes = [Paragraph(note) for note in table.notes]
    return Section(f"Table {table.name}", [DataTable(table.title, columns, rows), *notes])


def _three(cell: PaperCell | None) -> list[Cell]:
    """Return the paper's figure, ours and the difference."""
    if cell is None:
        return [Cell(None), Cell(None), Cell(None)]
    theirs = Cell(
        cell.reported.value,
        number(cell.reported.value),
        cell.reported.std,
        "paper",
        cell.reported.note,
    )
    if cell.ours is None or cell.difference is None:
        return [theirs, Cell(None, cell.verdict, kind="quiet"), Cell(None)]
    kind = KINDS.get(cell.verdict, "quiet")
    said = f"{cell.verdict}. {cell.reason}".strip()
    return [
        theirs,
        Cell(cell.ours, number(cell.ours), cell.std, kind, said),
        Cell(cell.difference, signed(cell.difference), None, kind, said),
    ]


def _order_sections(paper: Paper, figures: Figures) -> Iterator[Section]:
    """Yield the partial orders."""
    for order in paper.orders:
        found = compare_order(paper, order, figures)
        rows = [
            [metric, winner, loser, said]
            for said, pairs in _named(found)
            for metric, winner, loser in pairs
        ]
        if rows:
            columns = ["metric", "winner", "loser", "in our results"]
            title = f"Who beats whom on {order.data} (paired t-test at 5 %)"
            yield Section(f"Table {order.table}", [DataTable(title, columns, rows)])


def _named(found: OrderAgreement) -> list[tuple[str, Sequence[tuple[str, str, str]]]]:
    """Return the pairs grouped by their outcome."""
    return [
        ("agreed", found.agreed),
        ("not significant", found.missing),
        ("reversed", found.reversed),
        ("only in our results", found.further),
        ("not run", found.not_run),
    ]


def curve_figure(curve: Curve, figures: Figures) -> PlotFigure | None:
    """Return the figure of a paper, drawn from our results; None if there are none."""
    lines = {
        (data, method): points
        for data in curve.data
        for method in curve.methods
        if (points := curve_points(curve, figures, data, method))
    }
    if not lines:
        return None
    # Imported when used: matplotlib would double the time that importing the package takes.
    from matplotlib.figure import Figure

    plot = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = plot.subplots()
    places = {data: at for at, data in enumerate(dict.fromkeys(data for data, _ in lines))}
    for (data, method), points in lines.items():
        at = places[data] % len(SERIES)
        is_first = method == curve.methods[0]
        axes.plot(
            list(points),
            list(points.values()),
            color=SERIES[at],
            marker=MARKERS[at],
            markersize=3,
            linestyle="-" if is_first else ":",
            label=f"{data}, {method}",
        )
    axes.set_xlabel(curve.setting)
    axes.set_ylabel(curve.metric)
    axes.grid(color=QUIET, alpha=0.2)
    plot.legend(loc="outside right upper", fontsize="x-small", frameon=False)
    described = f"{curve.metric} against {curve.setting} for {', '.join(places)}"
    return PlotFigure(plot, curve.title, described)


def _rank_sections(paper: Paper, figures: Figures) -> Iterator[Section]:
    """Yield the rank tests."""
    for test in paper.rank_tests:
        found = rank_test(test, figures)
        if found is not None:
            result, data = found
            table = DataTable(test.title, ["method", "mean rank"], list(result.mean_ranks.items()))
            said = (
                f"On {', '.join(data)}. Critical difference {result.critical_difference:.2f} "
                f"(Nemenyi, α = {test.alpha}), Friedman p = {result.p_chi2:.2g}."
            )
            yield Section(f"Figure {test.figure}", [table, Paragraph(said)])


def _how(paper: Paper, figures: Figures) -> list[Block]:
    """Return the experiments, the notes and the provenance of the results."""
    blocks: list[Block] = [Facts({each.name: each.what for each in paper.experiments})]
    blocks += [Paragraph(note) for note in paper.notes]
    source = next((each.provenance for each in figures.results if each.provenance), None)
    if source:
        blocks.append(Facts({name: what for name, what in source.items() if name != "data"}))
    return blocks
