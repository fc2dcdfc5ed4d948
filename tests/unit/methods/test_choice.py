"""The best of several values, by trying all or by climbing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal.methods import _formulas
from vicinal.methods._formulas import best_micro_f1, best_of, sampled_rows
from vicinal.scores import Scores

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


def best_f1_by_trying_all(values, true, n_true):
    """Return the best F1 of the n largest scores, with true ones last and first among ties."""
    found = []
    for first in (true, 1 - true):
        hits = np.cumsum(true[np.lexsort((first, -values))])
        f1 = [2 * hit / (n + n_true) for n, hit in enumerate(hits, start=1)]
        found.append(max(f1, default=0))
    return found


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 120),
    share=st.sampled_from([0.0, 0.002, 0.02, 0.3, 1.0]),
    distinct=st.sampled_from([2, 30, None]),
    help_=st.sampled_from([-1.0, 0.0, 0.05, 1.0]),
    stored=st.sampled_from([0.3, 1.0]),
)
def test_micro_f1_is_exact_however_bad_the_scores(seed, n_rows, share, distinct, help_, stored):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n_rows, 7)) < share).astype(np.int32)
    values = rng.random(Y.shape) + help_ * Y + 2.0
    if distinct is not None:
        values = np.ceil(values * distinct) / distinct
    kept = rng.random(Y.shape) < stored
    scores = Scores.dense(values)
    if stored < 1:
        scores = Scores.sparse(sparse.csr_array(np.where(kept, values, 0.0)))
    cells = kept.ravel() if stored < 1 else np.ones(Y.size, dtype=bool)
    low, high = best_f1_by_trying_all(values.ravel()[cells], Y.ravel()[cells], Y.sum())
    found = best_micro_f1(scores, sparse.csr_array(Y))
    assert low - 1e-12 <= found <= high + 1e-12
    if distinct is None:
        assert found == pytest.approx(low, abs=1e-12)


def test_only_bad_scores_are_looked_at_twice(monkeypatch):
    looks = []
    usual = _formulas._best_of_top
    monkeypatch.setattr(_formulas, "_best_of_top", lambda *a: looks.append(a[-1]) or usual(*a))
    Y = np.zeros((1_000, 10), dtype=np.int32)
    Y[:, 0] = np.arange(1_000) < 20
    good, useless = Scores.dense(Y + np.arange(1e4).reshape(Y.shape) / 1e5), Scores.dense(1.0 - Y)
    assert best_micro_f1(good, sparse.csr_array(Y)) == 1.0
    assert looks == [220]
    assert best_micro_f1(useless, sparse.csr_array(Y)) == 2 * 20 / (10_000 + 20)
    assert looks == [220, 220, 10_000]
    Y[:, 0] = np.arange(1_000) % 50 == 0  # found one by one: 1 of 500 cells is true
    falling = Scores.dense(-np.arange(1e4).reshape(Y.shape))
    best = best_micro_f1(falling, sparse.csr_array(Y))
    assert best == max(2 * (n // 500 + 1) / (n + 1 + 20) for n in range(10_000))
    assert looks[3:] == [220, 401]  # F is 2 / 21 at n = 1: 20 true ones could beat it to n = 400


def test_choices_are_made_on_4000_rows_at_most():
    for n_rows, step in ((0, 1), (4_000, 1), (4_001, 2), (8_001, 3)):
        assert sampled_rows(n_rows).tolist() == list(range(0, n_rows, step))
