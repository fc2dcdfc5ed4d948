"""A metric against the number of neighbours, if there are results for several k."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from vicinal._core.html import clean
from vicinal.comparison.method_ranking import marks_of
from vicinal.metrics import metric_info
from vicinal.report.page import (
    FAINT,
    MARKERS,
    SERIES,
    Block,
    Details,
    Facts,
    PageGrid,
    Paragraph,
    PlotFigure,
    Section,
)
from vicinal.report.sortable_table import Cell, Column, DataTable, Row, mark_best
from vicinal.results import Result
from vicinal.selection.plots import INK, NEIGHBORS, QUIET

if TYPE_CHECKING:
    from matplotlib.figure import Figure


ARROWS = {"low": "\N{NO-BREAK SPACE}↓", "high": "\N{NO-BREAK SPACE}↑", "none": ""}
COUNTS = ("coverage", "cardinality")
"""Metrics that count labels, for which two decimals are enough."""


def listed(names: Sequence[str]) -> str:
    """Return names as a list in running text."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def counted(number: int, thing: str) -> str:
    """Return a number and a noun, with a plural s if needed."""
    return f"{number:,} {thing}{'' if number == 1 else 's'}"


def probability(p: float) -> str:
    """Return a probability as papers print it."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def metric_title(metric: str) -> str:
    r"""Return a metric's name with an arrow in the direction that is better."""
    return metric + ARROWS[metric_info(metric).better]


def metric_form(metric: str) -> str:
    """Return the format of a metric's values."""
    return ".2f" if metric in COUNTS else ".3f"


CURVES_TEXT = (
    "Mean over folds against the number of neighbours k; a ring marks the best k of each method."
)


@dataclass(frozen=True)
class Curve:
    """Values of a metric for increasing k, of one method on one data set."""

    data: str
    metric: str
    method: str
    points: Mapping[int, float]


def k_curves(results: Sequence[Result], metric: str) -> list[Curve]:
    """Return the curves in the results: the same method and settings with several k."""
    marks = marks_of(results, metric)
    families: dict[tuple[str, str], dict[int, str]] = {}
    for result in results:
        k = next((result.settings[n] for n in NEIGHBORS if n in result.settings), None)
        if isinstance(k, int) and (result.data, result.method) in marks:
            others = {n: v for n, v in result.settings.items() if n not in NEIGHBORS}
            family = (result.data, repr(sorted(others.items())))
            families.setdefault(family, {})[k] = result.method
    curves = []
    for (data, _), methods in families.items():
        if len(methods) > 1:
            points = {k: marks[data, methods[k]].mean for k in sorted(methods)}
            curves.append(Curve(data, metric, _family_name(list(methods.values())), points))
    return curves


def curves_section(curves: Sequence[Curve]) -> Section | None:
    """Return a figure for each metric and data set."""
    groups: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        groups.setdefault((curve.metric, curve.data), []).append(curve)
    if not groups:
        return None
    figures: list[Block] = [
        PlotFigure(curve_figure(each), f"{data}: {metric_title(metric)} against k", _describe(each))
        for (metric, data), each in groups.items()
    ]
    return Section("Neighbours", [Paragraph(CURVES_TEXT), PageGrid(figures)])


def curve_figure(curves: Sequence[Curve]) -> "Figure":
    """Draw the curves of one metric and data set."""
    # Imported when used: matplotlib would double the time that importing the package takes.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 3.0))
    axes = figure.add_subplot()
    for at, curve in enumerate(curves):
        color, marker = SERIES[at % len(SERIES)], MARKERS[at % len(MARKERS)]
        ks, values = list(curve.points), list(curve.points.values())
        (line,) = axes.plot(ks, values, marker=marker, color=color, label=clean(curve.method))
        line.set(markersize=4, linewidth=1.4)
        best = best_k(curve)
        axes.plot([best], [curve.points[best]], "o", markersize=11, fillstyle="none", color=color)
    axes.set_xlabel("k", color=INK, fontsize=9)
    axes.tick_params(labelsize=8, labelcolor=QUIET, color=FAINT)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(QUIET)
    legend = axes.legend(fontsize=8, frameon=False, labelcolor=INK)
    for text in legend.get_texts():
        text.set_parse_math(False)
    return figure


