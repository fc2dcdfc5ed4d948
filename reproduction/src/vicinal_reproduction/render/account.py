"""The account of the reproduction from the stored results: a page, and the files next to it.

``docs/evidence/reproduction.md`` is the summary that people read. ``reproduction-papers.md`` has
the tables and explanations of each paper. The cells, the variants, cell by cell, and the values of
the figures are CSV files.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from statistics import median

from vicinal_reproduction.figures.cells import Cell, Figures, figures_of, table_cells
from vicinal_reproduction.figures.checks import filled_checks
from vicinal_reproduction.figures.curves import curve_points
from vicinal_reproduction.figures.orders import compare_order
from vicinal_reproduction.figures.rank_tests import rank_test
from vicinal_reproduction.figures.verdict import VERDICTS
from vicinal_reproduction.render.account_time import account_time
from vicinal_reproduction.render.markdown import markdown_table
from vicinal_reproduction.render.tables import counts, plain
from vicinal_reproduction.results.stores import Stores
from vicinal_reproduction.specification import OWN, RIVAL, Paper
from vicinal_reproduction.specs.registry import PAPERS

CELLS, VARIANTS, CURVES = (f"reproduction-{name}.csv" for name in ("cells", "variants", "figures"))
"""The tables next to the page."""

PAPERS_PAGE = "reproduction-papers.md"
"""The account of each paper, next to the page."""

INTRODUCTION = """# Reproduction results

