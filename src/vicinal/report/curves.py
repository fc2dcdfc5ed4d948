"""Precision-recall, ROC and reliability curves of one or several methods."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from vicinal._core.arrays import Float
from vicinal.errors import InvalidArgumentError
from vicinal.metrics import reliability
from vicinal.metrics._sums import check_ranking, check_truth
from vicinal.metrics.auc import tallied

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_POINTS = 2000
"""Points of a curve that are drawn; the areas in the legend use all of them."""

QUIET = "#9a9a9a"


def pooled_curve(Y_true: object, scores: object) -> tuple[Float, Float, Float]:
    """Return precision, recall and false positive rate at each threshold, from high to low."""
    truth = check_truth(Y_true)
    _, true, false = tallied(truth, check_ranking(scores, truth)).pooled_counts()
    n_true, n_false = np.cumsum(true[::-1]), np.cumsum(false[::-1])
    if not n_true[-1] or not n_false[-1]:
        raise InvalidArgumentError("Y_true", "true and false cells", "only one of them")
    return n_true / (n_true + n_false), n_true / n_true[-1], n_false / n_false[-1]


def plot_curves(
    methods: Mapping[str, tuple[object, object]], path: str | os.PathLike[str], title: str = ""
) -> None:
    """Draw precision against recall, ROC and reliability; the file extension sets the format."""
    from matplotlib.figure import Figure

    if not methods:
        raise InvalidArgumentError("methods", "at least one method", "none")
    figure = Figure(figsize=(13.0, 4.4), layout="constrained")
    first, second, third = figure.subplots(1, 3)
    for number, (name, (Y_true, scores)) in enumerate(methods.items()):
        style = name, f"C{number}"
        precision, recall, false_rate = pooled_curve(Y_true, scores)
        _draw_some(first, recall, precision, style)
        _draw_some(second, np.append(0.0, false_rate), np.append(0.0, recall), style)
        predicted, true, cells = reliability(Y_true, scores)
        third.plot(
            predicted[cells > 0], true[cells > 0], "o-", markersize=4, label=name, color=style[1]
        )
    for axes in (second, third):
        axes.plot([0, 1], [0, 1], color=QUIET, linewidth=0.8, linestyle="--")
    for axes, (x, y) in zip((first, second, third), AXES, strict=True):
        axes.set(xlabel=x, ylabel=y, xlim=(0, 1), ylim=(0, 1.02))
        axes.grid(alpha=0.25)
    first.legend(frameon=False, fontsize=8)
    if title:
        figure.suptitle(title)
    figure.savefig(path, dpi=150)


AXES = (
    ("recall", "precision"),
    ("false positive rate", "recall"),
    ("mean score", "share of true labels"),
)


def _draw_some(axes: "Axes", x: Float, y: Float, style: tuple[str, str]) -> None:
    """Draw a curve with a limited number of points."""
    some = np.unique(np.linspace(0, len(x) - 1, min(len(x), MOST_POINTS)).astype(np.int64))
    axes.plot(x[some], y[some], label=style[0], color=style[1])
