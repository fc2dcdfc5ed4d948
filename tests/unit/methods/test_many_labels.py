"""Two hundred thousand labels: nothing dense in rows × labels."""

import tracemalloc
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import vicinal
from vicinal.errors import InvalidArgumentError
from vicinal.methods import METHODS

pytestmark = pytest.mark.native

N_ROWS, N_LABELS = 2_000, 200_000
DENSE = 8 * N_ROWS * N_LABELS
FULL = {"dmlknn", "lamlknn", "iblr", "label-ridge"}
"""Methods with a score of its own for every row and label: not for so many labels."""


@pytest.fixture(scope="module")
def wide() -> tuple[Any, Any]:
    rng = np.random.default_rng(3)
    topics = rng.integers(0, 200, N_ROWS)
    features = (topics[:, None] * 5 + np.arange(5)).ravel()
    X = sparse.csr_array(
        (np.ones(len(features)), (np.repeat(np.arange(N_ROWS), 5), features)),
        shape=(N_ROWS, 1_000),
    )
    labels = (topics[:, None] * 1_000 + rng.integers(0, 1_000, (N_ROWS, 4))).ravel()
    Y = sparse.csr_array(
        (np.ones(len(labels), dtype=np.int32), (np.repeat(np.arange(N_ROWS), 4), labels)),
        shape=(N_ROWS, N_LABELS),
    )
    return X, sparse.csr_array((Y > 0).astype(np.int32))


@pytest.mark.parametrize("name", [name for name in METHODS if name not in FULL])
def test_fit_rank_and_predict_in_bounded_memory(name: str, wide: Any, make_method: Any) -> None:
    X, Y = wide
    names = [str(label) for label in range(N_LABELS)]  # to trace each of them takes seconds
    tracemalloc.start()
    model = make_method(name, k=10, metric="cosine").fit(X, Y, label_names=names)
    ids, values = model.rank(X, top=5)
    predicted = model.predict(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < DENSE / 10
    assert ids.shape == values.shape == (N_ROWS, 5)
    assert (np.diff(values, axis=1) <= 0).all()
    assert sparse.issparse(predicted)


def test_dense_probabilities_are_refused_and_point_to_rank(wide: Any) -> None:
    X, Y = wide
    model = vicinal.MLkNN(3, metric="cosine").fit(X, Y)
    with pytest.raises(InvalidArgumentError, match=r"rank\(X, top\)"):
        model.predict_proba(X)
    assert isinstance(
        vicinal.BRkNN(3, metric="cosine").fit(X, Y).predict_proba(X), sparse.csr_array
    )
