"""Products of sparse columns against the product of the dense matrices."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal.methods.label_ridge.solver import gram, product

pytestmark = pytest.mark.native


@st.composite
def matrices(draw):
    """Small whole numbers, with empty rows and columns; sums of them are exact."""
    shape = draw(st.integers(0, 12)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    share = draw(st.sampled_from([0.0, 0.2, 0.9]))
    return rng.integers(-4, 5, size=shape) * (rng.random(shape) < share).astype(np.float64)


@given(matrices(), st.sampled_from([np.float32, np.float64]))
def test_gram_has_the_products_on_and_below_the_diagonal(X, dtype):
    found = gram(sparse.csr_array(X), dtype)
    assert found.dtype == dtype
    np.testing.assert_array_equal(np.tril(found), np.tril(X.T @ X))


@given(matrices(), st.sampled_from([np.float32, np.float64]))
def test_a_product_reads_no_more_than_that(X, dtype):
    whole = (X.T @ X).astype(dtype)
    above = np.triu(np.full_like(whole, np.nan), 1)
    found = product(np.tril(whole) + above, X.T)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, X.T @ X @ X.T)
