"""Readers of saved states: each says what is missing or wrong."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse

from vicinal._core.state import read_array, read_count, read_csr, read_names, read_part, read_plain
from vicinal.errors import ModelFormatError


def test_good_values() -> None:
    state: dict[str, Any] = {
        "f": 2,
        "names": ["a"],
        "a": np.zeros((2, 3)),
        "m": sparse.csr_array(np.eye(2)),
    }
    assert read_plain(state, "f", float) == 2.0
    assert read_count(state, "f") == 2
    assert read_names(state, "names") == ("a",)
    assert read_array(state, "a", np.float64, (None, 3)).shape == (2, 3)
    assert read_csr(state, "m", (2, None)).nnz == 2
    assert read_part(state, "names", list) == ["a"]


@pytest.mark.parametrize(
    ("kind", "value"),
    [(int, 1.0), (int, True), (int, "1"), (bool, 1), (float, "1"), (float, np.nan), (str, 1)],
)
def test_bad_plain_values(kind: Any, value: Any) -> None:
    with pytest.raises(ModelFormatError, match=r"^x: expected"):
        read_plain({"x": value}, "x", kind)


def test_bad_counts_and_names() -> None:
    with pytest.raises(ModelFormatError, match="x: expected at least 1, got 0"):
        read_count({"x": 0}, "x")
    for value in ("ab", ["a", 1], None, ("a",)):
        with pytest.raises(ModelFormatError, match="x: expected a list of strings"):
            read_names({"x": value}, "x")


@pytest.mark.parametrize(
    "value",
    [
        [[1.0]],
        np.zeros((2, 3), dtype=np.float32),
        np.zeros((2, 4)),
        np.zeros(6),
        np.full((2, 3), np.nan),
        np.full((2, 3), np.inf),
    ],
)
def test_bad_arrays(value: Any) -> None:
    with pytest.raises(ModelFormatError, match=r"^x: expected"):
        read_array({"x": value}, "x", np.float64, (2, 3))


def broken(**arrays: Any) -> Any:
    matrix = sparse.csr_array(np.eye(3))
    for name, array in arrays.items():
        setattr(matrix, name, np.array(array))
    return matrix


@pytest.mark.parametrize(
    "value",
    [
        np.eye(3),
        sparse.csr_array(np.eye(4)),
        broken(indices=[0, 1, 3]),
        broken(indices=[0, -1, 2]),
        broken(indptr=[0, 2, 1, 3]),
        broken(indptr=[0, 1, 2, 9]),
        broken(data=[1.0, np.nan, 1.0]),
        sparse.csr_array(np.eye(3, dtype=complex)),
    ],
)
def test_bad_sparse_matrices(value: Any) -> None:
    with pytest.raises(ModelFormatError, match=r"^x: expected"):
        read_csr({"x": value}, "x", (3, 3))


def test_missing_values_are_named() -> None:
    for read in (lambda s: read_plain(s, "x", int), lambda s: read_names(s, "x")):
        with pytest.raises(ModelFormatError, match="x: missing"):
            read({})
