"""The full grid of LCIF on one fold: every k_ins, k_feat and λ, each with its own threshold.

The scores of both parts are computed once per k. If the rule is a cardinality threshold and every
row gets a label, which is the default, the compiled core mixes them, fits the thresholds and counts
correct predictions without storing them. Ranking metrics and all other rules are computed as for
other methods. Either way, the values are identical to fitting and evaluating
:class:`vicinal.methods.LCIF` for every setting: the functions of :func:`vicinal.metrics.evaluate`
are called on the counts.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from vicinal._core.arrays import Csr, Float, Int
from vicinal._core.checks import check_integer, check_option, check_real
from vicinal._core.progress import Advance, part, unseen
from vicinal._core.threads import thread_count, using_threads
from vicinal._core.validation import csr_parts
from vicinal._native import LcifGrid, SparseMatrix
from vicinal.decision import CardinalityThreshold, NeverEmpty
from vicinal.errors import InvalidArgumentError
from vicinal.methods import NeighborEstimator
from vicinal.methods._formulas import native_matrix
from vicinal.methods.feature_knn import FeatureKNNScoring
from vicinal.methods.fold import Fold, FoldScores, score_states
from vicinal.methods.instance_knn import (
    LITERAL,
    InstanceKNNScoring,
    SecondOrderScoring,
    check_order,
)
from vicinal.methods.lcif import mix, stored
from vicinal.methods.training import Scoring
from vicinal.metrics import metric_info
from vicinal.metrics._sums import check_truth
from vicinal.metrics.catalogue import Conventions, check_conventions
from vicinal.metrics.example_based import EXAMPLE_BASED, RowCounts
from vicinal.metrics.label_based import LABEL_BASED, LabelCounts
from vicinal.selection.grid import Grid, Position
from vicinal.selection.measure import Measured, Metrics, Scored, measure_sweep


def part_scores(
    fold: Fold,
    ks_instance: Sequence[int],
    ks_feature: Sequence[int],
    switches: Mapping[str, Any],
    n_jobs: int | None,
    with_training: bool = True,
) -> tuple[Iterator[FoldScores], Iterator[FoldScores]]:
    """Yield the scores of the instance part for each k, and those of the feature part."""
    training, order = fold.training, switches["second_order"]
    kinds = switches["neighbors_of"], switches["aggregate"]
    features = FeatureKNNScoring.fit_sweep(training, ks_feature, *kinds, n_jobs)
    instances: Iterable[Scoring] = (InstanceKNNScoring.fit(training, k) for k in ks_instance)
    if check_order(order):
        instances = SecondOrderScoring.fit_sweep(training, ks_instance, order == LITERAL)
    return (
        score_states(instances, fold, ks_instance, with_training),
        score_states(features, fold, ks_feature, with_training),
    )


def check_widths(fold: Fold, k: int, second_order: object) -> None:
    """Raise unless the graphs of a fold have k neighbours per row."""
    training = fold.training
    wanted = [("training.graph", training.graph, min(k, training.n_rows - 1))]
    wanted.append(("graph", fold.graph, min(k, training.n_rows)))
    if check_order(second_order) and second_order != LITERAL and training.joint is not None:
        wanted.append(("joint", training.joint, min(k, training.n_rows) - 1))
    for name, graph, width in wanted:
        if graph.k < width:
            expected = f"at least {width} neighbours per row"
            raise InvalidArgumentError(f"fold.{name}", expected, graph.k)


def check_set_metrics(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the metric names, or raise if one of them needs more than predicted label sets."""
    for info in map(metric_info, metrics):
        if info.needs != "labels":
            got = f"'{info.name}', which needs scores"
            raise InvalidArgumentError("metrics", "metrics of predicted label sets", got)
    return tuple(metrics)


@dataclass(frozen=True, eq=False)
class TrueCounts:
    """The number of true labels of each row, and the number of rows of each label."""

    rows: Int
    labels: Int

    @classmethod
    def of(cls, Y: Csr) -> "TrueCounts":
        """Count for a canonical indicator."""
        labels = np.bincount(Y.indices, minlength=Y.shape[1])
        return cls(np.diff(Y.indptr).astype(np.int64), labels.astype(np.int64))

    def values(
        self,
        row_given: Int,
        row_common: Int,
        label_given: Int,
        label_common: Int,
        metrics: Sequence[str],
        conventions: str | Conventions = "vicinal",
    ) -> Float:
        """Return the metrics of one prediction, in the order of their names."""
        rules = check_conventions(conventions)
        rows = RowCounts(self.rows, row_given, row_common, len(self.labels))
        labels = LabelCounts(label_common, label_given - label_common, self.labels - label_common)
        return np.array(
            [
                EXAMPLE_BASED[name](rows, rules)
                if name in EXAMPLE_BASED
                else LABEL_BASED[name](labels, rules)
                for name in metrics
            ]
        )


