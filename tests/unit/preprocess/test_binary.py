import numpy as np
import pytest
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.preprocess import Binary

ROWS = np.array([[0.0, 2.0, -1.0, 0.5], [0.0, 0.0, 0.0, 0.0]])
EXPECTED = {
    0.0: [[0, 1, 0, 1], [0, 0, 0, 0]],
    0.5: [[0, 1, 0, 0], [0, 0, 0, 0]],
    None: [[0, 1, 1, 1], [0, 0, 0, 0]],
}


@pytest.mark.parametrize("threshold", EXPECTED)
@pytest.mark.parametrize(
    "kind", [np.asarray, sparse.csr_array, sparse.csr_matrix, sparse.coo_array]
)
def test_by_hand(kind, threshold):
    got = Binary(threshold=threshold).fit_transform(kind(ROWS))
    assert sparse.issparse(got) == (kind is not np.asarray)
    dense = got.toarray() if sparse.issparse(got) else got
    assert dense.tolist() == EXPECTED[threshold]


def test_stored_zeros_are_zeros():
    stored = sparse.csr_array((np.array([0.0, 3.0]), [0, 1], [0, 2]), shape=(1, 2))
    got = Binary(threshold=None).fit_transform(stored)
    assert got.nnz == 1
    assert got.toarray().tolist() == [[0.0, 1.0]]


def test_repeated_cells_count_as_their_sum():
    stored = sparse.csr_array((np.array([2.0, -2.0, 1.0]), [0, 0, 1], [0, 3]), shape=(1, 2))
    assert Binary(threshold=None).fit_transform(stored).toarray().tolist() == [[0.0, 1.0]]


def test_needs_no_fit():
    assert Binary().transform([[0.0, 5.0]]).tolist() == [[0.0, 1.0]]


def test_a_threshold_below_zero_fills_dense_rows_and_refuses_sparse_ones():
    assert Binary(threshold=-0.5).fit_transform(ROWS).tolist() == [[1, 1, 0, 1], [1, 1, 1, 1]]
    with pytest.raises(InvalidArgumentError, match=r"^threshold: expected at least 0 for sparse"):
        Binary(threshold=-0.5).fit(sparse.csr_array(ROWS))
    with pytest.raises(InvalidArgumentError, match=r"^threshold: expected at least 0 for sparse"):
        Binary(threshold=-0.5).transform(sparse.csr_array(ROWS))


@pytest.mark.parametrize("bad", ["0", np.nan, True])
def test_a_threshold_must_be_a_number(bad):
    with pytest.raises(InvalidArgumentError, match=r"^threshold: "):
        Binary(threshold=bad).fit(ROWS)


def test_float32_is_kept():
    assert Binary().fit_transform(ROWS.astype(np.float32)).dtype == np.float32
    assert Binary().fit_transform(sparse.csr_array(ROWS.astype(np.float32))).dtype == np.float32


def test_nan_is_refused_by_name():
    with pytest.raises(InvalidArgumentError, match=r"^X: .*NaN"):
        Binary().transform([[np.nan]])
