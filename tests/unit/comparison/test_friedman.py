"""Friedman and Nemenyi: a textbook example, a published table, SciPy, and edge cases."""

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from vicinal.comparison import critical_difference, friedman_nemenyi, rank_table
from vicinal.comparison.friedman import groups_within, rank_tests

TREES = {
    "C4.5": [4, 1, 4, 4, 4, 1, 3, 2.5, 4, 2.5, 4, 3, 4, 3],
    "C4.5+m": [3, 2, 1, 1, 2, 2.5, 2, 2.5, 3, 2.5, 2.5, 2, 1, 1],
    "C4.5+cf": [2, 3, 2, 3, 3, 4, 4, 4, 2, 2.5, 1, 4, 2, 4],
    "C4.5+m+cf": [1, 4, 3, 2, 1, 2.5, 1, 1, 1, 2.5, 2.5, 1, 3, 2],
}
"""The ranks of Demšar's example: four ways to grow trees on 14 data sets."""

REDUCTIONS = ("ml-arp", "baseline", "ml-knn", "rp", "mddm", "pca", "opls", "cca")
HAMMING = {
    "yeast": [0.191, 0.232, 0.195, 0.202, 0.227, 0.194, 0.203, 0.204],
    "emotions": [0.226, 0.313, 0.262, 0.261, 0.31, 0.262, 0.256, 0.252],
    "scene": [0.091, 0.179, 0.088, 0.108, 0.089, 0.097, 0.166, 0.162],
    "enron": [0.05, 0.062, 0.051, 0.053, 0.049, 0.049, 0.067, 0.064],
}
"""Table 2 of the ML-ARP paper, where all methods have a value."""

MEAN_RANKS = [
    [2.00, 8.00, 3.25, 4.75, 4.00, 3.00, 6.5, 4.5],
    [2.00, 7.75, 3.375, 5.00, 4.25, 2.875, 6.125, 4.625],
    [3.25, 6.75, 2.375, 4.375, 4.00, 3.00, 6.5, 5.75],
    [2.5, 8.00, 3.00, 5.25, 4.00, 2.625, 6.125, 4.5],
    [2.00, 7.5, 3.375, 4.5, 4.375, 3.25, 5.75, 5.25],
    [2.5, 8.00, 3.00, 4.75, 4.00, 2.75, 6.5, 4.5],
    [2.75, 8.00, 2.625, 5.00, 5.00, 2.625, 5.75, 5.25],
    [3.375, 5.75, 4.375, 4.625, 3.75, 3.125, 6.00, 5.00],
    [3.00, 8.00, 2.75, 4.25, 4.00, 2.75, 6.5, 4.75],
    [2.625, 8.00, 3.875, 5.25, 4.00, 3.00, 5.5, 3.75],
    [2.00, 8.00, 3.25, 4.25, 4.00, 3.5, 6.00, 5.00],
]
"""Table 3 of the ML-ARP paper: mean ranks by eleven metrics."""


def test_textbook_example() -> None:
    found = friedman_nemenyi(TREES, 0.05, better="low")
    ranks = {name: round(rank, 3) for name, rank in found.mean_ranks.items()}
    assert ranks == {"C4.5+m+cf": 1.964, "C4.5+m": 2.0, "C4.5+cf": 2.893, "C4.5": 3.143}
    assert next(iter(ranks)) == "C4.5+m+cf"
    assert round(found.chi2, 2) == 9.28
    assert round(found.f, 2) == 3.69
    assert round(found.critical_difference, 2) == 1.25
    assert found.rejected
    assert stats.f.sf(found.f, 3, 39) == pytest.approx(found.p_f)
    assert found.groups == (tuple(ranks),)  # at 5 % the test has no power to tell them apart


def test_textbook_example_at_ten_per_cent() -> None:
    found = friedman_nemenyi(TREES, alpha=0.1, better="low")
    assert round(found.critical_difference, 2) == 1.12
    assert found.groups == (("C4.5+m+cf", "C4.5+m", "C4.5+cf"), ("C4.5+cf", "C4.5"))
    assert found.differ("C4.5", "C4.5+m")
    assert found.differ("C4.5+m+cf", "C4.5")
    assert not found.differ("C4.5", "C4.5+cf")