NativeScores: TypeAlias = tuple[SparseMatrix, SparseMatrix]
"""Scores of one part for one k: of training rows (leave-one-out) and of held-out rows."""

COUNTS_AT_ONCE = 2**23
"""Counts returned by the core at a time (64 MiB), or more if one k_feat per thread needs more."""


def lcif_grid(fold: Fold, *, ks_instance: Sequence[int], **options: Any) -> Float:
    """Return the metrics of every setting by k_ins, k_feat, λ and metric.

    The options are those of :func:`lcif_grid_by_k`.
    """
    by_k = dict(lcif_grid_by_k(fold, ks_instance=ks_instance, **options))
    return np.stack([by_k[k] for k in ks_instance])


def lcif_grid_by_k(
    fold: Fold,
    *,
    ks_instance: Sequence[int],
    ks_feature: Sequence[int],
    mixings: Sequence[float],
    second_order: bool | str = False,
    neighbors_of: str = "feature",
    aggregate: str = "kept-mean",
    threshold: str = "cardinality",
    metrics: Sequence[str],
    conventions: str | Conventions = "vicinal",
    n_jobs: int | None = None,
) -> Iterator[tuple[int, Float]]:
    """Yield each k_ins, ascending, and the metrics of its settings by k_feat, λ and metric.

    Memory: 12 bytes per score of a training or held-out row, for the feature part at every k and
    the instance part at one k; per thread 16 to 40 bytes per training score and 9 per label.
    """
    names = check_set_metrics(metrics)
    shares = np.array([check_real("mixings", each, 0, 1) for each in mixings], dtype=np.float64)
    first_ks = _ascending("ks_instance", ks_instance)
    second_ks = _ascending("ks_feature", ks_feature)
    in_order = np.searchsorted(second_ks, ks_feature)
    truth = TrueCounts.of(check_truth(fold.Y))
    check_widths(fold, first_ks[-1], second_order)
    switches = dict(zip(SWITCHES, (second_order, neighbors_of, aggregate), strict=True))
    with using_threads(n_jobs):  # not kept open while the caller works with a slice
        n_threads = thread_count()
        parts, by_feature = part_scores(fold, first_ks, second_ks, switches, n_threads)
        features = list(map(_native, by_feature))
        core = _core(fold, features, shares, threshold, n_threads)
    shape = len(second_ks), len(shares), len(names)
    with part("Label sets of LCIF", len(first_ks)) as advance:
        for k in first_ks:
            with using_threads(n_jobs):
                instance = _native(next(parts))
                cells = _counts(core, instance, len(features), len(shares), fold, n_threads)
                found = [truth.values(*counts, names, conventions) for counts in cells]
            advance(1)
            yield k, np.array(found).reshape(shape)[in_order]


def _native(scores: FoldScores) -> NativeScores:
    """Return scores of training and held-out rows, whose base is 0, for the compiled core."""
    held_out, training = scores
    if training is None:
        raise ValueError("scores of held-out rows alone")
    return native_matrix(stored(training)), native_matrix(stored(held_out))


def _ascending(name: str, ks: Sequence[int]) -> list[int]:
    """Return the distinct numbers of neighbours, ascending."""
    distinct = sorted({check_integer(name, k, low=1) for k in ks})
    if not distinct:
        raise InvalidArgumentError(name, "at least one number of neighbours", "none")
    return distinct


def _core(
    fold: Fold, features: Sequence[NativeScores], shares: Float, threshold: object, n_threads: int
) -> LcifGrid:
    """Pass the feature parts and the task to the compiled core."""
    rule = check_option("threshold", threshold, ("cardinality", "two-pass"))
    Y = fold.training.Y
    most_frequent = int(np.argmax(np.bincount(Y.indices, minlength=Y.shape[1])))
    return LcifGrid(
        [training for training, _ in features],
        [held_out for _, held_out in features],
        *csr_parts(fold.Y),
        shares,
        rule == "two-pass",
        int(Y.nnz),
        most_frequent,
        n_threads,
    )


