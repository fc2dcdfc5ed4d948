"""Examples of functions that other tests reach only on the way."""

import numpy as np
from scipy import sparse

from vicinal.reduction._eigen import directions_wanted
from vicinal.reduction._projection import CentredRows, positive_first
from vicinal.reduction.mlarp import Walk, sample_size


def test_directions_wanted():
    assert (directions_wanted(None, 14), directions_wanted(64, 14), directions_wanted(3, 14)) == (
        14,
        14,
        3,
    )


def test_positive_first():
    np.testing.assert_equal(
        (positive_first(np.array([[0.6, -0.8], [0.8, 0.6]]))), np.array([[0.6, 0.8], [0.8, -0.6]])
    )


def test_centredrows():
    rows = CentredRows(sparse.csr_array(np.array([[1.0, 0.0], [3.0, 4.0]])))
    np.testing.assert_equal(rows.dot(np.eye(2)), np.array([[-1.0, -2.0], [1.0, 2.0]]))


def test_walk_next_sigma():
    walk = Walk(learned=True)
    sigma = walk.next_sigma(1.0, helped=True)
    for _ in range(4):
        sigma = walk.next_sigma(sigma, helped=False)
    assert round(sigma, 12) == 1.0


def test_sample_size():
    assert [sample_size(sample, 1000) for sample in (None, 0.25, 400, 5000)] == [
        1000,
        250,
        400,
        1000,
    ]
