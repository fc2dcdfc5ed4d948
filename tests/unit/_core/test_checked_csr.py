"""Matrices that are checked once: what they share, when they are checked again, how they grow."""

import sys
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import vicinal
from vicinal._core import csr as checked_module
from vicinal._core.csr import (
    GrowingArray,
    known_parts,
    private_copy,
    stacked,
    to_user,
    trust,
    widened,
    with_rows,
    with_values,
)
from vicinal._core.validation import check_features, csr_parts
from vicinal.metrics import evaluate


def random_rows(rng: Any, n_rows: int, dtype: Any = np.float64) -> Any:
    dense = rng.choice([0.0, 0.0, 1.5, -2.0], size=(n_rows, 4)).astype(dtype)
    return sparse.csr_array(dense)


def assert_sound(matrix: Any, wanted: Any) -> None:
    """The arrays that SciPy reads and those that the compiled core reads say the same."""
    assert np.array_equal(matrix.toarray(), wanted)
    indptr, indices = csr_parts(matrix)
    assert np.array_equal(indptr, matrix.indptr)
    assert np.array_equal(indices, matrix.indices)
    assert (indptr.dtype, indices.dtype) == (np.int64, np.int32)
    assert matrix.has_canonical_format
    assert np.array_equal((matrix + matrix).toarray(), 2 * wanted)


@given(seed=st.integers(0, 2**32 - 1), sizes=st.lists(st.integers(0, 40), min_size=1, max_size=12))
def test_rows_that_are_added_and_all_versions_before(seed: int, sizes: list[int]) -> None:
    rng = np.random.default_rng(seed)
    matrix = random_rows(rng, 3)
    versions = [(matrix, matrix.toarray())]
    for size in sizes:
        base, wanted = versions[rng.integers(len(versions))]  # not always the newest
        fresh = random_rows(rng, size)
        versions.append((with_rows(base, fresh), np.vstack([wanted, fresh.toarray()])))
    for version, wanted in versions[1:]:
        assert_sound(version, wanted)
        assert_sound(widened(version, 6), np.pad(wanted, ((0, 0), (0, 2))))
        assert_sound(stacked([version, version]), np.vstack([wanted, wanted]))


def test_one_row_is_written_behind_the_others() -> None:
    rng = np.random.default_rng(0)
    matrix = with_rows(random_rows(rng, 1000), random_rows(rng, 1))
    more = with_rows(matrix, random_rows(rng, 1))
    assert np.shares_memory(more.data, matrix.data)
    assert np.shares_memory(more.indptr, matrix.indptr)
    with pytest.raises(ValueError, match="read-only"):
        more.data[0] = 5


def test_float64_rows_behind_float32_ones_stay_exact() -> None:
    rng = np.random.default_rng(0)
    matrix = with_rows(random_rows(rng, 5, np.float32), random_rows(rng, 5, np.float32))
    fresh = sparse.csr_array(np.array([[1 + 1e-12, 0, 0, 0]]))
    assert with_rows(matrix, fresh).toarray()[-1, 0] == 1 + 1e-12


def test_a_matrix_that_scipy_changed_is_checked_again() -> None:
    matrix = trust(sparse.csr_array(np.array([[1.0, 0.0, 2.0]])))
    assert known_parts(matrix) is not None
    with pytest.warns(sparse.SparseEfficiencyWarning):
        matrix[0, 1] = np.inf
    assert known_parts(matrix) is None
    with pytest.raises(ValueError, match="finite"):
        check_features(matrix)


def test_predictions_are_the_callers_own() -> None:
    X = sparse.csr_array(np.eye(6))
    Y = sparse.csr_array((np.arange(18).reshape(6, 3) % 2).astype(int))
    model = vicinal.BRkNN(1, metric="cosine").fit(X, Y)
    predicted = model.predict(X)
    predicted.data[:] = 0  # zeros that are stored
    assert evaluate(Y, predicted, metrics="micro-recall") == {"micro-recall": 0.0}
    again = model.predict(X)
    with pytest.warns(sparse.SparseEfficiencyWarning):
        again[0, 0] = 1
    assert np.array_equal(model.predict(X).toarray(), Y.toarray())


def test_copies_of_their_own() -> None:
    matrix = with_rows(*(sparse.csr_array(np.eye(2)),) * 2)
    for other in (to_user(matrix), private_copy(matrix), deepcopy(matrix)):
        assert np.array_equal(other.toarray(), matrix.toarray())
    assert known_parts(private_copy(matrix)) is None
    assert with_values(matrix, np.zeros(4)).nnz == 4


def test_arrays_grow_without_touching_what_was_handed_out() -> None:
    room = GrowingArray(np.arange(3))
    head = room.head(3)
    longer = room.extended(3, np.array([7]))
    other = room.extended(2, np.array([9]))
    assert longer.extended(4, np.array([8])) is longer
    assert head.tolist() == [0, 1, 2]
    assert longer.head(5).tolist() == [0, 1, 2, 7, 8]
    assert other.head(3).tolist() == [0, 1, 9]
    fixed = np.arange(3)
    fixed.flags.writeable = False
    assert GrowingArray(fixed).extended(3, np.arange(0)).head(3).tolist() == [0, 1, 2]
    assert longer.extended(5, np.array([0.5])).head(6).dtype == np.float64


def test_rows_beyond_what_short_starts_hold_are_left_to_scipy(monkeypatch: Any) -> None:
    monkeypatch.setattr(checked_module, "LARGEST", 3)  # each of them is short enough
    first, more = sparse.csr_array(np.eye(2)), sparse.csr_array(np.eye(2)[::-1])
    found = with_rows(first, more)
    np.testing.assert_array_equal(found.toarray(), np.vstack([np.eye(2), np.eye(2)[::-1]]))


def test_matrices_that_are_not_known_stay_what_they_are() -> None:
    matrix = sparse.csr_array(np.eye(2))
    assert to_user(matrix) is matrix


@pytest.mark.skipif(sys.platform != "linux", reason="maps a file twice")
@pytest.mark.parametrize("offset", [0, 64, 4096 + 8])
def test_rows_are_added_behind_a_mapped_file_without_copying_it(tmp_path, offset):
    n = 300_001
    known = np.arange(n, dtype=np.float32)
    (tmp_path / "file").write_bytes(bytes(offset) + known.tobytes())
    before = (tmp_path / "file").read_bytes()
    mapped = np.asarray(np.memmap(tmp_path / "file", np.float32, "r", offset))
    array, wanted, views = GrowingArray(mapped), known, []
    for number in range(300):
        fresh = np.arange(300.0) + number  # of another type, with values that fit
        array, wanted = array.extended(len(wanted), fresh), np.append(wanted, fresh)
        views.append(array.head(len(wanted)))
        assert views[-1].dtype == np.float32
        with pytest.raises(ValueError, match="read-only"):
            views[-1][0] = 1
    assert array._mapped is mapped or np.shares_memory(array._mapped, mapped)
    for view in views:
        np.testing.assert_array_equal(view, wanted[: len(view)])
    # Another future of an earlier state does not disturb this one.
    other = array.extended(n, np.full(10, -1.0)).head(n + 10)
    np.testing.assert_array_equal(other, np.append(known, np.full(10, -1.0)))
    np.testing.assert_array_equal(views[-1], wanted)
    # Values that do not fit the type of the file are a reason to copy.
    third = array.extended(len(wanted), np.array([0.1])).head(len(wanted) + 1)
    assert third.dtype == np.float64
    np.testing.assert_array_equal(third, np.append(wanted.astype(np.float64), 0.1))
    del array, views, other
    assert (tmp_path / "file").read_bytes() == before
