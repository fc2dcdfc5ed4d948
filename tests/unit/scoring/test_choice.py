"""The best of several values, by trying all or by climbing."""

import numpy as np
import pytest
from scipy import sparse

from vicinal.scores import Scores
from vicinal.scoring.choice import best_micro_f1, best_of, sampled_rows

pytestmark = pytest.mark.native


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


@pytest.mark.parametrize("is_sparse", [False, True])
def test_micro_f1_is_that_of_the_best_threshold(is_sparse):
    rng = np.random.default_rng(0)
    for n_rows in (1, 3, 60, 200):  # of the larger ones, only the largest scores are looked at
        Y = np.zeros((n_rows, 5), dtype=np.int32)
        Y.ravel()[rng.permutation(Y.size)[: 1 + n_rows // 10]] = 1
        values = rng.permutation(Y.size).reshape(Y.shape) + 1.0 + Y.size * Y * rng.random(Y.shape)
        scores = Scores.sparse(sparse.csr_array(values)) if is_sparse else Scores.dense(values)
        true = Y.ravel()[np.argsort(-values.ravel())]
        expected = max(2 * true[:n].sum() / (n + true.sum()) for n in range(1, Y.size + 1))
        assert best_micro_f1(scores, sparse.csr_array(Y)) == pytest.approx(expected)


def test_choices_are_made_on_4000_rows_at_most():
    for n_rows, step in ((0, 1), (4_000, 1), (4_001, 2), (8_001, 3)):
        assert sampled_rows(n_rows).tolist() == list(range(0, n_rows, step))
