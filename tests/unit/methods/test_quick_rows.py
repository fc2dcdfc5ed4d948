"""The short way through the door says what the long way says."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import vicinal
from vicinal._core.csr import known_parts, quick_rows
from vicinal._core.validation import check_features

pytestmark = pytest.mark.native


@given(seed=st.integers(0, 2**32 - 1), n_rows=st.integers(1, 5))
@settings(max_examples=60)
def test_sound_rows_pass_as_they_are(seed: int, n_rows: int) -> None:
    rng = np.random.default_rng(seed)
    dense = rng.choice([0.0, 0.0, 1.0, -2.5], size=(n_rows, 4))
    assert quick_rows(dense, 4) is dense
    for kind in (sparse.csr_array, sparse.csr_matrix):
        found: Any = quick_rows(kind(dense), 4)
        assert known_parts(found) is not None
        assert np.array_equal(found.toarray(), dense)


def csr(data: Any, indices: Any, indptr: Any, n_columns: int = 3) -> Any:
    """Return arrays as a matrix that SciPy did not look at."""
    matrix = sparse.csr_array((len(indptr) - 1, n_columns))
    matrix.data, matrix.indices = np.array(data, float), np.array(indices, np.int32)
    matrix.indptr = np.array(indptr, np.int32)
    return matrix


@pytest.mark.parametrize(
    "X",
    [
        np.ones((1, 2)),
        np.ones((0, 3)),
        np.ones(3),
        np.array([[1.0, np.nan, 0.0]]),
        np.array([[1.0, np.inf, 0.0]]),
        np.ones((1, 3), int),
        np.ones((3, 3)).T[:, ::-1],
        [[1.0, 2.0, 3.0]],
        csr([1.0], [3], [0, 1]),
        csr([1.0], [-1], [0, 1]),
        csr([1.0, 1.0], [1, 0], [0, 2]),
        csr([1.0, 1.0], [1, 1], [0, 2]),
        csr([0.0], [1], [0, 1]),
        csr([np.nan], [1], [0, 1]),
        csr([1.0], [1], [0, 2]),
        csr([1.0], [1], [1, 1]),
        csr([1.0, 1.0], [0, 1], [0, 2, 1]),
        csr([1.0], [1], [0, 1], n_columns=4),
        sparse.csc_array(np.ones((1, 3))),
    ],
)
def test_everything_else_takes_the_long_way(X: Any) -> None:
    assert quick_rows(X, 3) is None


def test_rows_without_order_or_with_repeats_are_answered_all_the_same() -> None:
    rng = np.random.default_rng(0)
    model = vicinal.BRkNN(2, metric="cosine").fit(sparse.csr_array(rng.random((9, 3))), np.eye(9))
    odd = csr([1.0, 2.0, 1.0], [2, 0, 2], [0, 3])
    wanted = model.scores(check_features(odd)).toarray()
    assert np.array_equal(model.scores(odd).toarray(), wanted)
    assert np.array_equal(model.scores(odd.toarray()).toarray(), wanted)


def test_column_names_are_still_compared() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(np.eye(3), columns=["a", "b", "c"])
    model = vicinal.BRkNN(1).fit(frame, np.eye(3, dtype=int))
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(np.eye(3))
