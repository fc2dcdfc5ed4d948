"""A metric against the threshold, on the leave-one-out scores of the training rows."""

import os
from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Csr, Float
from vicinal._base.validation import check_integer
from vicinal.decision import FittedDecision, FittedNeverEmpty, Threshold
from vicinal.estimators import NeighborEstimator
from vicinal.estimators.calibration import training_scores
from vicinal.metrics import evaluate, metric_info
from vicinal.scores import Scores
from vicinal.selection.plots import ARROWS, INK


@dataclass(frozen=True, eq=False)
class ThresholdCurve:
    """The value of a metric at each threshold.

    Parameters
    ----------
    metric : str
    thresholds, values : ndarray of float64
    chosen : float or None
        The threshold that a fitted rule uses, if it is one threshold for all labels.
    """

    metric: str
    thresholds: Float
    values: Float
    chosen: float | None = None


def threshold_curve(
    scores: Scores, Y: Csr, metric: str, rule: FittedDecision | None = None, n_points: int = 101
) -> ThresholdCurve:
    """Return a metric of the labels that score more than t, for evenly spaced t.

    Parameters
    ----------
    scores : Scores
        Leave-one-out scores of the training rows.
    Y : csr_array
        Their labels.
    metric : str
        A metric of predicted label sets.
    rule : FittedDecision, optional
        The rule in use. Its threshold is marked; if it gives every row at least one label, so does
        the curve.
    n_points : int

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.8, 0.4], [0.6, 0.0]]))
    >>> curve = threshold_curve(scores, Y, "micro-precision", Threshold(0.5), n_points=3)
    >>> curve.thresholds, curve.values, curve.chosen
    (array([0. , 0.4, 0.8]), array([0.66666667, 1.        , 0.        ]), 0.5)
    """
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
    stored = (
        values.ravel() if isinstance(values, np.ndarray) else np.append(values.data, scores.base)
    )
    return float(stored.min(initial=0.0)), float(stored.max(initial=0.0))
