"""``vicinal reproduce``: the tables of the papers next to our results."""

from pathlib import Path
from typing import Annotated, Any

import typer

from vicinal.cli.output import JsonFlag, errors, out, print_json
from vicinal.errors import InvalidArgumentError
from vicinal.index._common import chosen_backend
from vicinal_reproduction.figures.cells import Cell, Figures, figures_of, table_cells
from vicinal_reproduction.render.page import write_pages
from vicinal_reproduction.render.tables import counts, plain, terminal_table
from vicinal_reproduction.results.stores import Stores, stored
from vicinal_reproduction.runner import run_units, units
from vicinal_reproduction.specification import Paper
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
    quick: Annotated[
        bool, typer.Option(help="Quick run: some of the data, one seed, few folds.")
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
    stores = stored() if shipped else Stores(store / "quick" if quick else store)
    if not shipped:
        where = chosen_backend(backend, device=None)
        todo = units(papers, stores, tables=tables, quick=quick, backend=where)
        run_units(todo, stores, jobs=jobs, say=errors.print)
    shown: list[dict[str, Any]] = []
    for each in papers:
        figures = figures_of(each, stores.of(each.name).read())
        shown += show_paper(each, figures, tables, json)
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


def show_paper(
    paper: Paper, figures: Figures, tables: tuple[str, ...] | None, json: bool
) -> list[dict[str, Any]]:
    """Print the tables of a paper, except for JSON output; return their cells as plain values."""
    every: list[Cell] = []
    shown: list[dict[str, Any]] = []
    for table in paper.tables:
        if tables is not None and table.name not in tables:
            continue
        cells = table_cells(paper, table, figures)
        every += cells
        shown += plain(table, cells)
        if not json:
            title = f"{paper.name}, table {table.name}: {table.title}"
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
