import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import Normalizer

from vicinal.preprocess import UnitRows, _base

ROWS = np.array([[3.0, 0.0, -4.0], [0.0, 0.0, 0.0], [0.1, 0.2, 0.3]])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_have_length_one_or_zero(kind):
    got = UnitRows().fit_transform(kind(ROWS))
    dense = got.toarray() if sparse.issparse(got) else got
    for before, after in zip(ROWS, dense, strict=True):
        length = math.sqrt(math.fsum(value * value for value in before))
        expected = [value / length if length else 0.0 for value in before]
        np.testing.assert_allclose(after, expected, rtol=1e-15)


def test_agrees_with_scikit_learn():
    np.testing.assert_allclose(
        UnitRows().fit_transform(ROWS), Normalizer().transform(ROWS), rtol=1e-15
    )


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_squares_that_no_float_holds_do_no_harm(size):
    np.testing.assert_allclose(UnitRows().transform([[3 * size, 4 * size]]), [[0.6, 0.8]])


def test_dense_rows_are_looked_at_in_blocks(monkeypatch):
    whole = UnitRows().transform(ROWS)
    monkeypatch.setattr(_base, "SMALL_BLOCK_CELLS", 6)
    np.testing.assert_array_equal(UnitRows().transform(ROWS), whole)
    monkeypatch.setattr(_base, "SMALL_BLOCK_CELLS", 1)
    np.testing.assert_array_equal(UnitRows().transform(ROWS), whole)


def test_float32_is_kept_and_rounded_once():
    got = UnitRows().transform(ROWS.astype(np.float32))
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, UnitRows().transform(ROWS), rtol=1e-6)


def test_float32_sums_are_taken_in_float64():
    row = np.full((1, 4097), 2.0**-12, dtype=np.float32)
    row[0, 0] = 1.0  # in float32, 1 + 2^-24 is 1 however often it is added
    assert UnitRows().transform(row)[0, 0] == np.float32(1 / math.sqrt(1 + 2.0**-12))
