"""Every setting of a method scored on one fold, sharing what settings have in common.

Settings that differ only in how they decide share their scores. Those that differ in k besides are
swept: votes, weights and similarities are added up once along k, the nearest neighbour first.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vicinal.estimators.fold import Fold
from vicinal.estimators.sweep import sweep_scores
from vicinal.scores import Scores
from vicinal.selection.grid import Grid, Position


class Scored(NamedTuple):
    """Settings that have their scores in common."""

    positions: list[Position]
    held_out: Scores
    training: Scores | None
    """Leave-one-out scores of the training rows, where they are wanted."""


def swept(
    grid: Grid, positions: Sequence[Position], fold: Fold, with_training: bool
) -> Iterator[Scored]:
    """Score settings of a method on a fold."""
    neighbors = grid.declared.neighbors
    apart = (*grid.decision_axes, *(() if neighbors is None else (neighbors,)))
    sweeps: dict[Position, dict[int, list[Position]]] = {}
    for position in positions:
        k = 0 if neighbors is None else int(grid.value(position, neighbors))
        sweep = grid.places(position, without=apart)
        sweeps.setdefault(sweep, {}).setdefault(k, []).append(position)
    for by_k in sweeps.values():
        ks = sorted(by_k)
        model = grid.estimator(by_k[ks[0]][0])
        scores = sweep_scores(model, fold, ks, with_training)
        for k, (held_out, training) in zip(ks, scores, strict=True):
            yield Scored(by_k[k], held_out, training)
