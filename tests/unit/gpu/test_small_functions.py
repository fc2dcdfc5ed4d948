"""Examples of functions that other tests reach only on the way."""

import numpy as np
import torch

from vicinal.gpu.mlknn_loss import spd_inverse
from vicinal.gpu.search import Definition, list_width, square_roots


def test_spd_inverse():
    np.testing.assert_equal(spd_inverse(np.array([[3.0]]), 1.0, "cpu"), np.array([[0.25]]))


def test_definition():
    from vicinal.distances import EUCLIDEAN

    X = torch.tensor([[0.0, 0.0], [3.0, 4.0]])
    np.testing.assert_equal(
        (Definition(X, EUCLIDEAN).chosen(X[:1], torch.tensor([[1, 0, -1]]))),
        np.array([[25.0, 0.0, np.nan]]),
    )


def test_square_roots():
    assert square_roots(torch.tensor([0.5, 4.0], dtype=torch.float64)).tolist() == [
        0.7071067811865476,
        2.0,
    ]


def test_list_width():
    assert (list_width(5), list_width(30)) == (16, 48)
