"""Reductions filled up with arbitrary directions."""

import numpy as np
import pytest
from scipy import sparse

from vicinal.reduction import MDDM, OPLS, LabelCCA
from vicinal_reproduction.protocols.filled_directions import (
    Filled,
    least,
    orthonormal,
    uncorrelated,
)

pytestmark = pytest.mark.native


def products(P):
    return P.T @ P


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 7)) * [1, 1, 5, 1, 0.2, 1, 1] + 3.0
    return X, (X[:, :2] > 3).astype(int)


def test_the_directions_of_the_labels_come_first(rows):
    X, Y = rows
    model = Filled(MDDM(), orthonormal, 5).fit(X, Y)
    P = model.projection_
    assert P.shape == (7, 5)
    assert P[:, :2] == pytest.approx(MDDM(2).fit(X, Y).projection_)
    assert products(P) == pytest.approx(np.eye(5), abs=1e-12)
    assert model.transform(X) == pytest.approx(X @ P)


def test_nothing_is_filled_up_where_there_are_enough(rows):
    X, Y = rows
    found = Filled(MDDM(), orthonormal, 2).fit(X, Y).projection_
    assert found == pytest.approx(MDDM(2).fit(X, Y).projection_)
    assert Filled(MDDM(), orthonormal, 1).fit(X, Y).projection_ == pytest.approx(found[:, :1])


def test_there_are_no_more_columns_than_features():
    assert orthonormal(np.eye(3)[:, :1], np.eye(3), 9).shape == (3, 3)


@pytest.mark.parametrize("asked", [1, 4, 5])
def test_the_wrong_end_has_none_of_the_labels_directions(rows, asked):
    X, Y = rows
    P = Filled(MDDM(), least, asked).fit(X, Y).projection_
    assert P.shape == (7, asked)
    assert products(P) == pytest.approx(np.eye(asked), abs=1e-12)
    overlap = MDDM().fit(X, Y).projection_.T @ P
    assert overlap == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kind", [OPLS, LabelCCA])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_uncorrelated_columns_begin_with_the_span_of_the_labels(rows, kind, form):
    X, Y = rows
    P = Filled(kind(), uncorrelated, 5).fit(form(X), Y).projection_
    seen = (X - X.mean(axis=0)) @ P
    assert products(seen) == pytest.approx(np.eye(5), abs=1e-9)
    own = kind(2).fit(X, Y).projection_
    weights, *_ = np.linalg.lstsq(P[:, :2], own, rcond=None)
    assert P[:, :2] @ weights == pytest.approx(own)


def test_where_rows_do_not_vary_there_is_no_direction(rows):
    X, Y = rows
    flat = X[:, [0, 1, 2, 2, 2]]
    assert Filled(OPLS(), uncorrelated, 5).fit(flat, Y).projection_.shape == (5, 3)
    assert uncorrelated(np.eye(5)[:, :1], flat, 2).shape == (5, 2)
