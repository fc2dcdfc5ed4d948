"""Label by label: which labels the best method finds, and which it misses."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from vicinal._base.markup import clean
from vicinal.report.blocks import Block, Details, Grid, Paragraph, Section
from vicinal.report.cells import Cell, mark_best
from vicinal.report.figure import PlotFigure
from vicinal.report.palette import FAINT, INK, QUIET, SERIES
from vicinal.report.table import Column, DataTable, Row
from vicinal.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

EACH = 8
"""How many of the best and of the worst labels are drawn."""
MOST_ROWS = 60
"""How many labels the table lists; if there are more, only the best and worst."""
LONGEST = 28
"""Maximum length of a label's name in a figure."""


class Label(NamedTuple):
    """A label and how well a method finds it."""

    name: str
    rows: int
    f1: float


def labels_section(results: Sequence[Result], methods: Sequence[str]) -> Section | None:
    """Return bars of the best and worst labels of each data set, and tables of all methods."""
    first = {(each.data, each.method): each for each in reversed(results) if each.per_label}
    figures: list[Block] = []
    tables: list[Block] = []
    for data in dict.fromkeys(result.data for result in results):
        known = [first[data, method] for method in methods if (data, method) in first]
        if known:
            figures.append(_figure(data, known[0]))
            tables.append(Details(f"{data}: every method", [_table(data, known)]))
    if not figures:
        return None
    seed = next(iter(first.values())).seed
    text = (
        "F1 of single labels over the test rows of all folds together"
        f"{'' if seed is None else f' (seed {seed})'}, by the best-ranked method, for the labels "
        "it finds best and worst; the number in brackets is how many rows have the label."
    )
    return Section("Labels", [Paragraph(text), Grid(figures), *tables])


def ranked_labels(result: Result) -> list[Label]:
    """Return the labels that occur, best first; ties are sorted by descending frequency."""
    each = zip(result.label_names, result.per_label["rows"], result.per_label["f1"], strict=True)
    known = [Label(name, int(rows), f1) for name, rows, f1 in each if not math.isnan(f1)]
    return sorted(known, key=lambda label: (-label.f1, -label.rows))


def ends(labels: Sequence[Label], each: int) -> list[Label]:
    """Return the best and worst labels, or all if there are few."""
    return list(labels) if len(labels) <= 2 * each else [*labels[:each], *labels[-each:]]


def _figure(data: str, result: Result) -> PlotFigure:
    """Return the bars of one data set."""
    labels = ranked_labels(result)
    shown = ends(labels, EACH)
    part = f"the best and worst {EACH} of {len(labels)}" if len(shown) < len(labels) else "all"
    said = ", ".join(f"{label.name} {label.f1:.2f}" for label in shown)
    return PlotFigure(
        bar_figure(shown, cut=len(shown) < len(labels)),
        f"{data}: F1 of labels by {result.method}, {part}",
        f"F1 of labels of {data} by {result.method}: {said}.",
    )


def bar_figure(labels: Sequence[Label], *, cut: bool) -> "Figure":
    """Draw one bar per label, best at the top, with a gap where labels are omitted."""
    # Imported when used: matplotlib would double the time that importing the package takes.
    from matplotlib.figure import Figure

    places = [at + (1 if cut and at >= EACH else 0) for at in range(len(labels))]
    figure = Figure(figsize=(4.4, 0.24 * (max(places, default=0) + 2.5)))
    axes = figure.add_subplot()
    axes.barh(places, [label.f1 for label in labels], height=0.72, color=SERIES[0])
    for place, label in zip(places, labels, strict=True):
        axes.text(label.f1 + 0.015, place, f"{label.f1:.2f}", va="center", fontsize=8, color=INK)
    if cut:
        axes.text(0, EACH, "⋮", va="center", ha="center", fontsize=9, color=QUIET)
    names = [_short(label) for label in labels]
    axes.set_yticks(places, names, fontsize=8, color=INK, parse_math=False)
    axes.set(xlim=(0, 1.12), ylim=(max(places, default=0) + 0.6, -0.6), xticks=[0, 0.5, 1])
    axes.tick_params(axis="x", labelsize=8, labelcolor=QUIET, color=FAINT)
    axes.tick_params(axis="y", length=0)
    for side in ("top", "right", "bottom"):
        axes.spines[side].set_visible(False)
    axes.spines["left"].set_color(QUIET)
    return figure


def _short(label: Label) -> str:
    """Return a label's name, shortened to fit next to a bar, with its number of rows."""
    name = " ".join(clean(label.name).split())
    name = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    return f"{name} ({label.rows:,})"


def _table(data: str, known: Sequence[Result]) -> DataTable:
    """Return the F1 of labels for every method, sorted by the first method."""
    shown = ends(ranked_labels(known[0]), MOST_ROWS // 2)
    place = {name: at for at, name in enumerate(known[0].label_names)}
    rows: list[Row] = []
    for label in shown:
        values = [Cell(each.per_label["f1"][place[label.name]]) for each in known]
        rows.append([label.name, Cell(label.rows, f"{label.rows:,}"), *mark_best(values, "high")])
    columns = [Column("label"), Column("rows"), *(Column(each.method) for each in known)]
    return DataTable(f"F1 of labels of {data}", columns, rows)