def _counts(
    core: LcifGrid,
    instance: NativeScores,
    n_features: int,
    n_mixings: int,
    fold: Fold,
    n_threads: int,
) -> Iterator[tuple[Int, Int, Int, Int]]:
    """Yield the counts of every k_feat and λ for one instance part, several k_feat at a time."""
    numbers_each = 2 * n_mixings * (fold.Y.shape[0] + fold.Y.shape[1])
    step = max(n_threads, COUNTS_AT_ONCE // max(numbers_each, 1))
    for first in range(0, n_features, step):
        last = min(first + step, n_features)
        yield from zip(*core.counts(*instance, first, last, n_threads), strict=True)


SWITCHES = ("second_order", "neighbors_of", "aggregate")
"""Parameters that decide what the two parts are."""

MIXED_AXES = ("n_neighbors_instance", "n_neighbors_feature", "mixing")


def lcif_swept(
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    with_training: bool,
    rankings_only: bool = False,
) -> Iterator[Scored]:
    """Score settings of LCIF on a fold; if a part has weight 0, once for all k of that part.

    A rule may use the number of labels of the neighbours, so settings in which the instance part
    has weight 0 are merged only if no labels are predicted (`rankings_only`).
    """
    for block in grid.grouped(positions, (*grid.decision_axes, *MIXED_AXES)).values():
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
    instances, by_feature = part_scores(
        fold, ks_instance, ks_feature, vars(model), model.n_jobs, with_training
    )
    features = dict(zip(ks_feature, by_feature, strict=True))
    for ins, instance in zip(ks_instance, instances, strict=True):
        for (feat, mixing), same in wanted[ins].items():
            yield Scored(same, *_mixed(instance, features[feat], mixing))


def _mixed(instance: FoldScores, feature: FoldScores, mixing: float) -> FoldScores:
    """Mix the scores of held-out rows, and of training rows if there are any."""
    held_out = mix(instance[0], feature[0], mixing)
    if instance[1] is None or feature[1] is None:
        return held_out, None
    return held_out, mix(instance[1], feature[1], mixing)


def measure_lcif(
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    metrics: Metrics,
    n_jobs: int | None = None,
    advance: Advance = unseen,
) -> Iterator[dict[Position, Measured]]:
    """Yield the metrics of each setting, as :func:`measure_sweep` does."""
    only_ranked = partial(lcif_swept, rankings_only=True)
    for block in grid.grouped(positions, MIXED_AXES).values():
        rule = compiled_rule(grid.estimator(block[0]))
        if rule is None or not metrics.labels:
            sweep = lcif_swept if metrics.labels else only_ranked
            yield from measure_sweep(sweep, grid, block, fold, metrics, n_jobs, advance)
            continue
        sets = _of_sets(grid, block, fold, metrics, rule, n_jobs)
        if not metrics.scores:
            for of_k in sets:
                yield {position: metrics.measured(found) for position, found in of_k.items()}
                advance(len(of_k))
            continue
        of_sets = {position: found for of_k in sets for position, found in of_k.items()}
        rankings = Metrics(metrics.scores, metrics.rules)
        for group in measure_sweep(only_ranked, grid, block, fold, rankings, n_jobs, advance):
            yield {
                position: metrics.measured({**of_sets[position], **found.values})
                for position, found in group.items()
            }


def compiled_rule(model: NeighborEstimator) -> str | None:
    """Return the compiled grid's name for an estimator's rule, or None if it is not supported."""
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
) -> Iterator[dict[Position, dict[str, float]]]:
    """Yield the metrics of predicted sets from one pass over the grid, one group per k_ins."""
    wanted = {
        position: tuple(grid.value(position, name) for name in MIXED_AXES) for position in block
    }
    axes = [list(dict.fromkeys(values)) for values in zip(*wanted.values(), strict=True)]
    model = grid.estimator(block[0])
    slices = lcif_grid_by_k(
        fold,
        ks_instance=axes[0],
        ks_feature=axes[1],
        mixings=axes[2],
        **{name: getattr(model, name) for name in SWITCHES},
        threshold=rule,
        metrics=metrics.labels,
        conventions=metrics.rules,
        n_jobs=n_jobs,
    )
    places = [{value: place for place, value in enumerate(axis)} for axis in axes[1:]]
    for k, values in slices:
        of_k = {at: cell for at, (ins, *cell) in wanted.items() if ins == k}
        yield {
            at: dict(zip(metrics.labels, values[places[0][feat], places[1][mixing]], strict=True))
            for at, (feat, mixing) in of_k.items()
        }