@pytest.mark.parametrize(
    ("alpha", "quantiles"),
    [
        (0.05, [1.960, 2.343, 2.569, 2.728, 2.850, 2.949, 3.031, 3.102, 3.164]),
        (0.10, [1.645, 2.052, 2.291, 2.459, 2.589, 2.693, 2.780, 2.855, 2.920]),
    ],
)
def test_printed_quantiles_for_two_to_ten_methods(alpha: float, quantiles: list[float]) -> None:
    for n_methods, printed in enumerate(quantiles, start=2):
        q = critical_difference(n_methods, 1, alpha) / np.sqrt(n_methods * (n_methods + 1) / 6)
        assert q == pytest.approx(printed, abs=1.1e-3)  # printed with the last digit cut or rounded


def test_hamming_ranks_of_the_mlarp_paper() -> None:
    table = dict(zip(REDUCTIONS, np.array(list(HAMMING.values())).T, strict=True))
    found = friedman_nemenyi(table, alpha=0.1, better="low")
    assert dict(found.mean_ranks) == dict(zip(REDUCTIONS, MEAN_RANKS[4], strict=True))


def test_global_ranks_of_the_mlarp_paper() -> None:
    ranks = rank_table(MEAN_RANKS, better="low").values.mean(axis=0)
    printed = [1.64, 7.91, 2.64, 5.41, 4.05, 1.91, 7.09, 5.36]
    np.testing.assert_allclose(ranks, printed, atol=0.0051)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(2, 9).flatmap(
        lambda n: st.integers(3, 6).flatmap(
            lambda k: st.lists(
                st.lists(st.integers(0, 4), min_size=k, max_size=k), min_size=n, max_size=n
            )
        )
    )
)
def test_as_scipy_on_ties(rows: list[list[int]]) -> None:
    values = np.array(rows, dtype=float)
    found = rank_tests(values, 0.05, correct_ties=True)
    if (values == values[:, :1]).all():
        assert (found.chi2, found.p_chi2, found.rejected) == (0.0, 1.0, False)
        return
    wanted = stats.friedmanchisquare(*values.T)
    assert found.chi2 == pytest.approx(wanted.statistic, abs=1e-9)
    assert found.p_chi2 == pytest.approx(wanted.pvalue, abs=1e-9)
    assert rank_tests(values, 0.05).chi2 <= found.chi2 + 1e-9


def test_all_samples_agree() -> None:
    found = friedman_nemenyi({"a": [3, 3, 3], "b": [2, 2, 2], "c": [1, 1, 1]})
    assert (found.f, found.chi2) == (np.inf, 6.0)
    assert found.p_f == pytest.approx(1 / 36)  # two samples repeat the first of six orders
    assert dict(found.mean_ranks) == {"a": 1, "b": 2, "c": 3}


def test_agreement_with_ties_counts_the_orders_that_differ() -> None:
    found = rank_tests([[2, 1, 1], [5, 3, 3], [9, 0, 0]], 0.05, correct_ties=True)
    assert found.f == np.inf
    assert found.p_f == pytest.approx(1 / 9)  # which of the three methods stands alone, twice


def test_two_samples_that_agree_prove_nothing() -> None:
    with pytest.warns(UserWarning, match="2 samples of 3 methods are too few"):
        found = friedman_nemenyi({"a": [3, 3], "b": [2, 2], "c": [1, 1]})
    assert found.p_f == pytest.approx(1 / 6)
    assert not found.rejected


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=8), st.integers(1, 9))
def test_groups_are_the_largest_sets_that_are_close(ranks: list[int], apart: int) -> None:
    named = {str(at): float(rank) for at, rank in enumerate(ranks)}
    close = [
        set(names)
        for size in range(2, len(named) + 1)
        for names in combinations(named, size)
        if max(named[n] for n in names) - min(named[n] for n in names) < apart
    ]
    largest = [names for names in close if not any(names < other for other in close)]
    found = [set(group) for group in groups_within(named, apart)]
    assert sorted(map(sorted, found)) == sorted(map(sorted, largest))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"alpha": 0.0}, "alpha: expected a number between 0 and 1"),
        ({"alpha": 1.5}, "alpha"),
        ({"better": "none"}, "better"),
        ({"table": [[1.0, np.nan], [1.0, 2.0]]}, "finite numbers"),
        ({"table": [1.0, 2.0]}, "samples × methods"),
        ({"table": {"a": {"x": 1, "y": 2}, "b": {"x": 1, "z": 2}}}, "the same samples"),
        ({"table": {"a": {"x": 1, "y": 2}, "b": [1, 2]}}, "the same samples"),
        ({"table": {"a": ["x", "y"], "b": ["x", "y"]}}, "numbers, as many"),
    ],
)
def test_bad_arguments(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        friedman_nemenyi(**({"table": TREES} | arguments))
