"""Every metric of every setting of a method on one fold."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from vicinal._base.arrays import Csr, Float
from vicinal._base.progress import Advance, unseen
from vicinal.decision.rule import is_fitted, needs_of
from vicinal.estimators import NeighborEstimator
from vicinal.estimators.answers import answers_on, fit_on
from vicinal.estimators.calibration import k_fold_scores
from vicinal.estimators.fold import Fold
from vicinal.metrics.inputs import check_labels, check_ranking
from vicinal.selection.grid import Grid, Position
from vicinal.selection.meter import Meter, Metrics
from vicinal.selection.sweeps import Scored

Sweep: TypeAlias = Callable[[Grid, Sequence[Position], Fold, bool], Iterator[Scored]]


def measure_sweep(
    sweep: Sweep,
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    metrics: Metrics,
    n_jobs: int | None = None,
    advance: Advance = unseen,
) -> dict[Position, Float]:
    """Return the metrics of each setting, fitted on a fold's training rows, tested on the rest.

    Each value equals :func:`vicinal.metrics.evaluate` of a newly fitted estimator.

    Parameters
    ----------
    sweep : callable
        How the method scores its settings.
    grid, positions
        The method, and which of its settings.
    fold : Fold
    metrics : Metrics
    n_jobs : int or None
    advance : callable
        Called with the number of settings just evaluated.

    Returns
    -------
    dict of setting to ndarray of float64
        Values in the order of the metrics.
    """
    found: dict[Position, Float] = {}
    if not metrics.names:
        advance(len(positions))
        return {position: np.empty(0) for position in positions}
    rules = (grid.estimator(position).decision_rule() for position in positions)
    with_training = bool(metrics.labels) and any(needs_of(rule).needs_scores for rule in rules)
    meter = Meter(fold, metrics, n_jobs)
    for scored in sweep(grid, positions, fold, with_training):
        found.update(measured(grid, scored, fold, meter))
        advance(len(scored.positions))
    return found


def measured(grid: Grid, scored: Scored, fold: Fold, meter: Meter) -> dict[Position, Float]:
    """Return the metrics of settings that share their scores; ranking metrics are computed once."""
    ranked = meter.of_scores(scored.held_out)
    found = {}
    for position in scored.positions:
        values = dict(ranked)
        if meter.metrics.labels:
            values |= meter.of_labels(decided(grid.estimator(position), scored, fold))
        found[position] = meter.metrics.values(values)
    return found


def decided(model: NeighborEstimator, scored: Scored, fold: Fold) -> Csr:
    """Return the labels that an estimator's rule, fitted on the training rows, predicts."""
    rule = model.decision_rule()
    if is_fitted(rule):
        return rule.decide(scored.held_out)
    n_folds = needs_of(rule).n_folds
    if n_folds is not None:
        scores = k_fold_scores(model, fold.training, n_folds)
    else:
        # A rule that needs no scores is fitted too, because it may use the labels.
        scores = scored.held_out if scored.training is None else scored.training
    return rule.fit(scores, fold.training.Y).decide(scored.held_out)


def measure_refits(
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    metrics: Metrics,
    n_jobs: int | None = None,
    advance: Advance = unseen,
) -> dict[Position, Float]:
    """Return the metrics of each setting of any classifier, fitting each setting separately.

    Ranking metrics are NaN if the classifier has no scores.
    """
    meter = Meter(fold, metrics, n_jobs)
    found = {}
    for position in positions:
        labels, scores = answers_on(fit_on(grid.estimator(position), fold), fold)
        values = meter.of_labels(check_labels(labels, fold.Y)) if metrics.labels else {}
        if scores is None:
            values |= dict.fromkeys(metrics.scores, np.nan)
        else:
            values |= meter.of_scores(check_ranking(scores, fold.Y))
        found[position] = metrics.values(values)
        advance(1)
    return found
