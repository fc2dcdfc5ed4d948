"""BRkNN in its variants and LPkNN against the definitions."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal import BRkNN, LPkNN
from vicinal.index import DenseIndex

pytestmark = pytest.mark.native


@st.composite
def problems(draw):
    """Rows full of ties and duplicates, label sets that repeat, empty and full ones among them."""
    n_rows, n_labels = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    n_features, n_values = draw(st.integers(1, 2)), draw(st.integers(1, 4))
    often = draw(st.sampled_from([0.0, 0.3, 0.6, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def points(count):
        return rng.integers(0, n_values, (count, n_features)).astype(float).tolist()

    pool = [
        set(np.flatnonzero(rng.random(n_labels) < often).tolist())
        for _ in range(rng.integers(1, 4))
    ]
    Y = [pool[rng.integers(len(pool))] for _ in range(n_rows)]
    return points(n_rows), Y, points(rng.integers(1, 5)), n_labels, draw(st.integers(1, 12))


def indicator(Y, n_labels):
    return np.array([[int(label in labels) for label in range(n_labels)] for labels in Y])


def as_sets(predicted):
    return [set(np.flatnonzero(row).tolist()) for row in predicted]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("variant", ["base", "a", "b"])
@settings(max_examples=40, deadline=None)
@given(problem=problems(), as_sparse=st.booleans())
@example(problem=([[0.0], [0.0]], [{0}, set()], [[0.0]], 2, 2), as_sparse=False)  # exactly half
@example(problem=([[0.0]], [set()], [[1.0]], 3, 5), as_sparse=True)  # no votes at all
@example(problem=([[0.0], [1.0]], [{0, 1}, {1}], [[0.0]], 2, 2), as_sparse=False)  # z = 1.5
def test_brknn(oracle, variant, strict, as_sparse, problem):
    X, Y, queries, n_labels, k = problem
    kind = sparse.csr_array if as_sparse else np.asarray
    model = BRkNN(k, variant, strict).fit(kind(X), indicator(Y, n_labels))
    near = [oracle.nearest(query, X, k) for query in queries]
    wanted = [oracle.brknn_labels(rows, Y, n_labels, variant, strict) for rows in near]
    assert as_sets(model.predict(kind(queries))) == wanted
    scores = [oracle.confidence(rows, Y, n_labels) for rows in near]
    assert np.array_equal(model.predict_proba(kind(queries)), scores)


@settings(max_examples=100, deadline=None)
@given(problem=problems(), as_sparse=st.booleans())
@example(problem=([[0.0], [1.0], [2.0]], [{0}, {1}, {1}], [[0.0]], 2, 3), as_sparse=False)
@example(problem=([[0.0], [1.0]], [{0, 1}, {0}], [[1.0]], 2, 2), as_sparse=True)  # nearest wins
@example(problem=([[1.0], [1.0]], [{1}, {0}], [[1.0]], 2, 2), as_sparse=False)  # lower row wins
def test_lpknn(oracle, as_sparse, problem):
    X, Y, queries, n_labels, k = problem
    labels = indicator(Y, n_labels)
    model = LPkNN(k).fit(np.asarray(X), sparse.csr_array(labels) if as_sparse else labels)
    near = [oracle.nearest(query, X, k) for query in queries]
    predicted = model.predict(np.asarray(queries))
    predicted = predicted.toarray() if as_sparse else predicted
    assert as_sets(predicted) == [oracle.lpknn_labels(rows, Y) for rows in near]
    scores = [oracle.confidence(rows, Y, n_labels) for rows in near]
    assert np.array_equal(model.scores(np.asarray(queries)).toarray(), scores)


@settings(max_examples=40, deadline=None)
@given(problem=problems())
def test_lpknn_leave_one_out_and_every_k(oracle, problem):
    X, Y, _, n_labels, k = problem
    graph = DenseIndex(np.asarray(X)).query_self(max(1, min(k, len(X) - 1)))
    scoring = LPkNN(k).fit(np.asarray(X), indicator(Y, n_labels)).scoring_
    ks = list(range(1, graph.k + 1))
    for width, scores in zip(ks, scoring.sweep(graph, ks), strict=True):
        near = oracle.leave_one_out(X, width)
        wanted = [oracle.lpknn_labels(rows, Y) for rows in near]
        assert as_sets(scores.label_sets.toarray()) == wanted
        assert np.array_equal(
            scores.toarray(), [oracle.confidence(rows, Y, n_labels) for rows in near]
        )


def test_lpknn_without_neighbours_predicts_nothing_and_other_rules_still_work():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    Y = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1]])
    stranger, known = [0.0, 1.0], [1.0, 0.0]
    rows = np.array([stranger, known])
    model = LPkNN(3, metric="cosine").fit(X, Y)
    assert model.predict(rows).tolist() == [[0, 0, 0], [1, 0, 1]]
    assert model.predict_proba(rows).tolist() == [[0, 0, 0], [2 / 3, 1 / 3, 1]]
    at_least = LPkNN(3, metric="cosine", threshold=0.3).fit(X, Y)
    assert at_least.predict(rows).tolist() == [[0, 0, 0], [1, 1, 1]]
    never = LPkNN(3, metric="cosine", never_empty=True).fit(X, Y)
    assert never.predict(rows).tolist() == [[0, 0, 1], [1, 0, 1]]


@pytest.mark.parametrize("kind", [BRkNN, LPkNN])
def test_shares_are_of_the_neighbours_found_not_of_k(kind):
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    Y = np.array([[1, 0], [1, 1], [0, 1]])
    model = kind(3, metric="cosine").fit(X, Y)
    assert model.predict_proba([[2.0, 0.0], [0.0, 3.0]]).tolist() == [[1.0, 0.5], [0.0, 1.0]]
