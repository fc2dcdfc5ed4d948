"""Every metric of every setting of a method on one fold.

Settings that differ only in their decision rule share their scores. Settings that also differ in k
are computed in one sweep, which adds votes, weights and similarities neighbour by neighbour.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from time import perf_counter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from vicinal._core.arrays import Csr, Float
from vicinal._core.progress import Advance, unseen
from vicinal.decision.rule import is_fitted, needs_of
from vicinal.methods import NeighborEstimator
from vicinal.methods.fold import Fold, fit_on, predict_on, sweep_together
from vicinal.methods.training import k_fold_scores
from vicinal.metrics import metric_info
from vicinal.metrics._sums import check_labels, check_ranking
from vicinal.metrics.at_k import inverse_propensities
from vicinal.metrics.catalogue import Conventions, check_conventions
from vicinal.metrics.evaluate import Evidence
from vicinal.metrics.label_based import LabelCounts, count_labels
from vicinal.scores import Scores
from vicinal.selection.grid import Grid, Position


@dataclass(frozen=True, eq=False)
class Measured:
    """What was measured of one setting on one fold."""

    values: Mapping[str, float]
    counts: LabelCounts | None = None
    seconds: Mapping[str, float] = field(default_factory=dict)
    has_scores: bool = True
    chosen: Mapping[str, object] = field(default_factory=dict)
    scores: Scores | None = None
    labels: Csr | None = None


class Metrics:
    """Metrics grouped by their input: predicted label sets or a ranking."""

    def __init__(self, names: tuple[str, ...], conventions: str | Conventions = "vicinal") -> None:
        self.names = names
        self.rules = check_conventions(conventions)
        self.infos = {name: metric_info(name) for name in names}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The metrics of predicted label sets."""
        return tuple(name for name in self.names if self.infos[name].needs == "labels")

    @cached_property
    def scores(self) -> tuple[str, ...]:
        """The ranking metrics."""
        return tuple(name for name in self.names if self.infos[name].needs == "scores")

    def measured(self, found: Mapping[str, float]) -> Measured:
        """Return values in the order of the names."""
        return Measured({name: float(found[name]) for name in self.names})


class Meter:
    """Evaluates predictions of a fold's held-out rows, as :func:`vicinal.metrics.evaluate` does."""

    def __init__(self, fold: Fold, metrics: Metrics, n_jobs: int | None) -> None:
        self.metrics, self._fold, self._n_jobs = metrics, fold, n_jobs

    def of_labels(self, labels: Csr) -> dict[str, float]:
        """Return the metrics of predicted sets."""
        return self._values(self.metrics.labels, labels, None)

    def of_scores(self, scores: Scores) -> dict[str, float]:
        """Return the metrics of a ranking."""
        return self._values(self.metrics.scores, None, scores)

    def _values(
        self, names: tuple[str, ...], labels: Csr | None, scores: Scores | None
    ) -> dict[str, float]:
        weights = None if scores is None else self._weights
        given = self._fold.Y, labels, scores, weights, self.metrics.rules, self._n_jobs
        evidence = Evidence(*given)
        return {name: evidence.value(self.metrics.infos[name]) for name in names}

    @cached_property
    def _weights(self) -> Float | None:
        """Inverse propensities of the fold's training rows, if a metric needs them."""
        if not any(info.needs_counts for info in self.metrics.infos.values()):
            return None
        return inverse_propensities(self._fold.training.Y, None, self._fold.Y.shape[1])


class Scored(NamedTuple):
    """Settings with the same scores."""

    positions: list[Position]
    held_out: Scores
    training: Scores | None
    """Leave-one-out scores of the training rows, if a decision rule needs them."""


