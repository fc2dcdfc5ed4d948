"""Matrices built without SciPy's checks are those that SciPy builds."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal._core import csr
from vicinal._core.csr import dense_csr, known_parts, take_rows, trust


def assert_sound(matrix: Any, wanted: Any) -> None:
    """SciPy can compute with it."""
    assert np.array_equal(matrix.toarray(), wanted)
    assert matrix.has_canonical_format
    assert np.array_equal((matrix + matrix).toarray(), 2 * wanted)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.bool_, np.int64])
@pytest.mark.parametrize("shape", [(5, 4), (1, 1), (3, 0), (0, 3), (0, 0), (40, 7)])
def test_cells_of_a_dense_array_are_those_of_scipy(shape: tuple[int, int], dtype: Any) -> None:
    cells = np.random.default_rng(0).choice([0.0, -0.0, 1.5, -2.0], size=shape).astype(dtype)
    for array in (cells, np.asfortranarray(cells), cells[::-1], np.zeros_like(cells)):
        found, wanted = dense_csr(array), sparse.csr_array(array)
        for part in ("data", "indices", "indptr"):
            ours, theirs = getattr(found, part), getattr(wanted, part)
            assert ours.dtype == theirs.dtype
            assert np.array_equal(ours, theirs)
        assert found.shape == wanted.shape
        assert known_parts(found) is None
        assert_sound(found.astype(np.float64), array.astype(np.float64))


def test_more_cells_than_32_bits_count_are_left_to_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csr, "LARGEST", 2)
    assert np.array_equal(dense_csr(np.eye(3)).toarray(), np.eye(3))


@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(1, 9), n_taken=st.integers(0, 12))
def test_rows_that_are_taken_are_those_of_scipy(seed: int, n_rows: int, n_taken: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = trust(sparse.csr_array(rng.choice([0.0, 0.0, 1.5, -2.0], size=(n_rows, 4))))
    places = rng.integers(0, n_rows, n_taken)
    for rows in (places, places.astype(np.int32), -1 - places, slice(1, 3), places % 2 == 0):
        if isinstance(rows, np.ndarray) and rows.dtype == bool:
            rows = np.resize(rows, n_rows) if n_taken else np.ones(n_rows, dtype=bool)
        found, wanted = take_rows(matrix, rows), matrix[rows]
        assert_sound(found, wanted.toarray())
        assert found.shape == wanted.shape
        assert (found.data.dtype, found.indices.dtype) == (wanted.data.dtype, wanted.indices.dtype)
        assert known_parts(found) is None
        assert np.array_equal(take_rows(matrix.toarray(), rows), wanted.toarray())
    with pytest.raises(IndexError):
        take_rows(matrix, np.array([0, n_rows]))


def test_many_entries_are_taken_by_scipy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csr, "FEW_ENTRIES", 3)
    places = np.array([3, 0, 3, 1])
    assert np.array_equal(
        take_rows(sparse.csr_array(np.eye(4)), places).toarray(), np.eye(4)[places]
    )
