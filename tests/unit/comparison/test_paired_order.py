"""The paired order: against SciPy, against the web pages of the ML-kNN paper, in edge cases."""

import csv
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from vicinal.comparison import paired_order
from vicinal.comparison.pairwise import paired_t_test

A1, A2, A3, A4 = "ml-knn", "boostexter", "adtboost.mh", "rank-svm"

PUBLISHED = {
    "hamming-loss": {(A3, A2), (A4, A2)},
    "one-error": {(A2, A3)},
    "coverage": {(A1, A4), (A2, A4), (A3, A4)},
    "ranking-loss": {(A1, A4), (A2, A4)},
    "average-precision": {(A2, A4)},
}
"""Table 15 of Zhang & Zhou 2007."""


@pytest.fixture
def web_pages() -> dict[str, dict[str, dict[str, float]]]:
    """Tables 10 to 14 of Zhang & Zhou 2007, as printed: metric, method, data set."""
    results: Any = defaultdict(lambda: defaultdict(dict))
    with (Path(__file__).parent / "zhang2007_yahoo.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            metric, dataset = row.pop("metric"), row.pop("dataset")
            for method, value in row.items():
                if value:  # ADTBoost.MH has no ranking loss
                    results[metric][method][dataset] = float(value)
    return results


def test_table_15_of_the_mlknn_paper(web_pages: Any) -> None:
    # One cell repeats that of its neighbour; the printed average, 0.6046, tells what it was.
    cells = web_pages["average-precision"][A4]
    assert cells["society"] == web_pages["average-precision"][A2]["society"]
    cells["society"] = 11 * 0.6046 - sum(v for name, v in cells.items() if name != "society")
    order = paired_order(web_pages)
    found = defaultdict(set)
    for win in order.wins:
        found[win.metric].add((win.winner, win.loser))
    assert found == PUBLISHED
    assert dict(order.scores) == {A1: 2, A2: 2, A3: 1, A4: -5}
    assert list(order.scores)[-2:] == [A3, A4]


def test_the_cell_as_printed_makes_one_more_win(web_pages: Any) -> None:
    order = paired_order({"average-precision": web_pages["average-precision"]})
    assert {(w.winner, w.loser) for w in order.wins} == {(A2, A4), (A3, A4)}


def test_t_test_as_scipy() -> None:
    rng = np.random.default_rng(3)
    for n in (2, 3, 10, 40):
        a, b = rng.normal(size=n), rng.normal(0.3, 1.0, size=n)
        mean, p = paired_t_test(a, b)
        assert mean == pytest.approx((a - b).mean())
        assert p == pytest.approx(stats.ttest_rel(a, b).pvalue, rel=1e-9)


def test_direction_follows_the_metric() -> None:
    small, large = [0.1, 0.2, 0.11, 0.19], [0.5, 0.7, 0.52, 0.61]
    for metric, winner in (("hamming-loss", "s"), ("micro-f1", "l"), ("ndcg@3", "l")):
        order = paired_order({metric: {"s": small, "l": large}})
        assert [win.winner for win in order.wins] == [winner]
        assert order.beats(winner, "l" if winner == "s" else "s", metric)
        assert not order.beats("l" if winner == "s" else "s", winner, metric)


def test_no_variance_and_rounding() -> None:
    base = np.array([0.3, 0.4, 0.6, 0.7, 0.9])
    order = paired_order({"micro-f1": {"a": base, "same": base.copy(), "better": base + 0.25}})
    assert {(w.winner, w.loser) for w in order.wins} == {("better", "a"), ("better", "same")}
    noisy = np.nextafter(base, 1.0)  # one unit in the last place, always the same way
    assert stats.ttest_1samp(noisy - base, 0.0).pvalue < 0.05
    assert paired_order({"micro-f1": {"a": base, "noisy": noisy}}).wins == ()


def test_alpha_decides() -> None:
    table = {"A": [1.0, 2.0, 3.0, 4.0], "B": [0.5, 1.9, 2.2, 4.1]}
    p = stats.ttest_rel(table["A"], table["B"]).pvalue
    assert paired_order({"micro-f1": table}, alpha=p * 0.99).wins == ()
    (win,) = paired_order({"micro-f1": table}, alpha=p * 1.01).wins
    assert win.p == pytest.approx(p)


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ({}, "results: expected a mapping of metric to table"),
        ([1], "results: expected a mapping of metric to table"),
        ({"micro-f2": {"a": [1, 2], "b": [1, 2]}}, "did you mean"),
        ({"cardinality": {"a": [1, 2], "b": [1, 2]}}, "metrics that can be optimised"),
        ({"micro-f1": {"a": [1, 2], "b": [1]}}, r"results\['micro-f1'\]: expected numbers"),
        ({"micro-f1": {"a": [1, 2]}}, "at least two samples and two methods"),
        ({"micro-f1": {"a": [1], "b": [1]}}, "at least two samples and two methods"),
    ],
)
def test_bad_results(results: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        paired_order(results)
