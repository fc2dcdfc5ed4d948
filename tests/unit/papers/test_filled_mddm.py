"""MDDM filled up with arbitrary directions."""

import numpy as np
import pytest

from vicinal.papers.filled_mddm import FilledMDDM, filled
from vicinal.reduction import MDDM

pytestmark = pytest.mark.native


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 7))
    return X, (X[:, :2] > 0).astype(int)


def test_the_directions_of_the_labels_come_first(rows):
    X, Y = rows
    with pytest.warns(UserWarning, match="2"):
        model = FilledMDDM(5).fit(X, Y)
    P = model.projection_
    assert P.shape == (7, 5)
    assert P[:, :2] == pytest.approx(MDDM(2).fit(X, Y).projection_)
    products = P.T @ P
    assert products == pytest.approx(np.eye(5), abs=1e-12)
    assert model.transform(X).shape == (30, 5)


def test_nothing_is_filled_up_where_there_are_enough(rows):
    X, Y = rows
    assert FilledMDDM(2).fit(X, Y).projection_ == pytest.approx(MDDM(2).fit(X, Y).projection_)


def test_there_are_no_more_columns_than_features():
    assert filled(np.eye(3)[:, :1], 9).shape == (3, 3)