How many cells of the papers’ result tables vicinal matches. [Below](#words-and-files) are the words
and the files with every cell.
"""

WORDS = f"""
## Words and files

Files to download have the details: [table by table]({PAPERS_PAGE}), with the reasons why cells
differ, [every cell]({CELLS}) with the paper’s figure, vicinal’s figure and the explanation,
[the variants]({VARIANTS}) cell by cell, and [the values of the figures]({CURVES}).

| word | meaning |
|---|---|
| matched | within 0.0015 or 3% of the paper’s figure, or within its printed standard deviation |
| better, worse | any other figure. A better one does not confirm the paper’s |
| explained | an experiment is named, with the figure that it gives |
| not judged | no direction is better, or it is a run time, or the notes of the table exclude it |
| no data, not run | the data is unavailable; the experiment has not been run yet |
| own, baseline | methods of this library; methods that the papers compare them with |

Every cell that is better by more than 10% has an explanation or is listed as unexplained.
Cross-validated cells are means over three fold seeds. “Matched or explained” counts matched cells
and cells with an explanation.

`vicinal reproduce --shipped` prints every table, and `--html DIR` writes HTML pages.
`vicinal reproduce [PAPER [TABLE]]` runs the experiments again.
`python reproduction/tools/write_account.py` writes this page and the files from the stored results
(`reproduction/src/vicinal_reproduction/results/`). A test checks that they are up to date.
"""

TITLES = {"shown": "not judged", RIVAL: "baseline"}
"""Names of verdicts and kinds of method on the page, if they differ."""


def account_files(stores: Stores) -> dict[str, str]:
    """Return the content of the page and of the files next to it, by name."""
    found = {name: (paper, _figures(paper, stores)) for name, paper in PAPERS.items()}
    cells = [
        each
        for paper, figures in found.values()
        for table in paper.tables
        for each in plain(table, table_cells(paper, table, figures))
    ]
    variants = [each for pair in found.values() for each in _variant_cells(*pair)]
    points = [each for pair in found.values() for each in _points(*pair)]
    return {
        "reproduction.md": summary(stores),
        PAPERS_PAGE: account(stores),
        CELLS: _csv_text(cells),
        VARIANTS: _csv_text(variants),
        CURVES: _csv_text(points),
    }


def _csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as CSV; numbers have six digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow(
            {name: f"{x:.6g}" if isinstance(x, float) else x for name, x in row.items()}
        )
    return text.getvalue()


def summary(stores: Stores) -> str:
    """Return the page as Markdown."""
    every = {name: (paper, _figures(paper, stores)) for name, paper in PAPERS.items()}
    cells = {name: _cells(paper, figures) for name, (paper, figures) in every.items()}
    parts = [INTRODUCTION, "## Summary\n", _summary(cells), WORDS]
    parts += ["\n## With other interpretations of the papers\n"]
    for paper, figures in every.values():
        parts += [f"- {said}" for said in _otherwise(paper, figures)]
    parts += account_time((PAPERS[name], stores.of(name).read()) for name in PAPERS)
    return "\n".join(parts).rstrip() + "\n"


def account(stores: Stores) -> str:
    """Return what is reproduced of each paper as Markdown."""
    parts = [
        "# Reproduction, paper by paper\n\n[The summary](reproduction.md) explains the words. "
        f"[Every cell]({CELLS}) is listed with its reason."
    ]
    for paper in PAPERS.values():
        figures = _figures(paper, stores)
        parts += _paper(paper, figures, _cells(paper, figures))
    return "\n".join(parts).rstrip() + "\n"


def _figures(paper: Paper, stores: Stores) -> Figures:
    """Return the stored figures of a paper."""
    return figures_of(paper, stores.of(paper.name).read())


def _cells(paper: Paper, figures: Figures) -> list[Cell]:
    """Return the cells of all tables of a paper."""
    return [cell for table in paper.tables for cell in table_cells(paper, table, figures)]


def _summary(cells: dict[str, list[Cell]]) -> str:
    """Count the verdicts, one row per paper and kind of method."""
    rows = []
    for name, each in cells.items():
        for kind in (OWN, RIVAL):
            found = counts(each, kind)
            if found:
                rows.append([name, TITLES.get(kind, kind), *_counted(each, kind)])
    every = [cell for each in cells.values() for cell in each]
    rows.append(["**all**", OWN, *_counted(every, OWN)])
    shares = ["matched", "matched or explained"]
    return markdown_table(["paper", "methods", *_verdicts(), *shares], rows)


def _counted(cells: Iterable[Cell], kind: str) -> list[str]:
    """Return the numbers of a row of the summary: each verdict, and two shares."""
    of_kind = [cell for cell in cells if cell.kind == kind]
    found = counts(of_kind)
    return [
        *(str(found.get(verdict, 0) or "") for verdict in SHOWN),
        _share(of_kind),
        _share(of_kind, explained=True),
    ]


def _otherwise(paper: Paper, figures: Figures) -> Iterator[str]:
    """Yield the share of matched cells if a variant replaces the main experiment."""
    cells = {tuple(_place(cell)): cell for cell in _cells(paper, figures)}
    filled = list(filled_checks(paper, figures))
    for check in paper.checks:
        others = [each[3] for each in filled if each[0] == check]
        counted = check.listed if check.counted is None else check.counted
        if counted and others:
            replaced = {tuple(_place(cell)): cell for other in others for cell in other}
            own = [cell for cell in {**cells, **replaced}.values() if cell.kind == OWN]
            yield f"{paper.name}, if {check.what} (see its variants): {_share(own)} matched."


SHOWN = tuple(name for name in VERDICTS if name != "reduced")
"""The verdicts of stored results: the page has no reduced runs."""


def _verdicts() -> list[str]:
    """Return the names of the verdicts on the page."""
    return [TITLES.get(name, name) for name in SHOWN]


def _share(cells: Iterable[Cell], *, explained: bool = False) -> str:
    """Return the share of the judged cells that are matched, or matched or explained."""
    judged = [cell for cell in cells if cell.verdict in ("matched", "better", "worse")]
    good = sum(cell.verdict == "matched" or (explained and bool(cell.reason)) for cell in judged)
    return f"{good} of {len(judged)} ({good / len(judged):.1%})" if judged else "–"


def _paper(paper: Paper, figures: Figures, cells: Sequence[Cell]) -> Iterator[str]:
    """Yield the parts of a paper's section."""
    yield f"\n## {paper.name}: {paper.title}\n"
    for experiment in paper.experiments:
        yield f"- `{experiment.name}`: {experiment.what}."
    yield from (f"- {note}" for note in paper.notes)
    yield ""
    yield _by_table(paper, figures)
    for table in paper.tables:
        if table.notes:
            yield f"\nTable {table.name}: {' '.join(table.notes)}"
    yield from _differing(cells)
    yield from _checks(paper, figures)
    yield from _orders(paper, figures)
    if any(True for _ in _points(paper, figures)):
        drawn = [f"{curve.figure} ({curve.title}; {curve.metric})" for curve in paper.curves]
        yield f"\nFigures whose values are in [{CURVES}]({CURVES}): {', '.join(drawn)}."
    yield from _rank_tests(paper, figures)
    yield from _seconds(cells)
    yield from _not_run(cells)
    yield from _provenance(figures)


def _by_table(paper: Paper, figures: Figures) -> str:
    """Return the counts of each table."""
    rows = []
    for table in paper.tables:
        cells = table_cells(paper, table, figures)
        for kind in (OWN, RIVAL):
            found = counts(cells, kind)
            if found:
                numbers = [str(found.get(verdict, 0) or "") for verdict in SHOWN]
                rows.append([table.name, table.title, TITLES.get(kind, kind), *numbers])
    return markdown_table(["table", "title", "methods", *_verdicts()], rows)


def _differing(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield why cells differ, and the cells for which no reason is known."""
    for verdict, title in (
        ("worse", "Cells that are worse"),
        ("better", "Cells that are better by more than 10 %, or by less and explained"),
    ):
        differing = [cell for cell in cells if cell.verdict == verdict]
        listed = [cell for cell in differing if cell.needs_reason or cell.reason]
        if listed:
            without = sum(not cell.reason for cell in listed)
            yield f"\n{title}: {len(listed)}, of which {without} are unexplained.\n"
            by_reason = {cell.reason: list[Cell]() for cell in listed if cell.reason}
            for cell in listed:
                by_reason.setdefault(cell.reason, []).append(cell)
            for reason, each in by_reason.items():
                said = f"{reason[0].upper()}{reason[1:]}." if reason else "Unexplained"
                named = "" if reason else f": {_listed(each)}"
                yield f"- {said} ({len(each)} cell{'' if len(each) == 1 else 's'}{named})"


def _listed(cells: Sequence[Cell]) -> str:
    """Return the places of cells by table, method and data."""

    def place(cell: Cell) -> tuple[str, str]:
        return cell.reported.table, cell.reported.method

    groups = []
    for (table, method), each in groupby(sorted(cells, key=place), key=place):
        of_data: dict[str, list[str]] = {}
        for cell in each:
            of_data.setdefault(cell.reported.data, []).append(cell.reported.metric)
        of_metrics: dict[tuple[str, ...], list[str]] = {}
        for data, metrics in of_data.items():
            of_metrics.setdefault(tuple(metrics), []).append(data)
        named = (f"{', '.join(data)}: {', '.join(names)}" for names, data in of_metrics.items())
        groups.append(f"table {table}, {method} on {'; '.join(named)}")
    return ". ".join(groups)


def _place(cell: Cell) -> list[str]:
    """Return the table, data, method and metric of a cell."""
    return [cell.reported.table, cell.reported.data, cell.reported.method, cell.reported.metric]


def _checks(paper: Paper, figures: Figures) -> Iterator[str]:
    """Yield how many cells match with each variant."""
    rows = []
    for check, name, main, other in filled_checks(paper, figures):
        counted = [str(len(main)), _short(main), _short(other)]
        rows.append([name, check.experiment.partition("/")[2], check.what, *counted])
    if rows:
        yield "\nVariants: the same cells with one thing changed.\n"
        header = ["table", "experiment", "variant", "cells", "as above", "with the variant"]
        yield markdown_table(header, rows)


def _variant_cells(paper: Paper, figures: Figures) -> Iterator[dict[str, object]]:
    """Yield every cell of every variant, with the figures of the tables for comparison."""
    for check, table, main, other in filled_checks(paper, figures):
        for before, cell in zip(main, other, strict=True):
            place = dict(zip(("data", "method", "metric"), _place(cell)[1:], strict=True))
            yield {"experiment": check.experiment, "table": table, **place} | {
                "reported": cell.reported.value,
                "ours": before.ours,
                "variant": cell.ours,
                "std": cell.std,
                "verdict": before.verdict,
                "variant_verdict": cell.verdict,
            }


def _short(cells: Iterable[Cell]) -> str:
    """Return counts in a few words."""
    return ", ".join(f"{count} {TITLES.get(name, name)}" for name, count in counts(cells).items())


def _orders(paper: Paper, figures: Figures) -> Iterator[str]:
    """Yield how the partial orders compare."""
    rows = []
    for order in paper.orders:
        found = compare_order(paper, order, figures)
        sizes = (found.agreed, found.missing, found.reversed, found.further, found.not_run)
        rows.append([order.table, order.data, *(str(len(each) or "") for each in sizes)])
    if rows:
        yield "\nPartial orders (pairs where one method beats another, paired t-test at 5 %):\n"
        header = ["table", "data", "agreed", "not significant", "reversed", "only ours", "not run"]
        yield markdown_table(header, rows)


def _points(paper: Paper, figures: Figures) -> Iterator[dict[str, object]]:
    """Yield the values of the figures."""
    for curve in paper.curves:
        for data in curve.data:
            for method in curve.methods:
                for at, value in curve_points(curve, figures, data, method).items():
                    yield {
                        "paper": paper.name,
                        "figure": curve.figure,
                        "data": data,
                        "method": method,
                        "metric": curve.metric,
                        "setting": curve.setting,
                        "at": at,
                        "value": value,
                    }


def _rank_tests(paper: Paper, figures: Figures) -> Iterator[str]:
    """Yield mean ranks and the groups of methods that do not differ significantly."""
    for test in paper.rank_tests:
        found = rank_test(test, figures)
        if found is not None:
            result, data = found
            ranks = ", ".join(f"{name} {rank:.2f}" for name, rank in result.mean_ranks.items())
            alike = "; ".join(", ".join(group) for group in result.groups) or "none"
            yield (
                f"\nFigure {test.figure}: {test.title}, on {', '.join(data)}: {ranks}. Critical "
                f"difference {result.critical_difference:.2f} (α = {test.alpha}); Friedman p = "
                f"{result.p_chi2:.2g}. Not significantly different: {alike}."
            )


def _seconds(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield how our run times compare with the paper's."""
    ratios = [
        cell.reported.value / max(cell.ours, 1e-9)
        for cell in cells
        if cell.reported.metric == "seconds" and cell.ours is not None
    ]
    if ratios:
        yield (
            "\nSeconds: the paper’s are wall-clock times on 8 or 20 cores, ours processor times: "
            f"the paper’s are {min(ratios):.3g} to {max(ratios):.3g} times ours, with a median of "
            f"{median(ratios):.3g} over {len(ratios)} cells."
        )


def _not_run(cells: Sequence[Cell]) -> Iterator[str]:
    """Yield what is missing, by table and method."""
    for verdict, said in (("no data", "No data"), ("not run", "Not run yet")):
        missing = [cell for cell in cells if cell.verdict == verdict]
        if missing:

            def group(cell: Cell) -> tuple[str, str]:
                return cell.reported.table, cell.reported.method

            listed = [
                f"table {table} {method} ({_data_of(each)})"
                for (table, method), each in groupby(sorted(missing, key=group), key=group)
            ]
            yield f"\n{said}: {'; '.join(listed)}."


def _data_of(cells: Iterable[Cell]) -> str:
    """Return the distinct data sets of cells."""
    return ", ".join(dict.fromkeys(cell.reported.data for cell in cells))


def _provenance(figures: Figures) -> Iterator[str]:
    """Yield the machines and versions of the results."""
    named = ("cpu", "cores", "python", "numpy", "scikit-learn", "vicinal")
    found = {
        ", ".join(
            f"{name} {result.provenance[name]}" for name in named if name in result.provenance
        )
        for result in figures.results
        if result.provenance
    }
    if found:
        yield f"\nRun with: {'; '.join(sorted(found))}."
