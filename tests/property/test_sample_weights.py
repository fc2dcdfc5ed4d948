"""A row of weight w counts as w equal rows, for every method that takes weights."""

from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from vicinal import LabelRidge
from vicinal.baselines import ADTBoostMH, BoosTexter, LabelFrequency
from vicinal.decision import CardinalityThreshold, NeverEmpty, Threshold
from vicinal.decision.rule import fit_blocks
from vicinal.methods._formulas import best_micro_f1, best_weighted_micro_f1
from vicinal.scores import Scores

pytestmark = pytest.mark.native

WEIGHTED = {
    "ridge": LabelRidge(keep_loo=True),
    "ridge-dot": LabelRidge(alpha=0.3, metric="dot", keep_loo=True),
    "ridge-columns": LabelRidge(max_features=2, metric="dot", keep_loo=True),
    "ridge-kernel": LabelRidge(kernel="rbf", gamma=0.5, metric="euclidean", keep_loo=True),
    "boostexter": BoosTexter(n_rounds=4),
    "adtboost": ADTBoostMH(n_rounds=3),
    "frequency": LabelFrequency(),
}


def sample(seed: int, n_columns: int) -> tuple[Any, Any, Any]:
    """Rows, labels and whole weights, among them zeros."""
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(4, 12))
    X = rng.integers(0, 3, (n_rows, n_columns)).astype(float)
    Y = (rng.random((n_rows, 3)) < 0.4).astype(int)
    weights = rng.integers(0, 4, n_rows)
    weights[0] = max(weights[0], 1)
    return X, Y, weights


def repeated(rows: Any, weights: Any) -> Any:
    return np.repeat(rows, weights, axis=0)


@pytest.mark.parametrize("name", WEIGHTED)
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), is_sparse=st.booleans(), n_columns=st.sampled_from([3, 15]))
@example(seed=1227, is_sparse=False, n_columns=15)  # a tie of two splits
def test_whole_weights_are_repeated_rows(name, seed, is_sparse, n_columns):
    X, Y, weights = sample(seed, n_columns)
    rows = sparse.csr_array(X) if is_sparse else X
    weighted = clone(WEIGHTED[name]).fit(rows, Y, sample_weight=weights)
    oracle = clone(WEIGHTED[name]).fit(repeated(X, weights), repeated(Y, weights))
    np.testing.assert_allclose(
        weighted.scores(X).toarray(), oracle.scores(X).toarray(), rtol=1e-9, atol=1e-9
    )
    if isinstance(weighted, LabelRidge):  # each of the equal rows, left out alone
        left_out = weighted.loo_scores_.toarray()
        np.testing.assert_allclose(
            repeated(left_out, weights[weights > 0]),
            oracle.loo_scores_.toarray(),
            rtol=1e-9,
            atol=1e-9,
        )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    rule=st.sampled_from(
        [
            CardinalityThreshold(),
            CardinalityThreshold("two-pass"),
            NeverEmpty(CardinalityThreshold()),
            NeverEmpty(Threshold(0.5)),
            NeverEmpty(Threshold(0.5), always=False),
        ]
    ),
    block=st.integers(1, 5),
)
def test_rules_count_a_row_by_its_weight(seed, rule, block):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 9))
    scores = rng.integers(0, 6, (n_rows, 3)) / 5
    Y = sparse.csr_array((rng.random((n_rows, 3)) < 0.4).astype(np.int32))
    weights = rng.integers(1, 4, n_rows)
    blocks = [Scores.dense(scores[at : at + block]) for at in range(0, n_rows, block)]
    many = sparse.csr_array(repeated(Y.toarray(), weights))
    oracle = rule.fit(Scores.dense(repeated(scores, weights)), many)
    assert fit_blocks(rule, blocks, Y, weights.astype(float)) == oracle


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_choice_between_settings_counts_a_row_by_its_weight(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 9))
    scores = rng.permutation(3 * n_rows).reshape(n_rows, 3) / 7  # no two cells tie
    Y = (rng.random((n_rows, 3)) < 0.4).astype(np.int32)
    weights = rng.integers(1, 4, n_rows)
    many = Scores.dense(repeated(scores, weights)), sparse.csr_array(repeated(Y, weights))
    found = best_weighted_micro_f1(Scores.dense(scores), sparse.csr_array(Y), weights.astype(float))
    assert found == pytest.approx(best_micro_f1(*many), abs=1e-12)


def test_the_choice_of_alpha_follows_the_weights():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(30, 4)), (rng.random((30, 2)) < 0.5).astype(int)
    alphas = [0.01, 1.0, 100.0]
    chosen = {
        seed: LabelRidge(alphas).fit(X, Y, sample_weight=np.random.default_rng(seed).random(30))
        for seed in range(12)
    }
    assert len({model.alpha_ for model in chosen.values()}) > 1
