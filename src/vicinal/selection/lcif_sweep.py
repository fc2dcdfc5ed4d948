"""Every setting of LCIF scored on one fold: both parts once for each k, then mixed.

Where the rule is a cardinality threshold and every row gets a label, the metrics of predicted sets
come from the compiled grid (:mod:`vicinal.selection.lcif_grid`); this is the way in plain Python,
for rankings and for every other rule.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from vicinal.scores import Scores
from vicinal.scoring.lcif import mix
from vicinal.selection.fold_data import Fold
from vicinal.selection.grid import Grid, Position
from vicinal.selection.sweeps import DECISION_AXES, Scored, feature_chain, instance_chain

MIXED_AXES = ("n_neighbors_instance", "n_neighbors_feature", "mixing")


def lcif_swept(
    grid: Grid, positions: Sequence[Position], fold: Fold, with_training: bool
) -> Iterator[Scored]:
    """Score settings of LCIF on a fold.

    Memory: the scores of the feature part for every k of it, 16 bytes a stored score.
    """
    blocks: dict[Position, list[Position]] = {}
    for position in positions:
        others = grid.places(position, without=(*DECISION_AXES, *MIXED_AXES))
        blocks.setdefault(others, []).append(position)
    for block in blocks.values():
        yield from _block(grid, block, fold, with_training)


def _block(
    grid: Grid, positions: Sequence[Position], fold: Fold, with_training: bool
) -> Iterator[Scored]:
    """Score settings that have their switches in common."""
    wanted: dict[Any, dict[Any, dict[Any, list[Position]]]] = {}
    for position in positions:
        ins, feat, mixing = (grid.value(position, name) for name in MIXED_AXES)
        by_mixing = wanted.setdefault(ins, {}).setdefault(feat, {})
        by_mixing.setdefault(mixing, []).append(position)
    model = grid.estimator(positions[0])
    ks_feature = sorted({feat for by_feat in wanted.values() for feat in by_feat})
    chain = feature_chain(model, ks_feature, fold, with_training)
    features = dict(zip(ks_feature, chain, strict=True))
    ks = sorted(wanted)
    for ins, instance in zip(ks, instance_chain(model, ks, fold, with_training), strict=True):
        for feat, by_mixing in wanted[ins].items():
            for mixing, same in by_mixing.items():
                yield Scored(same, *_mixed(instance, features[feat], mixing))


def _mixed(
    instance: tuple[Scores, Scores | None], feature: tuple[Scores, Scores | None], mixing: float
) -> tuple[Scores, Scores | None]:
    """Mix the scores of held-out rows, and of training rows where there are some."""
    held_out = mix(instance[0], feature[0], mixing)
    if instance[1] is None or feature[1] is None:
        return held_out, None
    return held_out, mix(instance[1], feature[1], mixing)
