"""A metric against the number of neighbours, if there are results for several k."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from vicinal._base.markup import clean
from vicinal.comparison.ranking import marks_of
from vicinal.metrics import metric_info
from vicinal.report.blocks import Block, Grid, Paragraph, Section
from vicinal.report.compared.words import metric_title
from vicinal.report.figure import PlotFigure
from vicinal.report.palette import FAINT, INK, MARKERS, QUIET, SERIES
from vicinal.results import Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NEIGHBORS = ("n_neighbors", "n_neighbors_instance")
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
    """Return the curves in the results: the same method and settings with several k.

    Examples
    --------
    >>> results = [
    ...     Result("compare", "yeast", f"k={k}", {"micro-f1": (v,)}, {"n_neighbors": k})
    ...     for k, v in ((5, 0.6), (1, 0.5))
    ... ]
    >>> dict(k_curves(results, "micro-f1")[0].points)
    {1: 0.5, 5: 0.6}
    """
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
    return Section("Neighbours", [Paragraph(CURVES_TEXT), Grid(figures)])


def curve_figure(curves: Sequence[Curve]) -> "Figure":
    """Draw the curves of one metric and data set."""
    # Imported when used: matplotlib would double the time that importing the package takes.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.8, 3.0))
    axes = figure.add_subplot()
    for at, curve in enumerate(curves):
        color, marker = SERIES[at % len(SERIES)], MARKERS[at % len(MARKERS)]
        ks, values = list(curve.points), list(curve.points.values())
        axes.plot(
            ks,
            values,
            color=color,
            marker=marker,
            markersize=4,
            linewidth=1.4,
            label=clean(curve.method),
        )
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
    """Return the common part of the names of one method at several k.

    Examples
    --------
    >>> _family_name(["mlknn k=5", "mlknn k=10"]), _family_name(["5", "10"])
    ('mlknn', '5, 10')
    """
    words = [name.split() for name in methods]
    shared = [word for word in words[0] if all(word in each for each in words)]
    return " ".join(shared) or ", ".join(methods)
