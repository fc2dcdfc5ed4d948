"""Signed ranks by enumeration, Holm by its definition."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vicinal.comparison import holm, wilcoxon_holm


def brute_force(apart: np.ndarray) -> tuple[float, float]:
    """Count, over all signs of the ranks, those at least as far from the middle."""
    ranks = stats.rankdata(np.abs(apart))
    low = min(ranks[apart > 0].sum(), ranks[apart < 0].sum())
    sums = [np.dot(signs, ranks) for signs in product((0, 1), repeat=len(ranks))]
    return float(low), min(1.0, 2 * float(np.mean(np.array(sums) <= low)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(-40, 40), min_size=2, max_size=9, unique_by=abs))
def test_as_brute_force_without_ties(apart: list[int]) -> None:
    second = np.linspace(100, 200, len(apart))
    (test,) = wilcoxon_holm({"A": second + apart, "B": second}, alpha=0.2)
    differing = np.array([d for d in apart if d != 0], dtype=float)
    statistic, p = brute_force(differing)
    assert test.statistic == statistic
    assert test.p == test.p_holm == pytest.approx(p)
    assert (test.winner is not None) == (p < 0.2)


def test_the_winner_is_on_the_better_side() -> None:
    table = {"low": np.arange(10) / 10, "high": np.arange(10) / 5 + 0.3}
    assert wilcoxon_holm(table)[0].winner == "high"
    assert wilcoxon_holm(table, better="low")[0].winner == "low"


def test_equal_methods() -> None:
    (test,) = wilcoxon_holm({"A": [0.3, 0.5], "B": [0.1 + 0.2, 0.5]})
    assert (test.p, test.p_holm, test.winner) == (1.0, 1.0, None)


def test_pairs_are_corrected_together() -> None:
    rng = np.random.default_rng(0)
    table = rng.normal(size=(12, 4)) + np.array([0.0, 0.2, 0.8, 1.6])
    tests = wilcoxon_holm(table)
    pairs = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert [(int(t.first) - 1, int(t.second) - 1) for t in tests] == pairs
    alone = [stats.wilcoxon(table[:, a], table[:, b]).pvalue for a, b in pairs]
    np.testing.assert_allclose([t.p for t in tests], alone)
    np.testing.assert_allclose([t.p_holm for t in tests], holm(alone))
    assert {t.winner for t in tests} - {None}


@given(st.lists(st.floats(0, 1), max_size=8))
def test_holm_rejects_step_by_step(p: list[float]) -> None:
    corrected = holm(p)
    for alpha in (0.01, 0.05, 0.3, 0.9):
        rejected = set()
        for step, at in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
            if p[at] * (len(p) - step) > alpha:
                break
            rejected.add(at)
        assert set(np.flatnonzero(corrected <= alpha)) == rejected


@pytest.mark.parametrize("p", [[1.5], [-0.1], [[0.1]], [np.nan], "high", None])
def test_holm_wants_probabilities(p: list[float]) -> None:
    with pytest.raises(ValueError, match="probabilities between 0 and 1"):
        holm(p)
