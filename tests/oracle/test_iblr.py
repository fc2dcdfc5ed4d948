"""IBLR-ML and IBLR-ML+ against scikit-learn's regressions on features counted in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from vicinal import IBLR
from vicinal.index import DenseIndex
from vicinal.methods import iblr
from vicinal.methods.iblr import IBLRScoring
from vicinal.methods.training import Training

pytestmark = pytest.mark.native


@st.composite
def problems(draw):
    n_labels, n_features = draw(st.integers(1, 3)), draw(st.integers(1, 2))
    point = st.lists(st.integers(0, 3).map(float), min_size=n_features, max_size=n_features)
    X = draw(st.lists(point, min_size=1, max_size=10))
    Y = [draw(st.sets(st.integers(0, n_labels - 1))) for _ in X]
    queries = draw(st.lists(point, min_size=1, max_size=3))
    return X, Y, queries, n_labels, draw(st.integers(1, 12)), draw(st.booleans())


def regressors(oracle, rows, X, Y, n_labels, k, augment, leave_out):
    table = []
    for i, row in enumerate(rows):
        near = oracle.nearest(row, X, k, leave_out=i if leave_out else None)
        table.append(oracle.confidence(near, Y, n_labels) + (row if augment else []))
    return np.array(table)


def probabilities(train, truth, asked, C):
    if truth.min() == truth.max():
        return np.full(len(asked), float(truth[0]))
    model = LogisticRegression(C=C, solver="newton-cg", tol=1e-10, max_iter=10_000)
    return model.fit(train, truth).predict_proba(asked)[:, 1]


@pytest.mark.parametrize("augment", [False, True])
@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@settings(max_examples=15, deadline=None)
@given(problem=problems())
def test_iblr(oracle, augment, C, problem):
    X, Y, queries, n_labels, k, as_sparse = problem
    truth = np.array([[int(label in labels) for label in range(n_labels)] for labels in Y])
    train = regressors(oracle, X, X, Y, n_labels, k, augment, leave_out=True)
    asked = regressors(oracle, queries, X, Y, n_labels, k, augment, leave_out=False)
    wanted = np.stack(
        [probabilities(train, truth[:, label], asked, C) for label in range(n_labels)], axis=1
    )
    kind = sparse.csr_array if as_sparse else np.asarray
    model = IBLR(k, C, augment).fit(kind(X), truth)
    scores = model.predict_proba(kind(queries))
    np.testing.assert_allclose(scores, wanted, rtol=0, atol=1e-5)
    assert np.array_equal(model.predict(kind(queries)), scores >= 0.5)


def overlapping(n_rows=80, n_labels=5, seed=3):
    """Labels that depend on the features and on chance, so that no regression is separable."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, 3))
    noise = rng.normal(scale=1.5, size=(n_rows, n_labels))
    return X, (X @ rng.normal(size=(3, n_labels)) + noise > 0).astype(int)


def test_without_penalty(oracle):
    X, truth = overlapping()
    Y = [set(np.flatnonzero(row).tolist()) for row in truth]
    rows = X.tolist()
    train = regressors(oracle, rows, rows, Y, 5, 10, False, leave_out=True)
    asked = regressors(oracle, rows, rows, Y, 5, 10, False, leave_out=False)
    wanted = [probabilities(train, truth[:, label], asked, np.inf) for label in range(5)]
    scores = IBLR(10, C=np.inf).fit(X, truth).predict_proba(X)
    np.testing.assert_allclose(scores, np.stack(wanted, axis=1), rtol=0, atol=1e-4)


def test_separable_labels_without_penalty_are_told_apart():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    Y = np.array([[1], [1], [0], [0]])
    scores = IBLR(1, C=np.inf).fit(X, Y).predict_proba(X)
    np.testing.assert_allclose(scores, Y, rtol=0, atol=1e-6)


def test_groups_and_threads_do_not_change_the_weights(monkeypatch):
    X, Y = overlapping(n_labels=7)
    graph = DenseIndex(X).query_self(6)
    training = Training(graph, sparse.csr_array(Y).astype(np.int32), X)
    whole = IBLRScoring.fit(training, 6, augment=True, n_jobs=1)
    monkeypatch.setattr(iblr, "GROUP", 2)
    parts = IBLRScoring.fit(training, 6, augment=True, n_jobs=3)
    np.testing.assert_allclose(parts.weights, whole.weights, rtol=0, atol=1e-5)
    again = IBLRScoring.fit(training, 6, augment=True, n_jobs=1)
    assert np.array_equal(again.weights, parts.weights)


def test_a_regression_that_does_not_converge_says_so(monkeypatch):
    X, Y = overlapping()
    monkeypatch.setattr(iblr, "MAX_STEPS", 2)
    with pytest.warns(ConvergenceWarning, match="of 5 logistic regressions"):
        IBLR(10).fit(X, Y)


def test_every_k_at_once_is_each_k_by_itself():
    X, Y = overlapping(n_rows=30, n_labels=3)
    graph = DenseIndex(X).query_self(4)
    training = Training(graph, sparse.csr_array(Y).astype(np.int32), X)
    for k, state in enumerate(IBLRScoring.fit_sweep(training, range(1, 5), augment=True), start=1):
        alone = IBLRScoring.fit(training, k, augment=True)
        assert np.array_equal(state.weights, alone.weights)
        assert np.array_equal(state.intercepts, alone.intercepts)
