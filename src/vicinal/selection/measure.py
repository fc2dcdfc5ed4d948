"""Every metric of every setting of a method on one fold."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Csr, Float
from vicinal.decision import FittedDecision
from vicinal.estimators import NeighborEstimator
from vicinal.estimators.stages import decision_of, k_fold_scores, needs_scores, neighbors_of
from vicinal.metrics import evaluate, metric_info
from vicinal.scores import Scores
from vicinal.selection.fold_data import Fold
from vicinal.selection.grid import Grid, Position
from vicinal.selection.lcif_sweep import lcif_swept
from vicinal.selection.sweeps import Scored, swept


@dataclass(frozen=True)
class Metrics:
    """Metrics by what they need: predicted sets or a ranking.

    Examples
    --------
    >>> Metrics(("one-error", "micro-f1")).labels
    ['micro-f1']
    """

    names: tuple[str, ...]

    @property
    def labels(self) -> list[str]:
        """Those of predicted sets."""
        return [name for name in self.names if metric_info(name).needs == "labels"]

    @property
    def scores(self) -> list[str]:
        """Those of a ranking."""
        return [name for name in self.names if metric_info(name).needs == "scores"]

    def values(self, found: dict[str, float]) -> Float:
        """Return values in the order of the names."""
        return np.array([found[name] for name in self.names])


def measure(
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    metrics: Metrics,
    n_jobs: int | None = None,
) -> dict[Position, Float]:
    """Return the metrics of each setting: fitted on the fold's training rows, tested on the rest.

    Each equals what :func:`vicinal.metrics.evaluate` says of the estimator fitted afresh.
    """
    rules_look = any(needs_scores(decision_of(grid.estimator(each))) for each in positions)
    with_training = bool(metrics.labels) and rules_look
    found: dict[Position, Float] = {}
    sweep = lcif_swept if grid.method == "lcif" else swept
    for scored in sweep(grid, positions, fold, with_training):
        found.update(measured(grid, scored, fold, metrics, n_jobs))
    return found


def measured(
    grid: Grid, scored: Scored, fold: Fold, metrics: Metrics, n_jobs: int | None
) -> dict[Position, Float]:
    """Return the metrics of settings that share their scores: rankings are measured once."""
    ranked = ranking_values(scored.held_out, fold, metrics, n_jobs)
    found = {}
    for position in scored.positions:
        values = dict(ranked)
        if metrics.labels:
            labels = decided(grid.estimator(position), scored, fold)
            values |= evaluate(fold.Y, labels, metrics=metrics.labels, n_jobs=n_jobs)
        found[position] = metrics.values(values)
    return found


def ranking_values(
    held_out: Scores, fold: Fold, metrics: Metrics, n_jobs: int | None
) -> dict[str, float]:
    """Return the metrics that need a ranking."""
    if not metrics.scores:
        return {}
    weighs = any(metric_info(name).needs_counts for name in metrics.scores)
    return evaluate(
        fold.Y,
        scores=held_out,
        metrics=metrics.scores,
        train_label_counts=fold.training.Y if weighs else None,
        n_jobs=n_jobs,
    )


def decided(model: NeighborEstimator, scored: Scored, fold: Fold) -> Csr:
    """Return the labels that an estimator's rule, fitted on the training rows, predicts."""
    rule = decision_of(model)
    if isinstance(rule, FittedDecision):
        return rule.decide(scored.held_out)
    scores = k_fold_scores(model, fold.training, neighbors_of(model))
    if scores is None:
        # A rule that looks at no scores is fitted all the same: it may look at the labels.
        scores = scored.held_out if scored.training is None else scored.training
    return rule.fit(scores, fold.training.Y).decide(scored.held_out)
