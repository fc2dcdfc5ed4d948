"""Every rule against brute force from its definition, on data full of ties."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal.decision import (
    CardinalityThreshold,
    LabelThresholds,
    MCut,
    MetricThreshold,
    NeverEmpty,
    PCut,
    PerLabelThreshold,
    RCut,
    Threshold,
    TopS,
)
from vicinal.decision.rule import fit_blocks
from vicinal.scores import Scores

pytestmark = pytest.mark.native

LEVELS = [0.0, 0.25, 0.5, 1.0, -0.5, 0.125, 0.3, 0.75]
Row = frozenset[int]


@st.composite
def scored_truth(draw: st.DrawFn) -> tuple[Scores, Scores, Any]:
    """The same scores sparse above a base and dense, and labels."""
    n, n_labels = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    share, often = draw(st.sampled_from([0.0, 0.5, 1.0])), draw(st.sampled_from([0.0, 0.3, 1.0]))
    n_bases = draw(st.sampled_from([1, n_labels]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values = rng.choice(LEVELS[: rng.integers(1, len(LEVELS) + 1)], size=(n, n_labels))
    stored = rng.random((n, n_labels)) < share
    base = np.resize(rng.choice(LEVELS, size=n_bases), n_labels)
    full = np.where(stored, values, base)
    rows, labels = np.nonzero(stored)
    indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    above = sparse.csr_array((values[rows, labels], labels, indptr), shape=full.shape)
    sizes = rng.choice([0.0, 0.5, 1.4, 9.0], size=n)
    Y = sparse.csr_array((rng.random((n, n_labels)) < often).astype(np.int32))
    return Scores.sparse(above, base, sizes), Scores.dense(full, sizes), Y


def rows_of(indicator: Any) -> list[Row]:
    return [frozenset(np.flatnonzero(row).tolist()) for row in indicator.toarray()]


def candidate_sets(full: np.ndarray) -> list[list[Row]]:
    """What each threshold predicts, from nothing to everything."""
    cuts = [np.inf, *sorted(set(full.ravel().tolist()), reverse=True)]
    return [[frozenset(np.flatnonzero(row >= cut).tolist()) for row in full] for cut in cuts]


def f1(tp: int, predicted: int, true: int, empty: int) -> Fraction:
    return Fraction(2 * tp, predicted + true) if predicted + true else Fraction(empty)


def mean(terms: list[Fraction]) -> Fraction:
    return sum(terms, Fraction(0)) / len(terms)


def micro_f1(Z: list[Row], Y: list[Row], n_labels: int) -> Fraction:
    tp = sum(len(z & y) for z, y in zip(Z, Y, strict=True))
    return f1(tp, sum(map(len, Z)), sum(map(len, Y)), 0)


def macro_f1(Z: list[Row], Y: list[Row], n_labels: int) -> Fraction:
    terms = []
    for label in range(n_labels):
        z, y = [label in row for row in Z], [label in row for row in Y]
        terms.append(f1(sum(a and b for a, b in zip(z, y, strict=True)), sum(z), sum(y), 0))
    return mean(terms)


def example_f1(Z: list[Row], Y: list[Row], n_labels: int) -> Fraction:
    return mean([f1(len(z & y), len(z), len(y), 1) for z, y in zip(Z, Y, strict=True)])


def jaccard(Z: list[Row], Y: list[Row], n_labels: int) -> Fraction:
    pairs = zip(Z, Y, strict=True)
    return mean([Fraction(len(z & y), len(z | y)) if z | y else Fraction(1) for z, y in pairs])


def subset(Z: list[Row], Y: list[Row], n_labels: int) -> Fraction:
    return mean([Fraction(z == y) for z, y in zip(Z, Y, strict=True)])


def agreement(Z: list[Row], Y: list[Row], n_labels: int) -> Fraction:
    return -Fraction(sum(len(z ^ y) for z, y in zip(Z, Y, strict=True)))


METRICS: dict[str, Callable[[list[Row], list[Row], int], Fraction]] = {
    "micro-f1": micro_f1,
    "macro-f1": macro_f1,
    "example-f1": example_f1,
    "example-accuracy": jaccard,
    "jaccard-loss": jaccard,
    "subset-accuracy": subset,
    "hamming-loss": agreement,
}


def between(levels: list[float], n_passing: int) -> float:
    """The threshold that the highest so many of falling levels pass, midway to the next."""
    if n_passing == 0:
        return levels[0]
    if n_passing == len(levels):
        return float(np.nextafter(levels[-1], -np.inf))
    return (levels[n_passing - 1] + levels[n_passing]) / 2


@pytest.mark.parametrize("metric", METRICS)
@given(data=scored_truth())
def test_no_threshold_is_better_for_the_metric(metric: str, data: Any) -> None:
    above, dense, Y = data
    measure, true = METRICS[metric], rows_of(Y)
    options = candidate_sets(dense.values)
    qualities = [measure(sets, true, Y.shape[1]) for sets in options]
    for scores in (above, dense):
        fitted = MetricThreshold(metric).fit(scores, Y)
        place = options.index(rows_of(fitted.decide(scores)))
        levels = sorted(set(dense.values.ravel().tolist()), reverse=True)
        if place == len(levels):
            assert fitted == Threshold(levels[-1], inclusive=True)
        else:
            assert fitted == Threshold(between(levels, place))
        assert float(max(qualities) - qualities[place]) < 1e-15
        if metric in {"micro-f1", "hamming-loss", "subset-accuracy"}:  # no rounding in the sum
            assert place == qualities.index(max(qualities)), "ties go to the fewest labels"


@given(data=scored_truth())
def test_cardinality_is_as_near_as_a_threshold_can_bring_it(data: Any) -> None:
    above, dense, Y = data
    options = candidate_sets(dense.values)
    misses = [abs(sum(map(len, sets)) - Y.nnz) for sets in options]
    for scores in (above, dense):
        chosen = rows_of(CardinalityThreshold().fit(scores, Y).decide(scores))
        assert options.index(chosen) == misses.index(min(misses))


@given(data=scored_truth())
def test_two_pass_is_the_first_best_of_both_grids(data: Any) -> None:
    above, dense, Y = data

    def miss(hundredths: int) -> int:
        return abs(int((dense.values > hundredths / 100).sum()) - Y.nnz)

    coarse = [10 * step for step in range(11)]
    best = next(t for t in coarse if miss(t) == min(map(miss, coarse)))
    fine = [best + step for step in range(-5, 6)]
    wanted = next(t for t in fine if miss(t) == min(map(miss, fine)))
    for scores in (above, dense):
        assert CardinalityThreshold("two-pass").fit(scores, Y) == Threshold(wanted / 100)


def best_column(column: np.ndarray, quality: Callable[[np.ndarray], Fraction]) -> np.ndarray:
    """Rows predicted at the highest of the best thresholds of one label."""
    cuts = [np.inf, *sorted(set(column.tolist()), reverse=True)]
    return max((column >= cut for cut in cuts), key=quality)  # max takes the first


@given(data=scored_truth(), min_positives=st.integers(0, 3), fbr=st.sampled_from([0.0, 0.5, 1.0]))
def test_per_label_threshold_is_best_for_each_label(
    data: Any, min_positives: int, fbr: float
) -> None:
    above, dense, Y = data
    wanted = np.zeros(Y.shape, dtype=bool)
    for label, truth in enumerate(Y.toarray().T):

        def quality(z: np.ndarray, y: np.ndarray = truth) -> Fraction:
            return f1(int((z & (y == 1)).sum()), int(z.sum()), int(y.sum()), 0)

        best = best_column(dense.values[:, label], quality)
        if truth.sum() >= min_positives and quality(best) >= fbr:
            wanted[:, label] = best
    for scores in (above, dense):
        rule = PerLabelThreshold(min_positives, fbr).fit(scores, Y)
        assert np.array_equal(rule.decide(scores).toarray(), wanted)
        for column, chosen, threshold in zip(dense.values.T, wanted.T, rule.values, strict=True):
            levels = sorted(set(column.tolist()), reverse=True)
            assert threshold == between(levels, len(set(column[chosen].tolist())))


@given(data=scored_truth(), factor=st.sampled_from([0.0, 0.5, 1.0, 2.0]))
def test_pcut_predicts_each_label_as_often_as_it_is_true(data: Any, factor: float) -> None:
    above, dense, Y = data
    wanted = np.empty(Y.shape, dtype=bool)
    for label, truth in enumerate(Y.toarray().T):
        share = Fraction(factor) * int(truth.sum())
        wanted[:, label] = best_column(
            dense.values[:, label], lambda z, share=share: -abs(int(z.sum()) - share)
        )
    for scores in (above, dense):
        assert np.array_equal(PCut(factor).fit(scores, Y).decide(scores).toarray(), wanted)


@given(data=scored_truth())
def test_mcut_cuts_each_row_at_its_first_largest_gap(data: Any) -> None:
    above, dense, _ = data
    wanted = []
    for row in dense.values.tolist():
        falling = sorted(row, reverse=True)
        gaps = [a - b for a, b in pairwise(falling)]
        cut = falling[gaps.index(max(gaps)) + 1] if gaps and max(gaps) > 0 else falling[0]
        wanted.append(frozenset(label for label, score in enumerate(row) if score > cut))
    assert rows_of(MCut().decide(above)) == wanted
    assert rows_of(MCut().decide(dense)) == wanted


def best_labels(row: list[float], size: int) -> Row:
    """The first `size` labels by falling score, then rising id."""
    return frozenset(sorted(range(len(row)), key=lambda label: (-row[label], label))[:size])


@given(data=scored_truth(), s=st.one_of(st.none(), st.integers(0, 5)))
def test_best_labels_ties_to_the_lower_label(data: Any, s: int | None) -> None:
    above, dense, Y = data
    table = dense.values.tolist()
    by_neighbors = [int(np.floor(z + 0.5)) if s is None else s for z in dense.neighbor_cardinality]
    by_truth = int(np.floor(Y.nnz / Y.shape[0] + 0.5)) if s is None else s
    for scores in (above, dense):
        assert rows_of(TopS(s).decide(scores)) == list(map(best_labels, table, by_neighbors))
        fixed = RCut(s).fit(scores, Y)
        assert rows_of(fixed.decide(scores)) == [best_labels(row, by_truth) for row in table]


@given(
    data=scored_truth(),
    t=st.sampled_from(LEVELS),
    when=st.sampled_from(["most-frequent", "first"]),
)
def test_never_empty_fills_only_empty_rows(data: Any, t: float, when: str) -> None:
    above, dense, Y = data
    counts = Y.toarray().sum(axis=0).tolist()
    frequent = counts.index(max(counts)) if when == "most-frequent" else 0
    wanted = []
    for row in dense.values.tolist():
        passing = frozenset(label for label, score in enumerate(row) if score > t)
        best = row.index(max(row)) if max(row) != 0 else frequent
        wanted.append(passing or frozenset([best]))
    for scores in (above, dense):
        assert rows_of(NeverEmpty(Threshold(t), when).fit(scores, Y).decide(scores)) == wanted


@given(data=scored_truth(), t=st.sampled_from(LEVELS), block=st.integers(1, 7))
def test_rows_stay_empty_where_no_label_is_right_more_often(
    data: Any, t: float, block: int
) -> None:
    above, dense, Y = data
    rule = NeverEmpty(Threshold(t), always=False)
    filled = rows_of(NeverEmpty(Threshold(t)).fit(dense, Y).decide(dense))
    passing = rows_of(Threshold(t).decide(dense))
    empty = [row for row, labels in enumerate(passing) if not labels]
    right = sum(filled[row] <= truth for row, truth in enumerate(rows_of(Y)) if row in empty)
    without = sum(not rows_of(Y)[row] for row in empty)
    wanted = filled if right >= without else passing
    for scores in (above, dense):
        fitted = rule.fit(scores, Y)
        assert rows_of(fitted.decide(scores)) == wanted
        ends = range(0, scores.shape[0], block)
        blocks = (scores.rows(at, min(at + block, scores.shape[0])) for at in ends)
        assert fit_blocks(rule, blocks, Y) == fitted


@given(data=scored_truth(), t=st.sampled_from(LEVELS), inclusive=st.booleans())
def test_thresholds_compare_every_cell(data: Any, t: float, inclusive: bool) -> None:
    above, dense, _ = data
    wanted = dense.values >= t if inclusive else dense.values > t
    per_label = LabelThresholds(np.full(dense.shape[1], t))
    for scores in (above, dense):
        decided = Threshold(t, inclusive).decide(scores)
        assert np.array_equal(decided.toarray(), wanted)
        assert decided.dtype == np.int32
        assert decided.has_canonical_format
        assert np.array_equal(per_label.decide(scores).toarray(), dense.values > t)
