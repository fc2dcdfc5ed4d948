"""``vicinal reproduce``: the tables of the papers next to our results."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from vicinal.cli.output import JsonFlag, errors, out, print_json
from vicinal.errors import InvalidArgumentError
from vicinal.index._common import chosen_backend
from vicinal_reproduction.figures.cells import Cell, Figures, figures_of, table_cells
from vicinal_reproduction.render.page import write_pages
from vicinal_reproduction.render.tables import counts, plain, terminal_table
from vicinal_reproduction.results.stores import Stores, stored
from vicinal_reproduction.runner import run_units, units
from vicinal_reproduction.specification import Paper, Table
from vicinal_reproduction.specs.registry import PAPERS, chosen_papers

PaperArgument = Annotated[
    str | None,
    typer.Argument(metavar="PAPER", help=f"One of {', '.join(PAPERS)}; all by default."),
]
TableArgument = Annotated[
    str | None,
    typer.Argument(metavar="TABLE", help="Number of the table in the paper; all by default."),
]


def reproduce(
    paper: PaperArgument = None,
    table: TableArgument = None,
    data: Annotated[
        str | None, typer.Option(help="Only this data set, by its name in the paper.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="Only this method, by its name in the paper.")
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(help="Quick run: some of the data, one seed, few folds. It is not judged."),
    ] = False,
    store: Annotated[Path, typer.Option(help="Results folder; completed runs are reused.")] = Path(
        "reproduction-results"
    ),
    shipped: Annotated[
        bool,
        typer.Option(
            "--shipped", help="Show the results shipped with this version without running anything."
        ),
    ] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Number of parallel processes.")] = 1,
    backend: Annotated[
        str, typer.Option(help="Backend of the projection search: numpy, or torch for a GPU.")
    ] = "numpy",
    html: Annotated[
        Path | None,
        typer.Option(help="Write one HTML page per paper to this folder.", metavar="DIR"),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """Run the papers' experiments and compare their figures with ours."""
    papers = chosen_papers(paper)
    tables = None if table is None else (check_table(papers[0], table),)
    check_names(papers, data, method)
    stores = stored() if shipped else Stores(store / "quick" if quick else store)
    if not shipped:
        where = chosen_backend(backend, device=None)
        only = {"only_data": data, "only_method": method}
        todo = units(papers, stores, tables=tables, quick=quick, backend=where, **only)
        run_units(todo, stores, jobs=jobs, say=errors.print)
    shown: list[dict[str, Any]] = []
    for each in papers:
        figures = figures_of(each, stores.of(each.name).read())
        chosen = Chosen(tables, data, method, quick and not shipped)
        shown += show_paper(each, figures, chosen, json)
    if html is not None:
        write_pages(papers, stores, html)
    if json:
        print_json(shown)


def check_table(paper: Paper, table: str) -> str:
    """Return the name of a table, order or figure, or raise if the paper has none of that name."""
    known = [each.name for each in paper.tables] + [each.table for each in paper.orders]
    known += [each.figure for each in paper.curves]
    if table not in known:
        raise InvalidArgumentError("TABLE", f"one of {', '.join(known)}", repr(table))
    return table


def check_names(papers: list[Paper], data: str | None, method: str | None) -> None:
    """Raise if no paper has a data set or method of this name."""
    every = [experiment for paper in papers for experiment in paper.experiments]
    known_data = list(dict.fromkeys(name for each in every for name in each.data))
    known_methods = list(dict.fromkeys(name for each in every for name in each.methods))
    for option, name, known in (
        ("--data", data, known_data),
        ("--method", method, known_methods),
    ):
        if name is not None and name not in known:
            raise InvalidArgumentError(option, f"one of {', '.join(known)}", repr(name))


class Chosen(NamedTuple):
    """The cells to show; those of a reduced run are not judged."""

    tables: tuple[str, ...] | None
    data: str | None
    method: str | None
    reduced: bool

    def cells(self, paper: Paper, table: Table, figures: Figures) -> list[Cell]:
        """Return the cells of a table that were asked for."""
        found = [
            cell
            for cell in table_cells(paper, table, figures)
            if self.data in (None, cell.reported.data)
            and self.method in (None, cell.reported.method)
        ]
        if not self.reduced:
            return found
        return [cell if cell.ours is None else replace(cell, verdict="reduced") for cell in found]


def show_paper(paper: Paper, figures: Figures, chosen: Chosen, json: bool) -> list[dict[str, Any]]:
    """Print the tables of a paper, except for JSON output; return their cells as plain values."""
    every: list[Cell] = []
    shown: list[dict[str, Any]] = []
    for table in paper.tables:
        if chosen.tables is not None and table.name not in chosen.tables:
            continue
        cells = chosen.cells(paper, table, figures)
        if not cells:
            continue
        every += cells
        shown += plain(table, cells)
        if not json:
            title = f"{paper.name}, table {table.name}: {table.title}"
            title += " (reduced run, not judged)" if chosen.reduced else ""
            out.print(terminal_table(title, cells))
            for note in table.notes:
                out.print(f"  {note}")
    if not json:
        for kind in ("own", "rival"):
            found = counts(every, kind)
            if found:
                listed = ", ".join(f"{count} {verdict}" for verdict, count in found.items())
                out.print(f"{paper.name}, cells of {kind} methods: {listed}")
    return shown
