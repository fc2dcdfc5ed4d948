"""Bootstrap intervals: by enumeration of all draws, seeded, covering."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from vicinal.comparison import mean_differences


def test_as_the_enumeration_of_all_draws() -> None:
    apart = np.array([0.0, 1.0, 3.0, 10.0])
    means = [np.mean(draw) for draw in product(apart, repeat=4)]
    table = {"A": apart + 5, "B": np.full(4, 5.0)}
    (found,) = mean_differences(table, confidence=0.8, n_resamples=40_000)
    assert found.mean == 3.5
    # At 10 % and 90 % of 256 equally likely draws; both lie inside a step of their distribution.
    assert (found.low, found.high) == tuple(np.quantile(means, [0.1, 0.9], method="inverted_cdf"))


def test_a_pair_does_not_depend_on_the_others() -> None:
    rng = np.random.default_rng(1)
    table = dict(zip("ABC", rng.normal(size=(3, 9)), strict=True))
    three = mean_differences(table)
    assert [(d.first, d.second) for d in three] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert mean_differences({"A": table["A"], "C": table["C"]}) == (three[1],)
    other = mean_differences({"A": table["A"], "C": table["C"]}, random_state=1)
    assert other != (three[1],)


def test_the_other_way_round_is_the_mirror() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=(2, 7))
    (one,), (two,) = mean_differences([*zip(a, b, strict=True)]), mean_differences({"b": b, "a": a})
    assert (two.mean, two.low, two.high) == pytest.approx((-one.mean, -one.high, -one.low))


def test_the_interval_covers_about_as_often_as_it_says() -> None:
    rng = np.random.default_rng(5)
    covered = 0
    for _ in range(100):
        table = {"A": rng.normal(1.0, 1.0, size=40), "B": np.zeros(40)}
        (found,) = mean_differences(table, confidence=0.9, n_resamples=400)
        covered += found.low <= 1.0 <= found.high
    assert 80 <= covered <= 97


@pytest.mark.parametrize(
    "arguments", [{"confidence": 1.0}, {"confidence": 0}, {"n_resamples": 0}, {"random_state": -1}]
)
def test_bad_arguments(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(arguments))):
        mean_differences([[1, 2], [3, 4]], **arguments)