def swept(
    grid: Grid, positions: Sequence[Position], fold: Fold, with_training: bool
) -> Iterator[Scored]:
    """Score settings of a method on a fold."""
    neighbors = grid.declared.neighbors
    apart = (*grid.decision_axes, *(() if neighbors is None else (neighbors,)))
    together: dict[tuple[Position, tuple[int, ...]], list[dict[int, list[Position]]]] = {}
    for sweep in grid.grouped(positions, apart).values():
        by_k: dict[int, list[Position]] = {}
        for position in sweep:
            k = 0 if neighbors is None else int(grid.value(position, neighbors))
            by_k.setdefault(k, []).append(position)
        ks = tuple(sorted(by_k))
        rest = grid.places(by_k[ks[0]][0], without=(*apart, grid.declared.sweeps or ""))
        together.setdefault((rest, ks), []).append(by_k)
    for (_, ks), members in together.items():
        models = [grid.estimator(by_k[ks[0]][0]) for by_k in members]
        for k, of_k in zip(ks, sweep_together(models, fold, ks, with_training), strict=True):
            for by_k, (held_out, training) in zip(members, of_k, strict=True):
                yield Scored(by_k[k], held_out, training)


Sweep: TypeAlias = Callable[[Grid, Sequence[Position], Fold, bool], Iterator[Scored]]


def measure_sweep(
    sweep: Sweep,
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    metrics: Metrics,
    n_jobs: int | None = None,
    advance: Advance = unseen,
) -> Iterator[dict[Position, Measured]]:
    """Yield the metrics of each setting, fitted on a fold's training rows, tested on the rest."""
    if not metrics.names:
        advance(len(positions))
        yield {position: Measured({}) for position in positions}
        return
    rules = (grid.estimator(position).decision_rule() for position in positions)
    with_training = bool(metrics.labels) and any(needs_of(rule).needs_scores for rule in rules)
    meter = Meter(fold, metrics, n_jobs)
    for scored in sweep(grid, positions, fold, with_training):
        yield measured(grid, scored, fold, meter)
        advance(len(scored.positions))


def measured(grid: Grid, scored: Scored, fold: Fold, meter: Meter) -> dict[Position, Measured]:
    """Return the metrics of settings that share their scores; ranking metrics are computed once."""
    ranked = meter.of_scores(scored.held_out)
    found = {}
    for position in scored.positions:
        values = dict(ranked)
        if meter.metrics.labels:
            values |= meter.of_labels(decided(grid.estimator(position), scored, fold))
        found[position] = meter.metrics.measured(values)
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


def measure_fits(
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    metrics: Metrics,
    n_jobs: int | None = None,
    advance: Advance = unseen,
    *,
    detailed: bool = False,
) -> Iterator[dict[Position, Measured]]:
    """Yield the metrics of each setting of any classifier, fitting each setting separately."""
    meter = Meter(fold, metrics, n_jobs)
    for position in positions:
        found = _fitted(grid.estimator(position), fold, meter)
        if not detailed:
            undefined = {} if found.has_scores else dict.fromkeys(metrics.scores, np.nan)
            found = metrics.measured({**found.values, **undefined})
        yield {position: found}
        advance(1)


def _fitted(model: Any, fold: Fold, meter: Meter) -> Measured:
    """Fit a classifier on a fold's training rows and evaluate it on the held-out rows."""
    began = perf_counter()
    fit_on(model, fold)
    fitted = perf_counter()
    # A method that tunes itself may have chosen another k or distance than the fold's graph.
    tuned = getattr(model, "chosen_", None)
    given = (model, fold.X, fold.graph) if tuned is None else (model.model_, fold.X)
    predicted = predict_on(*given)
    seconds = {"fit": fitted - began, "predict": perf_counter() - fitted}
    if isinstance(model, NeighborEstimator) and model.needed_neighbors():
        seconds["search"] = fold.search_seconds
    labels = check_labels(predicted[0], fold.Y)
    scores = None if predicted[1] is None else check_ranking(predicted[1], fold.Y)
    values = meter.of_labels(labels) if meter.metrics.labels else {}
    if scores is not None:
        values |= meter.of_scores(scores)
    ordered = {name: float(values[name]) for name in meter.metrics.names if name in values}
    counts = count_labels(fold.Y, labels)
    chosen = {} if tuned is None else dict(tuned)
    return Measured(ordered, counts, seconds, scores is not None, chosen, scores, labels)