def best_k(curve: Curve) -> int:
    """Return the k with the best value; the smallest k wins ties."""
    sign = -1 if metric_info(curve.metric).better == "high" else 1
    return min(curve.points, key=lambda k: (sign * curve.points[k], k))


def _describe(curves: Sequence[Curve]) -> str:
    """Describe the curves in words."""
    return " ".join(
        f"{curve.method}: " + ", ".join(f"k {k} {v:.3f}" for k, v in curve.points.items()) + "."
        for curve in curves
    )


def _family_name(methods: Sequence[str]) -> str:
    """Return the common part of the names of one method at several k."""
    words = [name.split() for name in methods]
    shared = [word for word in words[0] if all(word in each for each in words)]
    return " ".join(shared) or ", ".join(methods)


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
    return Section("Labels", [Paragraph(text), PageGrid(figures), *tables])


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


ORIGIN_TEXT = (
    "Everything on this page was generated from stored results and can be regenerated from them."
)


def origin_section(results: Sequence[Result], methods: Sequence[str]) -> Section:
    """Return the provenance of the results."""
    settings = _settings(results, methods)
    data = dict.fromkeys((result.data, result.provenance.get("data", "–")) for result in results)
    return Section(
        "Provenance",
        [
            Paragraph(ORIGIN_TEXT),
            Facts(_run_facts(results)),
            DataTable("Settings of the methods", ["method", "settings"], settings),
            DataTable("Data sets", ["data set", "SHA-256, first 16 digits"], list(data)),
        ],
    )


def _run_facts(results: Sequence[Result]) -> dict[str, str]:
    """Return the provenance of all data sets; if results differ, all values are listed."""
    facts: dict[str, dict[str, None]] = {}
    for result in results:
        for name, value in result.provenance.items():
            facts.setdefault(name, {})[value] = None
    return {name: "; ".join(values) for name, values in facts.items() if name != "data"}


def _settings(results: Sequence[Result], methods: Sequence[str]) -> list[tuple[str, str]]:
    """Return the settings of each method, per data set and seed if they differ."""
    rows = []
    for method in methods:
        of_method = [result for result in results if result.method == method]
        said = {_said(result) for result in of_method}
        if len(said) == 1:
            rows.append((method, said.pop()))
        else:
            for each in of_method:
                seed = "" if each.seed is None else f", seed {each.seed}"
                rows.append((f"{method}, {each.data}{seed}", _said(each)))
    return rows


def _said(result: Result) -> str:
    """Return settings, and the note, as text."""
    settings = ", ".join(f"{name}={value}" for name, value in result.settings.items())
    return "; ".join(filter(None, [settings, result.note])) or "–"


TIMES_TEXT = (
    "Seconds over all folds and seeds, as measured on the machine named below. Methods with the "
    "same distance share one search per fold: its time is listed for each of them but was spent "
    "only once. Fit and predict times are each method's own."
)


def times_section(results: Sequence[Result], methods: Sequence[str]) -> Section:
    """Return the seconds of each method, in total and per data set."""
    data = list(dict.fromkeys(result.data for result in results))
    spent = {m: [_seconds(results, m, ("fit", "predict"), d) for d in data] for m in methods}
    totals = {m: sum(seconds or 0.0 for seconds in spent[m]) for m in methods}
    order = sorted(methods, key=lambda method: totals[method])
    columns = [
        Column("method"),
        Column("search, shared", ".2f"),
        Column("fit + predict", ".2f", better="low"),
        *(Column(name, ".2f", better="low", group="fit + predict") for name in data),
    ]
    rows = [
        (method, _seconds(results, method, ("search",)), totals[method], *spent[method])
        for method in order
    ]
    table = DataTable("Seconds by method, fastest first", columns, rows)
    return Section("Times", [Paragraph(TIMES_TEXT), table])


def _seconds(
    results: Sequence[Result], method: str, steps: Sequence[str], data: str | None = None
) -> float | None:
    """Return the seconds of some steps of a method, on a data set or on all; None without any."""
    known = [
        result.seconds[step]
        for result in results
        if result.method == method and data in (None, result.data)
        for step in steps
        if step in result.seconds
    ]
    return sum(known) if known else None
