"""Sparse matrices whose arrays do not fit each other never reach native code."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from vicinal import BRkNN, Scores
from vicinal._core.validation import check_features
from vicinal.baselines import LabelFrequency
from vicinal.errors import InvalidArgumentError
from vicinal.index import InvertedIndex
from vicinal.metrics import evaluate, hamming_loss
from vicinal.preprocess import MinMax, TfIdf
from vicinal.reduction import MDDM


def broken(kind, *, indptr=None, indices=None):
    matrix = kind(np.eye(4))
    if indptr is not None:
        matrix.indptr = np.array(indptr, dtype=np.int32)
    if indices is not None:
        matrix.indices = np.array(indices, dtype=np.int32)
    return matrix


@pytest.mark.parametrize(
    "kind",
    [
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.csc_matrix,
        partial(sparse.bsr_array, blocksize=(1, 1)),
        partial(sparse.bsr_matrix, blocksize=(1, 1)),
    ],
)
@pytest.mark.parametrize(
    "arrays",
    [
        {"indptr": [0, 2, 1, 3, 4]},
        {"indptr": [0, 1, 2, 3, 9]},
        {"indptr": [1, 1, 2, 3, 4]},
        {"indices": [0, 1, 4, 3]},
        {"indices": [0, -1, 2, 3]},
    ],
)
def test_inconsistent_arrays_are_refused(kind, arrays):
    with pytest.raises(InvalidArgumentError, match=r"^X: expected"):
        check_features(broken(kind, **arrays))


@pytest.mark.parametrize("X", [np.eye(2) * 1j, sparse.csr_array(np.eye(2) * 1j)])
def test_complex_numbers_are_refused(X):
    with pytest.raises(InvalidArgumentError, match="real numbers"):
        check_features(X)


def outside(form):
    """A matrix with an id past its end, which SciPy would write to when it converts."""
    matrix = sparse.eye_array(4).asformat(form)
    if form == "coo":
        matrix.coords[1][0] = 10**8
    elif form == "lil":
        matrix.rows[0] = [10**8]
    else:
        matrix.indices[0] = 10**8
    return matrix


@pytest.mark.native
@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "lil"])
@pytest.mark.parametrize(
    "use",
    [
        check_features,
        Scores.sparse,
        lambda X: hamming_loss(X, X),
        lambda X: BRkNN(1).fit(X, np.eye(4)),
        lambda X: BRkNN(1).fit(np.eye(4), X),
        lambda X: BRkNN(1).fit(np.eye(4), np.eye(4)).predict(X),
        MinMax().fit,
        lambda X: MDDM(1).fit(X, np.eye(4)),
        lambda X: LabelFrequency().fit(X, np.eye(4)),
    ],
)
def test_ids_past_the_end_are_refused_at_every_door(form, use):
    with pytest.raises(InvalidArgumentError, match="expected ids from 0 to 3, got"):
        use(outside(form))


WRAPPING = {
    "falls below zero": np.array([0, 2, 2_000_000, -(2**31)], dtype=np.int32),
    "falls and comes back": np.array([0, 1_500_000_000, -1_294_967_296, 3], dtype=np.int32),
    "of 64 bits": np.array([0, 2**62, -(2**62), 3]),
    "unsigned": np.array([0, 3, 1, 3], dtype=np.uint32),
    "unsigned of 64 bits": np.array([0, 2**63, 2**63 + 1, 3], dtype=np.uint64),
    "fractions": np.array([0.0, 1.0, 2.0, 3.0]),
    "of two dimensions": np.array([[0], [1], [2], [3]], dtype=np.int32),
    "empty": np.zeros(0, dtype=np.int32),
}
"""Wrong row starts of a 3 × 3 matrix; differences of neighbours do not show the first two."""


def with_row_starts(kind, indptr):
    matrix = kind(np.eye(3))
    matrix.indptr = indptr
    return matrix


@pytest.mark.native
@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.csc_array])
@pytest.mark.parametrize("indptr", WRAPPING)
@pytest.mark.parametrize(
    "use",
    [
        check_features,
        lambda X: BRkNN(1).fit(X, np.eye(3)),
        lambda X: BRkNN(1).fit(np.eye(3), X),
        lambda X: BRkNN(1).fit(np.eye(3), np.eye(3)).predict(X),
        lambda X: BRkNN(1).fit(np.eye(3), np.eye(3)).partial_fit(X, np.eye(3)),
        lambda X: InvertedIndex(X),
        lambda X: InvertedIndex(sparse.csr_array(np.eye(3))).query(X, 1),
        lambda X: InvertedIndex(sparse.csr_array(np.eye(3))).add(X),
        lambda X: TfIdf().fit(X),
        lambda X: evaluate(X, np.eye(3)),
        lambda X: evaluate(np.eye(3), X),
        Scores.sparse,
    ],
)
def test_row_starts_whose_differences_wrap_are_refused_at_every_door(kind, indptr, use):
    with pytest.raises(InvalidArgumentError, match="expected a valid sparse structure, got"):
        use(with_row_starts(kind, WRAPPING[indptr]))


def test_coordinates_that_are_fewer_than_the_values():
    matrix = sparse.coo_array(np.eye(3))
    matrix.coords = (matrix.coords[0][:2], matrix.coords[1])
    with pytest.raises(InvalidArgumentError, match="a valid sparse structure"):
        check_features(matrix)


def test_what_is_stored_past_the_last_row_is_left_out():
    matrix = sparse.csr_array(np.eye(3))
    matrix.indices = np.array([0, 1, 2, 99], dtype=np.int32)
    matrix.data = np.array([1.0, 1.0, 1.0, np.nan])
    checked = check_features(matrix)
    np.testing.assert_array_equal(checked.toarray(), np.eye(3))
    assert len(checked.data) == len(checked.indices) == 3
