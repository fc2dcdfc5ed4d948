"""Score every setting of LCIF on one fold: compute both parts once per k, then mix them.

If the rule is a cardinality threshold and every row gets a label, the metrics of predicted label
sets come from the compiled grid (:mod:`vicinal.selection.lcif_grid`). This is the plain Python
version, for ranking metrics and all other rules.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from vicinal.estimators.fold import Fold
from vicinal.estimators.sweep import FoldScores, score_states
from vicinal.scoring import (
    FeatureKNNScoring,
    InstanceKNNScoring,
    Scoring,
    SecondOrderScoring,
)
from vicinal.scoring.lcif import mix
from vicinal.selection.grid import Grid, Position
from vicinal.selection.sweeps import Scored

MIXED_AXES = ("n_neighbors_instance", "n_neighbors_feature", "mixing")


def lcif_swept(
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    with_training: bool,
    rankings_only: bool = False,
) -> Iterator[Scored]:
    """Score settings of LCIF on a fold.

    Settings in which one part has weight 0 are scored once for all k of that part. However, a rule
    may use the number of labels of the neighbours, so settings in which the instance part has
    weight 0 are merged only if no labels are predicted (`rankings_only`).

    Memory: the scores of the feature part for every k, 16 bytes per stored score.
    """
    blocks: dict[Position, list[Position]] = {}
    for position in positions:
        others = grid.places(position, without=(*grid.decision_axes, *MIXED_AXES))
        blocks.setdefault(others, []).append(position)
    for block in blocks.values():
        yield from _block(grid, block, fold, with_training, rankings_only)


def _block(
    grid: Grid, block: Sequence[Position], fold: Fold, with_training: bool, rankings_only: bool
) -> Iterator[Scored]:
    """Score settings that share all parameters except k and λ."""
    cells = [tuple(grid.value(position, name) for name in MIXED_AXES) for position in block]
    ks_instance = sorted({ins for ins, _, _ in cells})
    ks_feature = sorted({feat for _, feat, _ in cells})
    wanted: dict[Any, dict[Any, list[Position]]] = {k: {} for k in ks_instance}
    for position, (ins, feat, mixing) in zip(block, cells, strict=True):
        any_instance, any_feature = mixing == 0 and rankings_only, mixing == 1
        of_instance = wanted[ks_instance[0] if any_instance else ins]
        part = ks_feature[0] if any_feature else feat, mixing
        of_instance.setdefault(part, []).append(position)
    model = grid.estimator(block[0])
    states = FeatureKNNScoring.fit_sweep(
        fold.training, ks_feature, model.neighbors_of, model.aggregate, model.n_jobs
    )
    scores = score_states(states, fold, ks_feature, with_training)
    features = dict(zip(ks_feature, scores, strict=True))
    parts: Iterable[Scoring] = (InstanceKNNScoring.fit(fold.training, k) for k in ks_instance)
    if model.second_order:
        parts = SecondOrderScoring.fit_sweep(fold.training, ks_instance)
    instances = score_states(parts, fold, ks_instance, with_training)
    for ins, instance in zip(ks_instance, instances, strict=True):
        for (feat, mixing), same in wanted[ins].items():
            yield Scored(same, *_mixed(instance, features[feat], mixing))


def _mixed(instance: FoldScores, feature: FoldScores, mixing: float) -> FoldScores:
    """Mix the scores of held-out rows, and of training rows if there are any."""
    held_out = mix(instance[0], feature[0], mixing)
    if instance[1] is None or feature[1] is None:
        return held_out, None
    return held_out, mix(instance[1], feature[1], mixing)
