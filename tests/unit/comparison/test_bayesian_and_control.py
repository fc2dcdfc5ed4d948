"""Bayesian tests, the corrected t-test, tests against a control and effect sizes."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from vicinal.comparison import (
    bayesian_signed_rank,
    control_tests,
    corrected_t_test,
    correlated_t_test,
    effect_sizes,
    rank_methods,
)
from vicinal.errors import InvalidArgumentError
from vicinal.report.comparison import verdict
from vicinal.results import Result

seeds = st.integers(0, 2**32 - 1)


def draws(seed, n=10):
    rng = np.random.default_rng(seed)
    return rng.normal(0.02, 0.03, n) + 0.5, rng.normal(0, 0.03, n) + 0.5


@given(seeds, st.sampled_from([0.1, 0.2, 0.5]))
@settings(deadline=None, max_examples=40)
def test_the_corrected_t_test_by_its_formula(seed, share):
    a, b = draws(seed)
    d = a - b
    t = d.mean() / math.sqrt((1 / 10 + share / (1 - share)) * d.var(ddof=1))
    found = corrected_t_test(a, b, share)
    assert found.t == pytest.approx(t)
    assert found.p == pytest.approx(2 * stats.t.sf(abs(t), 9))
    assert found.p >= stats.ttest_rel(a, b).pvalue  # it is never more certain
    assert corrected_t_test(a, b, share, better="low").mean == pytest.approx(-found.mean)


@given(seeds, st.sampled_from([0.0, 0.01, 0.05]))
@settings(deadline=None, max_examples=25)
def test_the_correlated_t_test_integrates_its_posterior(seed, rope):
    a, b = draws(seed)
    d = a - b
    scale = math.sqrt((1 / 10 + 0.1 / 0.9) * d.var(ddof=1))

    def density(x):
        return stats.t.pdf((x - d.mean()) / scale, 9) / scale

    found = correlated_t_test(a, b, 0.1, rope)
    right = integrate.quad(density, rope, np.inf)[0]
    left = integrate.quad(density, -np.inf, -rope)[0]
    assert found.first == pytest.approx(right, abs=1e-6)
    assert found.second == pytest.approx(left, abs=1e-6)
    assert found.first + found.equivalent + found.second == pytest.approx(1)


def signed_rank_by_loops(d, rope, n_draws, seed):
    """Return shares of draws by the definition, pair by pair."""
    rng = np.random.default_rng(seed)
    z = [*d, 0.0]
    votes = [0, 0, 0]
    for _ in range(n_draws):
        w = rng.dirichlet([1.0] * len(d) + [0.5])
        above = below = 0.0
        for i, x in enumerate(z):
            for j, y in enumerate(z):
                above += w[i] * w[j] * (x + y > 2 * rope)
                below += w[i] * w[j] * (x + y < -2 * rope)
        shares = [above, 1 - above - below, below]
        votes[shares.index(max(shares))] += 1
    return [vote / n_draws for vote in votes]


@pytest.mark.parametrize(("shift", "rope"), [(0.05, 0.01), (0.0, 0.05), (-0.02, 0.0)])
def test_the_signed_rank_test_by_its_definition(shift, rope):
    rng = np.random.default_rng(1)
    b = rng.random(8)
    a = b + rng.normal(shift, 0.04, 8)
    found = bayesian_signed_rank(a, b, rope)
    expected = signed_rank_by_loops(a - b, rope, 800, 5)
    got = [found.first, found.equivalent, found.second]
    assert got == pytest.approx(expected, abs=0.06)
    turned = bayesian_signed_rank(b, a, rope)
    assert turned.first == pytest.approx(found.second, abs=0.02)


def test_clear_cases_are_decided():
    a, b = np.full(12, 0.8) + np.arange(12) / 1000, np.full(12, 0.5)
    assert bayesian_signed_rank(a, b).verdict == "first"
    assert bayesian_signed_rank(a, b, better="low").verdict == "second"
    assert correlated_t_test(b, b + 1e-4, 0.1).verdict == "equivalent"
    assert bayesian_signed_rank([0.5, 0.6, 0.4], [0.6, 0.5, 0.4]).verdict == "undecided"


@given(seeds)
@settings(deadline=None, max_examples=30)
def test_tests_against_a_control_by_their_formula(seed):
    values = np.random.default_rng(seed).random((9, 4)).round(1)
    ranks = np.array([stats.rankdata(-row) for row in values]).mean(axis=0)
    found = control_tests({name: values[:, j] for j, name in enumerate("abcd")}, "c")
    assert [each.method for each in found] == ["a", "b", "d"]
    for each, j in zip(found, (0, 1, 3), strict=True):
        z = (ranks[j] - ranks[2]) / math.sqrt(4 * 5 / (6 * 9))
        assert each.p == pytest.approx(2 * stats.norm.sf(abs(z)))
        assert each.p_dunn == pytest.approx(min(1, 3 * each.p))
        assert each.p <= each.p_holm <= each.p_dunn + 1e-12


@given(seeds)
@settings(deadline=None, max_examples=30)
def test_effect_sizes_by_counting(seed):
    values = np.random.default_rng(seed).integers(0, 4, (7, 2)).astype(float)
    (found,) = effect_sizes({"a": values[:, 0], "b": values[:, 1]})
    d = values[:, 0] - values[:, 1]
    assert (found.wins, found.ties, found.losses) == ((d > 0).sum(), (d == 0).sum(), (d < 0).sum())
    pairs = [np.sign(x - y) for x in values[:, 0] for y in values[:, 1]]
    assert found.cliff_delta == pytest.approx(sum(pairs) / len(pairs))
    (low,) = effect_sizes({"a": values[:, 0], "b": values[:, 1]}, better="low")
    assert low.rank_biserial == pytest.approx(-found.rank_biserial)
    assert low.cliff_delta == pytest.approx(-found.cliff_delta)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: corrected_t_test([1], [2], 0.1), "first: expected at least two finite numbers"),
        (lambda: corrected_t_test([1, 2], [2, 3, 4], 0.1), "second: expected 2 numbers"),
        (lambda: corrected_t_test([1, 2], [2, 3], 1), "test_share"),
        (lambda: correlated_t_test([1, 2], [2, 3], 0.1, -1), "rope"),
        (lambda: bayesian_signed_rank([1, np.nan], [2, 3]), "first"),
        (lambda: control_tests({"a": [1, 2], "b": [2, 1]}, "c"), "control: expected one of"),
    ],
)
def test_bad_arguments_are_named(call, says):
    with pytest.raises(InvalidArgumentError, match=says):
        call()


def test_folds_of_one_data_set_come_with_a_warning():
    """Thirty folds that agree give a tiny p, which assumes independent samples."""
    rng = np.random.default_rng(0)
    values = {m: tuple(0.1 * j + rng.normal(0, 0.01, 30)) for j, m in enumerate("ABC")}
    of_folds = [Result("compare/10 folds", "d", m, {"micro-f1": v}) for m, v in values.items()]
    said = verdict(rank_methods(of_folds, "micro-f1"))
    assert "folds of one data set share training rows" in said
    assert "corrected t-test" in said
    of_data = [
        Result("compare/10 folds", f"d{at}", m, {"micro-f1": (v[at],)})
        for m, v in values.items()
        for at in range(10)
    ]
    assert "share training rows" not in verdict(rank_methods(of_data, "micro-f1"))
