"""Parts are stacked only where their columns mean the same."""

import numpy as np
import pytest
from scipy import sparse

from vicinal.datasets import Dataset
from vicinal.datasets.catalogue.entry import stack
from vicinal.errors import DataFormatError


def part(X, Y, features=("f", "g"), labels=("a",), **more):
    return Dataset(X=X, Y=np.array(Y), feature_names=features, label_names=labels, **more)


ONE = part(np.array([[1.0, 2.0], [3.0, 4.0]]), [[1], [0]], row_names=("x", "y"))
TWO = part(sparse.csr_array([[0.0, 5.0]]), [[1]], row_names=("z",), source="two.arff")


def test_dense_and_sparse_parts_become_sparse():
    both = stack((ONE, TWO))
    assert sparse.issparse(both.X)
    np.testing.assert_array_equal(both.X.toarray(), [[1, 2], [3, 4], [0, 5]])
    np.testing.assert_array_equal(both.Y.toarray(), [[1], [0], [1]])
    assert both.row_names == ("x", "y", "z")


def test_dense_parts_stay_dense():
    assert isinstance(stack((ONE, ONE)).X, np.ndarray)


def test_the_split_names_its_parts():
    parts = (ONE, TWO, ONE)
    assert stack(parts).test.tolist() == [2]
    assert stack(parts, train=0, test=2).test.tolist() == [3, 4]
    assert stack(parts, train=0, test=2).train.tolist() == [0, 1]


def test_row_names_need_all_parts():
    assert stack((ONE, part(ONE.X, [[1], [0]]))).row_names is None


@pytest.mark.parametrize(
    ("other", "what"),
    [
        (part([[1.0, 2.0]], [[1]], features=("g", "f"), source="other"), "features"),
        (part([[1.0, 2.0]], [[1]], labels=("b",), source="other"), "labels"),
    ],
)
def test_parts_with_other_names_are_refused(other, what):
    with pytest.raises(DataFormatError, match=f"^other: expected the {what}"):
        stack((ONE, other))
