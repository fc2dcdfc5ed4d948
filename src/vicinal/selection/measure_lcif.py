"""Every metric of every setting of LCIF on one fold.

Metrics of predicted label sets come from the compiled grid if the rule is a cardinality threshold
and every row gets a label, which is the method's default. Ranking metrics and all other rules are
computed as for other methods.
"""

from collections.abc import Sequence
from functools import partial

from vicinal._base.arrays import Float
from vicinal._base.progress import Advance, unseen
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.estimators import NeighborEstimator
from vicinal.estimators.fold import Fold
from vicinal.selection.grid import Grid, Position
from vicinal.selection.lcif_grid import lcif_grid
from vicinal.selection.lcif_sweep import MIXED_AXES, lcif_swept
from vicinal.selection.measure import measure_sweep
from vicinal.selection.meter import Metrics


def measure_lcif(
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    metrics: Metrics,
    n_jobs: int | None = None,
    advance: Advance = unseen,
) -> dict[Position, Float]:
    """Return the metrics of each setting, as :func:`measure_sweep` does."""
    found: dict[Position, Float] = {}
    only_ranked = partial(lcif_swept, rankings_only=True)
    for block in _blocks(grid, positions):
        rule = compiled_rule(grid.estimator(block[0]))
        if rule is None or not metrics.labels:
            sweep = lcif_swept if metrics.labels else only_ranked
            found |= measure_sweep(sweep, grid, block, fold, metrics, n_jobs, advance)
            continue
        sets = _of_sets(grid, block, fold, metrics, rule, n_jobs)
        rankings = Metrics(metrics.scores, metrics.rules)
        ranked = measure_sweep(only_ranked, grid, block, fold, rankings, n_jobs, advance)
        for position in block:
            values = dict(zip(metrics.labels, sets[position], strict=True))
            values |= zip(metrics.scores, ranked[position], strict=True)
            found[position] = metrics.values(values)
    return found


def compiled_rule(model: NeighborEstimator) -> str | None:
    """Return the compiled grid's name for an estimator's rule, or None if it is not supported.

    Examples
    --------
    >>> from vicinal import LCIF
    >>> compiled_rule(LCIF()), compiled_rule(LCIF(threshold=0.5))
    ('cardinality', None)
    """
    rule = model.decision_rule()
    for name, method in (("cardinality", "exact"), ("two-pass", "two-pass")):
        if rule == NeverEmpty(CardinalityThreshold(method)):
            return name
    return None


def _of_sets(
    grid: Grid,
    block: Sequence[Position],
    fold: Fold,
    metrics: Metrics,
    rule: str,
    n_jobs: int | None,
) -> dict[Position, Float]:
    """Return the metrics of predicted sets from one pass over the grid of a block."""
    wanted = [tuple(grid.value(position, name) for name in MIXED_AXES) for position in block]
    axes = [list(dict.fromkeys(values)) for values in zip(*wanted, strict=True)]
    model = grid.estimator(block[0])
    values = lcif_grid(
        fold,
        ks_instance=axes[0],
        ks_feature=axes[1],
        mixings=axes[2],
        **{name: getattr(model, name) for name in ("second_order", "neighbors_of", "aggregate")},
        threshold=rule,
        metrics=metrics.labels,
        conventions=metrics.rules,
        n_jobs=n_jobs,
    )
    places = [{value: place for place, value in enumerate(axis)} for axis in axes]
    return {
        position: values[tuple(place[each] for place, each in zip(places, cell, strict=True))]
        for position, cell in zip(block, wanted, strict=True)
    }


def _blocks(grid: Grid, positions: Sequence[Position]) -> list[list[Position]]:
    """Group settings by all parameters except the axes of the compiled grid."""
    blocks: dict[Position, list[Position]] = {}
    for position in positions:
        blocks.setdefault(grid.places(position, without=MIXED_AXES), []).append(position)
    return list(blocks.values())
