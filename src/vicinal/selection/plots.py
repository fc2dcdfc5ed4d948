"""Plots of tuning results: a metric against k, and over λ and k."""

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal._core.arrays import Csr, Float, Int
from vicinal._core.checks import check_integer
from vicinal.decision import FittedDecision, FittedNeverEmpty, Threshold
from vicinal.errors import InvalidArgumentError
from vicinal.methods import NeighborEstimator
from vicinal.methods.training import training_scores
from vicinal.metrics import evaluate, metric_info
from vicinal.scores import Scores
from vicinal.selection.tuning_table import TuningTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes


INK, QUIET, BAR = "#1a1a1a", "#6b6b6b", "#b3401f"
NEIGHBORS = ("n_neighbors", "n_neighbors_instance")
ARROWS = {"low": "lower is better", "high": "higher is better", "none": ""}


def plot_neighbors(table: TuningTable, metric: str, path: str | os.PathLike[str]) -> None:
    """Plot a metric against k, one curve per method; the file extension sets the format."""
    # Imported when used: matplotlib would double the time that importing the package takes.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    drawn = [_curve(axes, table, method, metric) for method in dict.fromkeys(table.methods)]
    if not any(drawn):
        raise InvalidArgumentError("table", "settings with different k", "none")
    best = table.best_row(metric)
    name = None if best is None else _neighbors_name(table.params[best])
    if best is not None and name is not None:
        at = _number(table.params[best][name]), float(table.mean(metric)[best])
        axes.plot(*at, "o", markersize=13, markerfacecolor="none", color=INK, label="chosen")
    axes.set_xlabel("k")
    axes.set_ylabel(f"{metric} ({ARROWS[metric_info(metric).better]})")
    over = "best value over each method's other parameters"
    axes.set_title(f"Mean of {table.done.shape[1]} folds, {over}")
    axes.grid(alpha=0.25)
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=150)


def plot_mixing(table: TuningTable, metric: str, path: str | os.PathLike[str]) -> None:
    """Plot a metric of LCIF over λ and each of the two k."""
    from matplotlib.figure import Figure

    rows = _rows_of(table, "lcif")
    if not len(rows) or "mixing" not in table.params[rows[0]]:
        raise InvalidArgumentError("table", "settings of lcif with different mixing", "none")
    figure = Figure(figsize=(10.0, 4.5), layout="constrained")
    panels = figure.subplots(1, 2)
    names = ("n_neighbors_instance", "n_neighbors_feature")
    cells = [_cells(table, metric, rows, "mixing", name) for name in names]
    known = np.concatenate([values.ravel() for _, _, values, _ in cells])
    limits = float(np.nanmin(known)), float(np.nanmax(known))
    for axes, name, panel in zip(panels, names, cells, strict=True):
        image = _heat_map(axes, name, panel, limits, metric)
    over = "best value over the parameter not shown"
    figure.suptitle(f"LCIF, mean of {table.done.shape[1]} folds, {over}")
    figure.colorbar(image, ax=panels, label=f"{metric} ({ARROWS[metric_info(metric).better]})")
    figure.savefig(path, dpi=150)


def _curve(axes: "Axes", table: TuningTable, method: str, metric: str) -> bool:
    """Draw the curve of a method; return False if its k does not vary."""
    rows = _rows_of(table, method)
    name = _neighbors_name(table.params[rows[0]])
    if name is None:
        return False
    found: dict[Any, int] = {}
    for k in sorted({table.params[row][name] for row in rows}, key=float):
        best = table.best_row(metric, [row for row in rows if table.params[row][name] == k])
        if best is not None:
            found[k] = best
    if not found:
        return False
    ks, tops = list(found), np.array(list(found.values()))
    means, spread = table.mean(metric)[tops], table.std(metric)[tops]
    (line,) = axes.plot(ks, means, label=method, linewidth=1.5)
    axes.fill_between(ks, means - spread, means + spread, color=line.get_color(), alpha=0.1)
    sign = 1 if metric_info(metric).better == "low" else -1
    top = int(np.argmin(sign * means))
    axes.plot(ks[top], means[top], "o", markersize=6, color=line.get_color())
    return True


