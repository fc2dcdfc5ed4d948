"""Matrices survive being written as gaps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from vicinal.datasets.debtags import _from_bytes, decode


@given(
    arrays(np.int8, array_shapes(min_dims=2, max_dims=2, max_side=9), elements=st.integers(0, 1))
)
def test_small_matrices_come_back(build, matrix):
    lengths, gaps = build.encode(sparse.csr_array(matrix))
    back = decode(lengths, gaps, matrix.shape[0])
    np.testing.assert_array_equal(back.toarray(), matrix)
    assert back.has_canonical_format


@given(st.lists(st.integers(0, 2**40)))
def test_numbers_of_any_length_come_back(build, numbers):
    assert _from_bytes(build._to_bytes(np.array(numbers, dtype=np.int64))).tolist() == numbers


def test_bytes_are_as_documented(build):
    assert build._to_bytes(np.array([1, 127, 128, 300])).tolist() == [1, 127, 128, 1, 172, 2]


def test_long_columns_with_wide_gaps_come_back(build):
    rows = np.array([0, 129, 20_000, 39_999])
    matrix = sparse.csr_array((np.ones(4), (rows, np.array([1, 1, 0, 1]))), shape=(40_000, 3))
    back = decode(*build.encode(matrix), 40_000)
    assert (back != matrix).nnz == 0
    assert back.shape == (40_000, 3)
