"""Examples of functions that other tests reach only on the way."""

import numpy as np

from vicinal.baselines._classifier import row_blocks
from vicinal.baselines.boosting import SplitFinder, exact_total, half_logistic, signed_distribution
from vicinal.baselines.svm import resolve_kernel


def test_row_blocks():
    assert repr(list(row_blocks(3, 2**21))) == "[slice(0, 2, None), slice(2, 3, None)]"


def test_signed_distribution():
    np.testing.assert_equal(
        (signed_distribution(np.array([[1.0, -1.0]]), np.zeros((1, 2)), np.ones(1))),
        np.array([[0.5, -0.5]]),
    )


def test_exact_total():
    assert exact_total(np.array([[0.1], [0.3]]), np.array([3.0, 1.0])) == 0.6


def test_half_logistic():
    np.testing.assert_equal(
        (half_logistic(np.array([0.0, 400.0, -400.0]))), np.array([0.5, 1.0, 0.0])
    )


def test_splitfinder():
    finder = SplitFinder(np.array([[3.0, 1], [1, 2], [2, 5], [4, 7]]), n_labels=1, n_threads=1)
    signed = np.array([[0.25], [0.25], [-0.25], [-0.25]])
    assert (
        repr(finder.best(signed, np.ones(4, dtype=bool)))
        == "FeatureSplit(z=0.0, feature=1, threshold=3.5)"
    )


def test_resolve_kernel():
    assert (
        resolve_kernel("linear", 8, "scale", 1.0, np.array([[2.0, 0.0], [0.0, 2.0]])).gamma == 0.25
    )
