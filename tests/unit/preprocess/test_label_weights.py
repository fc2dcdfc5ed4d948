"""Label weights against the formula, written out as loops."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.pipeline import make_pipeline

import vicinal
from vicinal import BRkNN
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.preprocess import LabelWeights, label_weights


def by_the_formula(X, Y, prior):
    """The weight of each feature, one label at a time."""
    n_features, n_labels = len(X[0]), len(Y[0])
    counts = [sum(row[label] for row in Y) + 0.5 for label in range(n_labels)]
    p = [count / sum(counts) for count in counts]
    weights = []
    for feature in range(n_features):
        having = [y for x, y in zip(X, Y, strict=True) if x[feature] != 0]
        n = [sum(y[label] for y in having) for label in range(n_labels)]
        total = 0.0
        for label in range(n_labels):
            given_feature = (n[label] + prior * p[label]) / (sum(n) + prior)
            total += given_feature * math.log(given_feature / p[label])
        weights.append(math.sqrt(max(total, 0.0)))
    return weights


def transformed(X, weights):
    """The rows at length one, counts as 1 + their logarithm where all of them are counts."""
    values = []
    counts = all(value >= 1 for row in X for value in row if value != 0)
    for row in X:
        cells = [
            (1 + math.log(value) if counts else value) * weight if value else 0.0
            for value, weight in zip(row, weights, strict=True)
        ]
        length = math.sqrt(sum(cell * cell for cell in cells))
        values.append([cell / length if length else 0.0 for cell in cells])
    return values


@st.composite
def tables(draw):
    n, m, n_labels = (draw(st.integers(1, 6)) for _ in range(3))
    values = st.sampled_from(draw(st.sampled_from([(0, 0, 1, 2, 5), (0, 0.5, 0.25, 3)])))
    X = draw(st.lists(st.lists(values, min_size=m, max_size=m), min_size=n, max_size=n))
    bits = st.integers(0, 1)
    Y = draw(st.lists(st.lists(bits, min_size=n_labels, max_size=n_labels), min_size=n, max_size=n))
    return X, Y


@given(tables(), st.sampled_from([0.5, 5.0]), st.sampled_from([np.asarray, sparse.csr_array]))
def test_is_the_formula(table, prior, kind):
    X, Y = table
    fitted = LabelWeights(prior=prior).fit(kind(np.array(X, dtype=float)), Y)
    expected = by_the_formula(X, Y, prior)
    # A divergence of 0 comes out as some 1e-17, and its root as some 1e-8.
    np.testing.assert_allclose(fitted.weights_, expected, rtol=1e-9, atol=1e-7)
    got = fitted.transform(kind(np.array(X, dtype=float)))
    dense = got.toarray() if sparse.issparse(got) else got
    np.testing.assert_allclose(dense, transformed(X, fitted.weights_), rtol=1e-12, atol=1e-300)


def test_blocks_of_features_change_nothing(monkeypatch):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30, 17), density=0.3, format="csr", rng=rng)
    Y = (rng.random((30, 5)) < 0.3).astype(int)
    whole = LabelWeights().fit(X, Y).weights_
    monkeypatch.setattr(label_weights, "AT_ONCE", 10)
    np.testing.assert_array_equal(LabelWeights().fit(X, Y).weights_, whole)


def test_label_names_are_labels():
    X = [[1, 0], [0, 1], [1, 1]]
    by_name = LabelWeights().fit(X, [["a"], ["b"], ["a", "b"]])
    by_column = LabelWeights().fit(X, [[1, 0], [0, 1], [1, 1]])
    np.testing.assert_array_equal(by_name.weights_, by_column.weights_)


@pytest.mark.parametrize(
    ("X", "Y", "message"),
    [
        ([[1.0, -1.0]], [[1]], "Negative values"),
        ([[1.0, 2.0]], None, "the labels of the rows"),
        ([[1.0, 2.0]], [[1], [0]], "1 rows, as in X"),
    ],
)
def test_refuses(X, Y, message):
    with pytest.raises(InvalidArgumentError, match=message):
        LabelWeights().fit(X, Y)


def test_refuses_a_prior_of_zero():
    with pytest.raises(InvalidArgumentError, match="prior: expected a number above 0"):
        LabelWeights(prior=0).fit([[1.0]], [[1]])


def test_saved_in_a_pipeline_and_loaded(tmp_path):
    X, Y = [[1, 0, 2], [0, 1, 1], [3, 0, 0]], [[1, 0], [0, 1], [1, 0]]
    model = make_pipeline(LabelWeights(), BRkNN(1)).fit(X, Y)
    vicinal.save(model, tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    np.testing.assert_array_equal(again[0].transform(X), model[0].transform(X))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_refuses_damaged_weights():
    state = LabelWeights().fit([[1.0, 2.0]], [[1]]).get_state()
    with pytest.raises(ModelFormatError, match="at least 0"):
        LabelWeights.from_state({**state, "weights": np.array([-1.0, 0.0])})
