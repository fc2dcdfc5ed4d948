"""The door for label indicators."""

import numpy as np
import pytest
from scipy import sparse

from vicinal._core.labels import check_indicator
from vicinal.errors import InvalidArgumentError

Y = np.array([[0, 1, 1], [0, 0, 0], [1, 0, 0]])


@pytest.mark.parametrize("kind", [bool, np.int8, np.uint64, np.float32, np.float64, object])
def test_every_number_type_is_read(kind):
    matrix = check_indicator(Y.astype(kind))
    assert np.array_equal(matrix.toarray(), Y)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "bsr", "dia"])
@pytest.mark.parametrize("container", [sparse.coo_array, sparse.coo_matrix])
def test_every_sparse_form_is_read(form, container):
    matrix = check_indicator(container(Y).asformat(form))
    assert isinstance(matrix, sparse.csr_array)
    assert np.array_equal(matrix.toarray(), Y)


def test_the_result_is_canonical():
    messy = sparse.csr_array(([1, 0, 1], [2, 0, 1], [0, 3, 3]), shape=(2, 3))
    matrix = check_indicator(messy)
    assert matrix.dtype == matrix.indices.dtype == np.int32
    assert matrix.indices.tolist() == [1, 2]
    assert matrix.data.tolist() == [1, 1]
    assert messy.indices.tolist() == [2, 0, 1]  # the caller's own


@pytest.mark.parametrize(
    "bad",
    [
        [[0, 2]],
        [[0, -1]],
        [[0.5, 1]],
        [[np.nan, 1]],
        [["0", "1"]],
        [[1], [0, 1]],
        [1, 0],
        3,
        None,
        np.zeros((1, 1, 1)),
        np.zeros((1, 1), dtype=complex),
        np.array([[0, 1]]).view(np.matrix),
        sparse.csr_array([[0, 2]]),
        sparse.coo_array(([1, 1], ([0, 0], [1, 1])), shape=(1, 2)),
        sparse.coo_array([0, 1]),
    ],
)
def test_anything_else_is_refused_by_name(bad):
    with pytest.raises(InvalidArgumentError, match=r"^truth: expected"):
        check_indicator(bad, "truth")


def test_no_rows_and_no_labels_are_an_indicator():
    assert check_indicator(np.zeros((0, 3))).shape == (0, 3)
    assert check_indicator(np.zeros((2, 0))).shape == (2, 0)
