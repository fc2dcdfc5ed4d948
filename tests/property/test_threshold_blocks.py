"""A threshold fitted on scores that come some rows at a time is that of all scores, to the bit."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal.decision import (
    CardinalityThreshold,
    CrossValidated,
    MetricThreshold,
    NeverEmpty,
    PCut,
    RCut,
    Threshold,
    label_thresholds,
)
from vicinal.decision import cardinality as module
from vicinal.decision.cardinality import HighestScores
from vicinal.decision.label_thresholds import HighestOfLabels
from vicinal.decision.rule import fit_blocks
from vicinal.methods import METHODS, training
from vicinal.scores import Scores

pytestmark = pytest.mark.native

LEVELS = [0.3, 0.29, 0.31, 0.0, 0.5, -0.5, 0.05, 0.1, 0.125, 0.75, 1.0]
RULES = [CardinalityThreshold("exact"), CardinalityThreshold("two-pass")]


@st.composite
def cut_scores(draw: st.DrawFn) -> tuple[np.ndarray, list[Scores], Any]:
    """Scores in full, the same in blocks of rows, and labels; many ties, empty blocks too."""
    shape = n, n_labels = draw(st.integers(0, 9)), draw(st.integers(1, 4))
    share, often = (draw(st.sampled_from([0.0, 0.2, 0.5, 1.0])) for _ in range(2))
    levels = LEVELS[: draw(st.integers(1, len(LEVELS)))]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    values, stored = rng.choice(levels, size=shape), rng.random(shape) < share
    Y = sparse.csr_array((rng.random(shape) < often).astype(np.int32))
    base = rng.choice(levels, size=n_labels)
    cuts = [0, *sorted(rng.integers(0, n + 1, rng.integers(5)).tolist()), n]
    parts = list(pairwise(cuts)) if n else []
    if draw(st.booleans()):
        return values, [Scores.dense(values[a:b]) for a, b in parts], Y
    full = np.where(stored, values, base)
    return full, [Scores.sparse(held(values[a:b], stored[a:b]), base) for a, b in parts], Y


def held(values: np.ndarray, stored: np.ndarray) -> sparse.csr_array:
    indptr = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    parts = values[stored], np.nonzero(stored)[1], indptr
    return sparse.csr_array(parts, shape=values.shape)


def nearest(full: np.ndarray, wanted: int) -> Threshold:
    """By the definition: the largest t of those whose count of scores > t is nearest."""
    levels = sorted(set(full.ravel().tolist()), reverse=True)
    if not levels:
        return Threshold(0.0)
    options = [(abs(int((full > t).sum()) - wanted), Threshold(t)) for t in levels]
    options.append((abs(full.size - wanted), Threshold(levels[-1], inclusive=True)))
    return min(options, key=lambda option: option[0])[1]


@given(data=cut_scores(), unmerged=st.sampled_from([0, 3, 2**20]))
def test_blocks_give_what_the_definition_gives(data: Any, unmerged: int) -> None:
    full, blocks, Y = data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "UNMERGED", unmerged)
        found = [rule.fit_blocks(iter(blocks), Y) for rule in RULES]
    assert found[0] == nearest(full, Y.nnz)
    assert found == [rule.fit(Scores.dense(full), Y) for rule in RULES]


def many_rows(seed: int) -> tuple[Scores, list[Scores], sparse.csr_array]:
    """Return scores of 4,000 rows, whole and in blocks, and labels."""
    rng = np.random.default_rng(seed)
    values = rng.random((4000, 30)) ** 3
    stored = rng.random(values.shape) < 0.4
    Y = sparse.csr_array((rng.random(values.shape) < 0.02).astype(np.int32))
    whole = Scores.sparse(held(values, stored), rng.random(30) / 10)
    return whole, [whole.rows(start, start + 50) for start in range(0, 4000, 50)], Y


def test_many_rows_give_the_same_to_the_bit_and_few_scores_are_held(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "UNMERGED", 100)
    whole, blocks, Y = many_rows(seed=3)
    for rule in RULES:
        assert rule.fit_blocks(blocks, Y) == rule.fit(whole, Y)
    highest, most = HighestScores(int(Y.nnz)), 0
    for block in blocks:
        highest.add(block)
        most = max(most, sum(len(part) for part, _ in highest._parts))
    assert most < 3 * Y.nnz
    assert most < np.unique(whole.values.data).size / 5


def as_often_as_true(column: np.ndarray, wanted: float) -> float:
    """By the definition: the highest t with the count of scores > t nearest, t midway."""
    levels = sorted(set(column.tolist()), reverse=True)
    below = [*((a + b) / 2 for a, b in pairwise(levels)), np.nextafter(levels[-1], -np.inf)]
    return min([levels[0], *below], key=lambda t: abs(int((column > t).sum()) - wanted))


@given(
    data=cut_scores(),
    factor=st.sampled_from([0.0, 0.3, 0.5, 1.0, 2.5]),
    unmerged=st.sampled_from([0, 3, 2**20]),
)
def test_pcut_from_blocks_is_what_the_definition_gives(
    data: Any, factor: float, unmerged: int
) -> None:
    full, blocks, Y = data
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(label_thresholds, "UNMERGED", unmerged)
        found = PCut(factor).fit_blocks(iter(blocks), Y).values
    wanted = factor * Y.toarray().sum(axis=0)
    if len(full):
        expected = [as_often_as_true(full[:, label], wanted[label]) for label in range(Y.shape[1])]
    else:
        expected = [0.0] * Y.shape[1]
    assert found.tolist() == expected
    assert found.tolist() == PCut(factor).fit(Scores.dense(full), Y).values.tolist()


def test_pcut_of_many_rows_holds_as_many_scores_as_there_are_labels(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(label_thresholds, "UNMERGED", 100)
    whole, blocks, Y = many_rows(seed=4)
    assert np.array_equal(PCut().fit_blocks(blocks, Y).values, PCut().fit(whole, Y).values)
    highest, most = HighestOfLabels(np.bincount(Y.indices, minlength=30)), 0
    for block in blocks:
        highest.add(block)
        most = max(most, sum(len(part.values) for part in highest._parts))
    assert most < 3 * Y.nnz
    assert most < whole.values.nnz / 5


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("rule", ["cardinality", "two-pass"])
def test_estimators_hold_the_scores_of_one_block(
    name: str, rule: str, make_method: Any, sample: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_method(name, threshold=rule)
    expected = model.fit(sample.X, sample.Y).decision_
    sizes, real = [], CardinalityThreshold.fit_blocks

    def seen(blocks: Any) -> Any:
        for block in blocks:
            sizes.append(block.shape[0])
            yield block

    def watched(self: Any, blocks: Any, Y: Any) -> Any:
        return real(self, seen(blocks), Y)

    monkeypatch.setattr(CardinalityThreshold, "fit_blocks", watched)
    monkeypatch.setattr(training, "BLOCK_ROWS", 7)
    assert model.fit(sample.X, sample.Y).decision_ == expected
    assert sizes == [7] * 7 + [1]


@pytest.mark.parametrize("rule", [NeverEmpty(Threshold(0.4)), NeverEmpty(RCut()), RCut()])
def test_a_rule_that_looks_at_no_scores_has_none_made(rule: Any) -> None:
    Y = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 1]], dtype=np.int32))

    def blocks() -> Any:
        raise AssertionError("asked for scores")
        yield

    scores = Scores.dense(np.zeros((2, 3)))
    assert fit_blocks(rule, blocks(), Y) == rule.fit(scores, Y)


def test_other_rules_get_all_scores_at_once() -> None:
    for rule in (MetricThreshold(), CrossValidated(CardinalityThreshold(), 3)):
        scores = Scores.dense(np.array([[0.9, 0.1], [0.2, 0.8], [0.4, 0.3]]))
        Y = sparse.csr_array(np.array([[1, 0], [0, 1], [1, 1]], dtype=np.int32))
        blocks = [scores.rows(0, 1), scores.rows(1, 3)]
        assert fit_blocks(rule, blocks, Y) == rule.fit(scores, Y)
        assert fit_blocks(NeverEmpty(rule), blocks, Y) == NeverEmpty(rule).fit(scores, Y)
