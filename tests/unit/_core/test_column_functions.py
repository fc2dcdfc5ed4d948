"""Examples of functions that other tests reach only on the way."""

import numpy as np
from scipy import sparse

from vicinal._core.arrays import count_columns
from vicinal._core.csr import side_by_side, take_columns


def test_count_columns():
    assert count_columns(np.array([2, 0, 2]), 4).tolist() == [1, 0, 2, 0]


def test_take_columns():
    np.testing.assert_equal(
        take_columns(sparse.csr_array(np.eye(3)), 1, 3).toarray(),
        np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]),
    )


def test_side_by_side():
    np.testing.assert_equal(
        side_by_side([np.ones((1, 1)), sparse.csr_array(np.array([[0.0, 2.0]]))]).toarray(),
        np.array([[1.0, 0.0, 2.0]]),
    )
