"""The order of rows by their contents, whatever order rows, columns and labels come in."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.methods.blend.mixture import content_numbers, content_order


@st.composite
def problems(draw):
    n, m, n_labels = (draw(st.integers(1, 8)) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.choice([0.0, 0.0, 0.5, 1.0, 2.0], size=(n, m))
    Y = (rng.random((n, n_labels)) < 0.4).astype(np.int32)
    return X, Y, rng


@settings(max_examples=150)
@given(problem=problems())
def test_rows_in_any_order_have_the_same_numbers(problem):
    X, Y, rng = problem
    order = rng.permutation(len(X))
    there = content_numbers(X, sparse.csr_array(Y))
    assert content_numbers(X[order], sparse.csr_array(Y[order])).tolist() == there[order].tolist()


@settings(max_examples=100)
@given(problem=problems())
def test_columns_and_labels_in_any_order(problem):
    X, Y, rng = problem
    columns, labels = rng.permutation(X.shape[1]), rng.permutation(Y.shape[1])
    moved = content_numbers(X[:, columns], sparse.csr_array(Y[:, labels]))
    assert moved.tolist() == content_numbers(X, sparse.csr_array(Y)).tolist()


@settings(max_examples=100)
@given(problem=problems())
def test_rows_that_differ_have_different_numbers(problem):
    X, Y, rng = problem
    X = X * rng.random(X.shape[1])  # no symmetries: no two columns have the same values
    numbers = content_numbers(X, sparse.csr_array(Y))
    sets = [(*X[row], Y[row].sum()) for row in range(len(X))]
    for row, other in combinations(range(len(X)), 2):
        if sets[row] != sets[other]:
            assert numbers[row] != numbers[other]
        elif np.array_equal(Y[row], Y[other]):
            assert numbers[row] == numbers[other]


@settings(max_examples=50)
@given(problem=problems())
def test_sparse_and_dense_rows_are_the_same(problem):
    X, Y, _ = problem
    Y = sparse.csr_array(Y)
    stored = sparse.csr_array(X)
    with_zeros = sparse.csr_array(
        (X.ravel(), np.tile(np.arange(X.shape[1]), len(X)), np.arange(len(X) + 1) * X.shape[1]),
        shape=X.shape,
    )
    expected = content_order(X, Y).tolist()
    assert content_order(stored, Y).tolist() == expected
    assert content_order(with_zeros, Y).tolist() == expected


def test_the_order_is_no_order_of_values():
    X, Y = np.arange(1.0, 200.0)[:, None], sparse.csr_array(np.ones((199, 1), dtype=np.int32))
    order = content_order(X, Y)
    assert abs(np.corrcoef(order, np.arange(199))[0, 1]) < 0.2
