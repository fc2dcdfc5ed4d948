"""Score all settings of a method on one fold, computing shared results once.

Settings that differ only in their decision rule share their scores. Settings that also differ in k
are computed in one sweep, which adds votes, weights and similarities neighbour by neighbour.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from vicinal.estimators.fold import Fold
from vicinal.estimators.sweep import sweep_scores
from vicinal.scores import Scores
from vicinal.selection.grid import Grid, Position


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
