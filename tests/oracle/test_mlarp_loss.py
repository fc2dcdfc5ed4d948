"""The loss of ML-ARP is that of its definition, in plain Python."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from scipy import sparse

from vicinal.gpu import ProjectionLoss
from vicinal.metrics import example_f1
from vicinal.reduction import MLARP
from vicinal.reduction.mlarp import Objective

pytestmark = pytest.mark.native


def predicted(oracle, X, P, Y, k, s):
    """Return the label sets that ML-kNN gives the projected rows, each left out of its own."""
    rows = [[float(value) for value in row] for row in np.asarray(X) @ P]
    sets = [set(np.flatnonzero(row)) for row in Y]
    near = oracle.leave_one_out(rows, k)
    everyone = range(len(rows))
    return [
        {
            label
            for label in range(Y.shape[1])
            if oracle.mlknn_score(near[i], label, sets, near, everyone, k, s) >= 0.5
        }
        for i in everyone
    ]


def hamming(Y, label_sets):
    wrong = sum(
        len(set(np.flatnonzero(row)) ^ given_set)
        for row, given_set in zip(Y, label_sets, strict=True)
    )
    return wrong / Y.size


def on_device(X, Y, k, s):
    """Return the loss as it is computed on a device, here the CPU."""
    labels = sparse.csr_array(Y)
    return ProjectionLoss(X, labels.indptr, labels.indices, Y.shape[1], k, s, "cpu")


@settings(deadline=None, max_examples=40)
@given(data=st.data())
def test_loss_on_rows_full_of_ties(oracle, data):
    n, m, n_labels = (data.draw(st.integers(1, high)) for high in (12, 3, 3))
    X = data.draw(arrays.arrays(np.float64, (n, m), elements=st.integers(-1, 1)))
    P = data.draw(arrays.arrays(np.float64, (m, 2), elements=st.integers(-1, 1)))
    Y = data.draw(arrays.arrays(np.int32, (n, n_labels), elements=st.integers(0, 1)))
    k, s = data.draw(st.integers(1, 6)), data.draw(st.sampled_from([0.0, 1.0]))
    sets = predicted(oracle, X, P, Y, k, s)
    labels = [[int(label in chosen) for label in range(n_labels)] for chosen in sets]
    for rows in (X, sparse.csr_array(X)):
        assert Objective(rows, sparse.csr_array(Y), k, s)(P) == hamming(Y, sets)
        other = Objective(rows, sparse.csr_array(Y), k, s, "example-f1")
        assert other(P) == -example_f1(Y, labels)
    assert on_device(X, Y, k, s)(P) == hamming(Y, sets)


@pytest.mark.parametrize("s", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_loss_on_random_rows(oracle, seed, s):
    rng = np.random.default_rng(seed)
    X, P = rng.normal(size=(60, 5)), rng.normal(size=(5, 3))
    Y = (rng.random((60, 4)) < [0.5, 0.3, 0.05, 0.9]).astype(np.int32)
    expected = hamming(Y, predicted(oracle, X, P, Y, 5, s))
    assert Objective(X, sparse.csr_array(Y), 5, s)(P) == expected
    assert on_device(X, Y, 5, s)(P) == expected


def test_a_case_of_nothing_over_nothing(oracle):
    """All rows carry the second label: without smoothing, what rows without it show is 0/0."""
    X, P = np.array([[0.0], [10.0], [1.0], [11.0]]), np.eye(1)
    Y = np.array([[1, 1], [1, 1], [0, 1], [0, 1]], dtype=np.int32)
    expected = hamming(Y, predicted(oracle, X, P, Y, 1, 0.0))
    assert Objective(X, sparse.csr_array(Y), 1, 0.0)(P) == expected == 0.0
    assert on_device(X, Y, 1, 0.0)(P) == expected


def test_the_fitted_loss_is_that_of_the_projection(oracle):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    Y = (X[:, :2] + X[:, 2:] > 0).astype(np.int32)
    found = MLARP(3, max_iter=20, random_state=1).fit(X, Y)
    expected = hamming(Y, predicted(oracle, X, found.projection_, Y, 5, 0.0))
    assert found.history_[-1] == expected


def test_an_exact_half_is_predicted_for_every_objective():
    """Eight rows in pairs: of each truth two get a vote and two do not, so all stand at a half.

    All predicted: 4 of 8 are right, and micro-F1 is 2 · 4 / (8 + 4); none predicted, it would be 0.
    """
    X = np.array([[0.0], [1], [10], [11], [20], [21], [30], [31]])
    Y = sparse.csr_array(np.array([[1], [0], [1], [0], [1], [1], [0], [0]], dtype=np.int32))
    assert Objective(X, Y, 1, 0.0)(np.eye(1)) == 0.5
    assert on_device(X, Y, 1, 0.0)(np.eye(1)) == 0.5
    assert Objective(X, Y, 1, 0.0, "micro-f1")(np.eye(1)) == pytest.approx(-2 / 3)