def _cells(
    table: TuningTable, metric: str, rows: Int, down: str, across: str
) -> tuple[list[Any], list[Any], Float, tuple[int, int] | None]:
    """Return the values of two axes, the best mean of each cell, and where the best cell is."""
    downs = sorted({table.params[row].get(down) for row in rows}, key=_number)
    acrosses = sorted({table.params[row].get(across) for row in rows}, key=_number)
    values = np.full((len(downs), len(acrosses)), np.nan)
    means, low = table.mean(metric), metric_info(metric).better == "low"
    better = np.fmin if low else np.fmax
    cells = {
        row: (downs.index(params.get(down)), acrosses.index(params.get(across)))
        for row, params in ((row, table.params[row]) for row in rows.tolist())
    }
    for row, cell in cells.items():
        values[cell] = better(values[cell], means[row])
    best = table.best_row(metric, rows.tolist())
    return downs, acrosses, values, None if best is None else cells[best]


def _heat_map(
    axes: "Axes",
    name: str,
    panel: tuple[list[Any], list[Any], Float, tuple[int, int] | None],
    limits: tuple[float, float],
    metric: str,
) -> Any:
    """Draw one map: λ upwards, k to the right."""
    downs, acrosses, values, best = panel
    colours = "viridis_r" if metric_info(metric).better == "low" else "viridis"
    low, high = limits
    image = axes.imshow(values, origin="lower", aspect="auto", cmap=colours, vmin=low, vmax=high)
    axes.set_xticks(range(len(acrosses)), [f"{each:g}" for each in map(_number, acrosses)])
    axes.set_yticks(range(len(downs)), [f"{each:g}" for each in map(_number, downs)])
    axes.set_xlabel("k of instances" if name == "n_neighbors_instance" else "k of features")
    axes.set_ylabel("λ (share of the instance part)")
    if best is not None:
        axes.plot(best[1], best[0], "o", markersize=13, markerfacecolor="none", color="white")
        axes.plot(best[1], best[0], "o", markersize=15, markerfacecolor="none", color=INK)
    return image


def _rows_of(table: TuningTable, method: str) -> Int:
    """Return the settings of a method."""
    return np.flatnonzero(np.array(table.methods) == method)


def _neighbors_name(params: Any) -> str | None:
    """Return the name of a method's k, or None if it was not tuned."""
    return next((name for name in NEIGHBORS if name in params), None)


def _number(value: Any) -> float:
    """Return a parameter as a number to sort by; NaN if it was not tuned."""
    return float("nan") if value is None else float(value)


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """The value of a metric at each threshold."""

    metric: str
    thresholds: Float
    values: Float
    chosen: float | None = None


def threshold_curve(
    scores: Scores, Y: Csr, metric: str, rule: FittedDecision | None = None, n_points: int = 101
) -> ThresholdCurve:
    """Return a metric of the labels that score more than t, for evenly spaced t."""
    points = np.linspace(*_range(scores), check_integer("n_points", n_points, low=2))
    inner = rule.rule if isinstance(rule, FittedNeverEmpty) else rule
    values = np.empty(len(points))
    for place, t in enumerate(points):
        decide: FittedDecision = Threshold(float(t))
        if isinstance(rule, FittedNeverEmpty):
            decide = FittedNeverEmpty(decide, rule.label_when_all_zero)
        values[place] = evaluate(Y, decide.decide(scores), metrics=metric)[metric]
    chosen = float(inner.value) if isinstance(inner, Threshold) else None
    return ThresholdCurve(metric, points, values, chosen)


def plot_threshold(
    model: NeighborEstimator, metric: str, path: str | os.PathLike[str], n_points: int = 101
) -> None:
    """Plot the curve of a fitted model and mark the threshold it uses."""
    from matplotlib.figure import Figure

    model = model.as_fitted()
    rule = model.decision_
    curve = threshold_curve(training_scores(model), model.scoring_.Y, metric, rule, n_points)
    figure = Figure(figsize=(7.0, 4.5), layout="constrained")
    axes = figure.add_subplot()
    axes.plot(curve.thresholds, curve.values, linewidth=1.5, color="#1f77b4")
    if curve.chosen is not None:
        label = f"threshold in use, {curve.chosen:.3g}"
        axes.axvline(curve.chosen, color=INK, linewidth=1, linestyle="--", label=label)
        axes.legend(frameon=False)
    axes.set_xlabel("threshold (labels with a higher score are predicted)")
    axes.set_ylabel(f"{metric} ({ARROWS[metric_info(metric).better]})")
    axes.set_title(f"{type(model).__name__} on its training rows, leave-one-out")
    axes.grid(alpha=0.25)
    figure.savefig(path, dpi=150)


def _range(scores: Scores) -> tuple[float, float]:
    """Return the lowest and the highest score."""
    values = scores.values
    dense = values if isinstance(values, np.ndarray) else np.append(values.data, scores.base)
    return float(dense.min(initial=0.0)), float(dense.max(initial=0.0))
