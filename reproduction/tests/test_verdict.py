"""The matching rule, at and around its borders."""

import pytest

from vicinal_reproduction.figures.verdict import better_side, judge, tolerance


@pytest.mark.parametrize(
    ("ours", "paper", "std", "verdict"),
    [
        (0.0415, 0.04, None, "matched"),  # 0.0015 is allowed where 3 % is less
        (0.0416, 0.04, None, "worse"),
        (0.0384, 0.04, None, "better"),
        (0.515, 0.5, None, "matched"),  # 3 %
        (0.5151, 0.5, None, "worse"),
        (0.52, 0.5, 0.02, "matched"),  # the paper's standard deviation
        (0.5201, 0.5, 0.02, "worse"),
        (0.515, 0.5, 0.001, "matched"),  # a small deviation takes nothing away
    ],
)
def test_a_loss(ours, paper, std, verdict):
    assert judge("hamming-loss", ours, paper, std) == verdict


def test_a_gain_is_judged_the_other_way():
    assert judge("micro-f1", 0.6, 0.5) == "better"
    assert judge("micro-f1", 0.4, 0.5) == "worse"


def test_ranks_are_better_low_and_run_times_are_not_judged():
    assert better_side("rank of f1") == better_side("global rank") == "low"
    assert judge("seconds", 0.1, 100.0) == "shown"


def test_metrics_without_a_direction_are_not_judged():
    assert judge("mean neighbour count of beach", 5.0, 1.0) == "shown"
    assert judge("cardinality", 5.0, 1.0) == "shown"


def test_tolerance_of_a_negative_or_zero_figure():
    assert tolerance(0.0) == 0.0015
    assert tolerance(-1.0) == 0.03
