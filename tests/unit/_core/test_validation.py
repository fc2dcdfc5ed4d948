"""The one door: numbers, matrices, threads; errors that name the argument."""

import copy
from typing import Any

import numpy as np
import pytest
import threadpoolctl
from scipy import sparse

from vicinal import errors
from vicinal._core.arrays import is_stored, row_ids
from vicinal._core.checks import check_flag, check_integer, check_option, check_real
from vicinal._core.csr import stacked
from vicinal._core.threads import MOST_THREADS, thread_count
from vicinal._core.validation import canonical_csr, check_features, csr_parts
from vicinal.errors import DataFormatError, InvalidArgumentError


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3), np.array(3)])
def test_integers(value: Any) -> None:
    number = check_integer("k", value, low=3)
    assert (number, type(number)) == (3, int)


@pytest.mark.parametrize("value", [2, 3.0, "3", None, True, np.True_, [3], float("nan")])
def test_no_integers(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^k: expected an integer of at least 3, got"):
        check_integer("k", value, low=3)


@pytest.mark.parametrize("value", [0, 1, 0.5, np.float32(0.5), np.int64(1)])
def test_reals(value: Any) -> None:
    assert check_real("s", value, low=0, high=1) == float(value)


@pytest.mark.parametrize(
    "value", [-0.1, 1.5, np.nan, np.inf, "0.5", b"1", None, True, 1j, [0.5], 10**400]
)
def test_no_reals(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^s: expected a finite number between 0 and 1"):
        check_real("s", value, low=0, high=1)


@pytest.mark.parametrize("value", [0, 1, "True", None])
def test_no_flags(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^on: expected True or False"):
        check_flag("on", value)
    assert check_flag("on", np.True_) is True


@pytest.mark.parametrize("value", ["c", "A", None, 1, ["a"]])
def test_no_options(value: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^which: expected one of 'a', 'b', got"):
        check_option("which", value, ("a", "b"))


def test_features_are_kept_where_they_are_as_wanted() -> None:
    for dtype in (np.float32, np.float64):
        dense = np.ones((2, 3), dtype=dtype)
        assert np.shares_memory(check_features(dense), dense)
        stored = sparse.csr_array(dense)
        assert np.shares_memory(check_features(stored).data, stored.data)


def unaligned(array: np.ndarray) -> np.ndarray:
    """Return the same numbers one byte off their place, as messages and files may hold them."""
    buffer = np.empty(array.nbytes + 1, dtype=np.uint8)
    odd = buffer[1:].view(array.dtype).reshape(array.shape)
    odd[...] = array
    return odd


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_numbers_that_are_not_aligned_are_copied(dtype: Any) -> None:
    X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 0.0]], dtype=dtype)
    dense = check_features(unaligned(X))
    assert isinstance(dense, np.ndarray)
    assert dense.flags.aligned
    np.testing.assert_array_equal(dense, X)
    plain = sparse.csr_array(X)
    for odd in ("data", "indices", "indptr"):
        parts = {name: getattr(plain, name) for name in ("data", "indices", "indptr")}
        parts[odd] = unaligned(parts[odd])
        given = plain.copy()
        for name, part in parts.items():
            setattr(given, name, part)
        found = check_features(given)
        assert isinstance(found, sparse.csr_array)
        assert all(part.flags.aligned for part in (found.data, found.indices, found.indptr))
        assert all(part.flags.aligned for part in csr_parts(given))
        np.testing.assert_array_equal(found.toarray(), X)


def test_features_become_canonical_and_callers_keep_theirs() -> None:
    messy = sparse.csr_array(
        (np.array([1, 2, 0, 5]), np.array([2, 2, 0, 1]), np.array([0, 3, 4])), shape=(2, 3)
    )
    before = messy.indices.copy(), messy.data.copy()
    matrix = check_features(messy)
    assert matrix.indices.tolist() == [2, 1]
    assert matrix.data.tolist() == [3.0, 5.0]
    assert np.array_equal(messy.indices, before[0])
    assert np.array_equal(messy.data, before[1])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"X: expected a two-dimensional array, got shape \(2,\)"),
        ([["a"]], "X: expected numbers"),
        ([[np.nan]], "X: expected finite values, got input that contains NaN"),
        ([[np.inf]], r"X: expected finite values, got input that contains infinity .*\(replace"),
        (sparse.csr_array([[np.inf]]), "X: expected finite values"),
        (sparse.csr_array([[1j]]), "X: expected real numbers"),
    ],
)
def test_no_features(X: Any, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        check_features(X)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_numpy_matrix_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="X: expected an ndarray or a sparse array"):
        check_features(np.matrix([[1.0]]))


def test_number_of_features() -> None:
    with pytest.raises(InvalidArgumentError, match=r"X: expected 4 features, got 3"):
        check_features(np.ones((2, 3)), n_features=4)


def test_thread_counts() -> None:
    assert thread_count(5) == 5
    assert thread_count(None) == thread_count(-1) >= 1
    assert thread_count(-1000) == 1
    assert thread_count(10**30) == MOST_THREADS
    with threadpoolctl.threadpool_limits(1):
        assert thread_count() == 1
    for bad in (0, 1.5, "2", True):
        with pytest.raises(InvalidArgumentError, match=r"^n_jobs: expected"):
            thread_count(bad)


@pytest.mark.parametrize(
    "error",
    [
        InvalidArgumentError("k", "more", 1),
        DataFormatError("f.arff", "a header", "nothing", line=3),
        errors.ModelFormatError("damaged"),
        errors.DataNotFoundError("gone"),
    ],
)
def test_errors_cross_process_borders(error: Exception) -> None:
    back = copy.copy(error)  # goes the way of pickle, __reduce_ex__
    assert (type(back), str(back)) == (type(error), str(error))
    assert vars(back) == vars(error)


def test_all_bad_values_are_value_errors() -> None:
    assert issubclass(InvalidArgumentError, ValueError)
    assert issubclass(DataFormatError, ValueError)
    assert issubclass(errors.ModelFormatError, ValueError)
    assert str(DataFormatError("f", "a", "b", 7)) == "f, line 7: expected a, got b"


def test_stored_entries() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        a, b = (sparse.csr_array(rng.integers(0, 2, (4, 5))) for _ in range(2))
        wanted = [bool(a.toarray()[i, j]) for i, j in zip(row_ids(b), b.indices, strict=True)]
        assert is_stored(a, b).tolist() == wanted
    assert is_stored(sparse.csr_array((4, 5)), a).tolist() == [False] * a.nnz


def test_stacked_rows_and_canonical_form() -> None:
    eye = sparse.csr_array(np.eye(2))
    assert stacked([eye, eye]).toarray().tolist() == np.vstack([np.eye(2)] * 2).tolist()
    assert canonical_csr(sparse.csc_array(np.eye(3))).format == "csr"
