"""The short way for label indicators gives what the long way gives, or nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal._core.csr import (
    frozen_copy,
    has_sound_structure,
    known_parts,
    quick_indicator,
    shared_csr,
)
from vicinal._core.labels import check_indicator, further_labels

NAMES = tuple("abcd")


@given(
    seed=st.integers(0, 2**32 - 1),
    n_rows=st.integers(1, 4),
    dtype=st.sampled_from([np.bool_, np.int8, np.int64, np.float32, np.float64]),
    kind=st.sampled_from([sparse.csr_array, sparse.csr_matrix]),
)
def test_an_indicator_is_that_of_the_long_way(seed, n_rows, dtype, kind):
    dense = np.random.default_rng(seed).random((n_rows, 4)) < 0.4
    given_Y = kind(dense.astype(dtype))
    quick = quick_indicator(given_Y, n_rows, 4)
    assert quick is not None
    assert np.array_equal(quick.toarray(), check_indicator(given_Y).toarray())
    assert (quick.dtype, quick.indices.dtype, quick.indptr.dtype) == (np.int32,) * 3
    before = quick.toarray()
    given_Y.data[:] = 0
    given_Y.indices[:] = 0
    assert np.array_equal(quick.toarray(), before)
    assert known_parts(quick) is not None


def broken(change):
    """An indicator of two rows and four labels with something changed."""
    matrix = sparse.csr_array(np.array([[1, 0, 1, 0], [0, 1, 0, 0]]))
    change(matrix)
    return matrix


@pytest.mark.parametrize(
    "given_Y",
    [
        np.array([[1, 0, 1, 0], [0, 1, 0, 0]]),
        sparse.csc_array(np.array([[1, 0, 1, 0], [0, 1, 0, 0]])),
        sparse.csr_array(np.array([[1, 0, 1, 0]])),  # another number of rows
        sparse.csr_array(np.array([[1, 0, 1], [0, 1, 0]])),  # another number of labels
        broken(lambda matrix: matrix.data.__setitem__(0, 2)),
        broken(lambda matrix: matrix.data.__setitem__(0, 0)),  # a stored zero
        broken(lambda matrix: matrix.indices.__setitem__(0, 3)),  # not rising
        broken(lambda matrix: matrix.indices.__setitem__(1, 0)),  # twice the same
        broken(lambda matrix: matrix.indices.__setitem__(2, 4)),
        broken(lambda matrix: matrix.indices.__setitem__(2, -1)),
        broken(lambda matrix: matrix.indptr.__setitem__(0, 1)),
        broken(lambda matrix: matrix.indptr.__setitem__(1, 7)),
        broken(lambda matrix: matrix.indptr.__setitem__(2, 2)),
    ],
)
def test_everything_else_takes_the_long_way(given_Y):
    assert quick_indicator(given_Y, 2, 4) is None


def test_rows_without_labels_are_indicators():
    quick = quick_indicator(sparse.csr_array((3, 4), dtype=np.int64), 3, 4)
    assert quick is not None
    assert quick.shape == (3, 4)
    assert quick.nnz == 0


def test_columns_may_fall_from_one_row_to_the_next_only():
    assert has_sound_structure(sparse.csr_array(np.array([[0, 1], [1, 0]])), 2)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.float32, np.float64])
def test_arrays_that_need_no_conversion_are_shared(kind, dtype):
    given_X = kind(np.array([[0, 1, 0], [1, 0, 1]], dtype=dtype))
    shared, wanted = shared_csr(given_X), sparse.csr_array(given_X)
    assert type(shared) is sparse.csr_array
    for part in ("data", "indices", "indptr"):
        assert getattr(shared, part) is getattr(given_X, part)
        assert np.array_equal(getattr(shared, part), getattr(wanted, part))
    assert shared.shape == wanted.shape
    assert shared.has_canonical_format
    given_X.indices = given_X.indices[::-1]
    assert shared.indices.tolist() == [1, 0, 2]


def test_arrays_that_need_conversion_are_not_shared():
    X = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 1.0]]))
    odd = X.copy()
    odd.data = np.frombuffer(bytes(25), dtype=np.uint8)[1:].view(np.float64)
    assert not odd.data.flags.aligned
    mixed = X.copy()
    mixed.indptr = mixed.indptr.astype(np.int64)
    unsorted = X.copy()
    unsorted.indices = np.array([1, 1, 0], dtype=np.int32)
    for given_X in (odd, mixed, unsorted, X.tocsc(), X[:0]):
        assert shared_csr(given_X) is None


def test_named_columns_are_never_taken_by_place():
    one = sparse.csr_array(np.array([[1, 0, 0, 0]]))
    moved, names = further_labels(NAMES, one, 1, label_names=("d", "c", "b", "a"))
    assert (names, moved.toarray().tolist()) == (NAMES, [[0, 0, 0, 1]])
    moved, names = further_labels(NAMES, one, 1)
    assert (names, moved.toarray().tolist()) == (NAMES, [[1, 0, 0, 0]])


def test_a_copy_cannot_be_changed():
    copied = frozen_copy(sparse.csr_array(np.eye(2)))
    for part in (copied.data, copied.indices, copied.indptr):
        assert not part.flags.writeable
