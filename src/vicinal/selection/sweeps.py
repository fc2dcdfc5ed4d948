"""Every setting of a method scored on one fold, sharing what settings have in common.

Settings that differ only in how they decide share their scores. Those that differ in k besides form
a chain: votes, weights and similarities are added up once along it, the nearest neighbour first.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from vicinal.estimators import NeighborEstimator
from vicinal.estimators.stages import cluster_centers, learn
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores
from vicinal.scoring import (
    BRkNNScoring,
    DMLkNNScoring,
    FeatureKNNScoring,
    IBLRScoring,
    InstanceKNNScoring,
    LAMLkNNScoring,
    LPkNNScoring,
    MLkNNScoring,
    Scoring,
    SecondOrderScoring,
)
from vicinal.scoring.training import leave_one_out
from vicinal.selection.fold_data import Fold
from vicinal.selection.grid import Grid, Position

DECISION_AXES = ("threshold", "never_empty", "variant", "strict_majority")
"""Parameters that change what is predicted, not what is scored."""


class Scored(NamedTuple):
    """Settings that have their scores in common."""

    positions: list[Position]
    held_out: Scores
    training: Scores | None
    """Leave-one-out scores of the training rows, where they are wanted."""


Chain: TypeAlias = Iterator[tuple[Scores, Scores | None]]
"""Scores of the held-out rows and of the training rows, for each k."""


def swept(
    grid: Grid, positions: Sequence[Position], fold: Fold, with_training: bool
) -> Iterator[Scored]:
    """Score settings of a method other than LCIF on a fold."""
    chains: dict[Position, dict[Position, list[Position]]] = {}
    for position in positions:
        scoring = grid.places(position, without=DECISION_AXES)
        chain = grid.places(position, without=(*DECISION_AXES, "n_neighbors"))
        chains.setdefault(chain, {}).setdefault(scoring, []).append(position)
    for members in chains.values():
        by_k = {grid.value(same[0], "n_neighbors"): same for same in members.values()}
        ks = sorted(by_k)
        model = grid.estimator(by_k[ks[0]][0])
        scores = CHAINS[grid.method](model, ks, fold, with_training)
        for k, (held_out, training) in zip(ks, scores, strict=True):
            yield Scored(by_k[k], held_out, training)


def kept_chain(
    kind: type[BRkNNScoring | LPkNNScoring],
    model: NeighborEstimator,
    ks: Sequence[int],
    fold: Fold,
    with_training: bool,
) -> Chain:
    """Chain a method that keeps the labels and learns nothing else."""
    return state_chain(kind.fit(fold.training, max(ks)), ks, fold, with_training)


def state_chain(
    state: BRkNNScoring | LPkNNScoring | InstanceKNNScoring,
    ks: Sequence[int],
    fold: Fold,
    with_training: bool,
) -> Chain:
    """Chain what such a method keeps."""
    held_out = at_each(state, fold.graph, ks)
    if not with_training:
        return ((scores, None) for scores in held_out)
    return zip(held_out, at_each(state, fold.training.graph, ks), strict=True)


def at_each(
    state: BRkNNScoring | LPkNNScoring | InstanceKNNScoring,
    graph: NeighborGraph,
    ks: Sequence[int],
) -> Iterator[Scores]:
    """Yield scores for each of rising `ks`; past the graph's width they stay as they are."""
    widths = sorted({min(k, graph.k) for k in ks})
    sweep = iter(state.sweep(graph, widths))
    width, scores = 0, None
    for k in ks:
        if min(k, graph.k) > width or scores is None:
            width, scores = min(k, graph.k), next(sweep)
        yield scores


def fitted_chain(states: Iterable[Scoring], fold: Fold, with_training: bool) -> Chain:
    """Chain a method by what it has learned at each k."""
    training = fold.training
    for state in states:
        yield (
            state.scores(fold.graph, fold.X),
            leave_one_out(state, training) if with_training else None,
        )


def learned_chain(
    fit_sweep: Callable[..., Iterator[Scoring]],
    arguments: Callable[[Any, Fold], Sequence[object]],
    model: NeighborEstimator,
    ks: Sequence[int],
    fold: Fold,
    with_training: bool,
) -> Chain:
    """Chain a method that counts or regresses along k; each k past the width on its own."""
    within = [k for k in ks if k <= fold.training.graph.k]
    given = arguments(model, fold)
    yield from fitted_chain(fit_sweep(fold.training, within, *given), fold, with_training)
    beyond = (model.set_params(n_neighbors=k) for k in ks[len(within) :])
    yield from fitted_chain((learn(each, fold.training) for each in beyond), fold, with_training)


def instance_chain(
    model: NeighborEstimator, ks: Sequence[int], fold: Fold, with_training: bool
) -> Chain:
    """Chain instance kNN of either order."""
    if getattr(model, "second_order", False):
        states = SecondOrderScoring.fit_sweep(fold.training, ks)
        return fitted_chain(states, fold, with_training)
    state = InstanceKNNScoring.fit(fold.training, max(ks), getattr(model, "power", 1.0))
    return state_chain(state, ks, fold, with_training)


def feature_chain(model: Any, ks: Sequence[int], fold: Fold, with_training: bool) -> Chain:
    """Chain feature kNN."""
    switches = model.neighbors_of, model.aggregate, model.n_jobs
    states = FeatureKNNScoring.fit_sweep(fold.training, ks, *switches)
    return fitted_chain(states, fold, with_training)


def _smoothing(model: Any, fold: Fold) -> Sequence[object]:
    return (float(model.smoothing),)


def _tolerance(model: Any, fold: Fold) -> Sequence[object]:
    return float(model.smoothing), int(model.tolerance)


def _centers(model: Any, fold: Fold) -> Sequence[object]:
    return float(model.smoothing), cluster_centers(model, fold.training)


def _regression(model: Any, fold: Fold) -> Sequence[object]:
    return float(model.C), bool(model.augment), model.n_jobs


CHAINS: Mapping[str, Callable[..., Chain]] = {
    "brknn": partial(kept_chain, BRkNNScoring),
    "lpknn": partial(kept_chain, LPkNNScoring),
    "mlknn": partial(learned_chain, MLkNNScoring.fit_sweep, _smoothing),
    "dmlknn": partial(learned_chain, DMLkNNScoring.fit_sweep, _tolerance),
    "lamlknn": partial(learned_chain, LAMLkNNScoring.fit_sweep, _centers),
    "iblr": partial(learned_chain, IBLRScoring.fit_sweep, _regression),
    "instance-knn": instance_chain,
    "feature-knn": feature_chain,
}
"""How the settings of a method that differ in k are scored."""
