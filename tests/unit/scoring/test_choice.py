"""The best of several values, by trying all or by climbing."""

import pytest

from vicinal.scoring.choice import best_of


def fit_to(goal, tried):
    def fit(value):
        tried.append(value)
        return value, -abs(value - goal)

    return fit


@pytest.mark.parametrize("values", [(1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)])
def test_climbing_finds_what_trying_all_finds(values):
    for goal in values:
        tried = []
        assert best_of(values, fit_to(goal, tried)) == goal
        assert tried == list(values)
        tried.clear()
        assert best_of(values, fit_to(goal, tried), climbs=True) == goal
        assert len(tried) == len(set(tried)) <= 3


def test_of_equals_the_first_is_kept():
    assert best_of([3, 1, 2], lambda value: (value, 0.0)) == 3
    assert best_of([1, 2, 3], lambda value: (value, 0.0), climbs=True) == 2
