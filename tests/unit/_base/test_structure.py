"""Sparse matrices whose arrays do not fit each other never reach native code."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse

from vicinal import BRkNN, Scores
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_features
from vicinal.baselines import LabelFrequency
from vicinal.metrics import hamming_loss
from vicinal.preprocess import MinMax
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
