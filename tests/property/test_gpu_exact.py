"""The search by PyTorch, here on the CPU, gives the neighbours and values of the definition."""

import numpy as np
import pytest
import torch
from device_search import dense_graph
from hypothesis import given, settings
from hypothesis import strategies as st

from vicinal.gpu import DenseSearch
from vicinal.index.reference import reference_query, reference_query_self

metrics = st.sampled_from(["cosine", "dot", "euclidean"])


def assert_same(found, reference):
    ids, values = found
    assert ids.dtype == np.int32
    np.testing.assert_array_equal(ids, reference.ids)
    np.testing.assert_array_equal(values, reference.values)


@given(data=st.data(), metric=metrics)
@settings(deadline=None, max_examples=250)
def test_a_search_is_the_definition(search_problems, data, metric):
    X, Q, k = data.draw(search_problems(most_rows=60))
    assert_same(dense_graph(X, Q, k, metric, "cpu"), reference_query(X, Q, k, metric))
    assert_same(dense_graph(X, None, k, metric, "cpu"), reference_query_self(X, k, metric))


def rows_of(kind, seed, n=700, m=20):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, m))
    if kind == "ties":
        X = rng.choice([0.1, 0.3, 0.7], size=(n, m)) * (rng.random((n, m)) < 0.5)
    if kind == "clusters":
        X = X[rng.integers(9, size=n)] + 1e-9 * X
    if kind == "duplicates":
        X = X[rng.integers(n // 3, size=n)]
    if kind == "mixed scales":
        X *= 10.0 ** rng.integers(-9, 9, size=(n, 1))
    if kind == "far from zero":
        X += 1e7
    return X


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
@pytest.mark.parametrize(
    "kind", ["plain", "ties", "clusters", "duplicates", "mixed scales", "far from zero"]
)
def test_larger_rows(kind, metric):
    X = rows_of(kind, seed=3)
    for rows in (X, X.astype(np.float32)):
        expected = reference_query_self(rows, 9, metric)
        assert_same(dense_graph(rows, None, 9, metric, "cpu"), expected)


def test_queries_far_outside():
    X = rows_of("plain", seed=1, n=300)
    Q = X[:30] * 10.0 ** np.arange(-5, 25)[:, None]
    for metric in ("euclidean", "cosine", "dot"):
        assert_same(dense_graph(X, Q, 7, metric, "cpu"), reference_query(X, Q, 7, metric))


def test_chunks_do_not_matter(monkeypatch):
    X = rows_of("ties", seed=2, n=200)
    for module in ("products", "search"):
        monkeypatch.setattr(f"vicinal.gpu.{module}.cells_at_once", lambda _: 999)
    assert_same(dense_graph(X, None, 5, device="cpu"), reference_query_self(X, 5))


def test_most_queries_need_no_second_look(monkeypatch):
    """The bound is of use: on plain rows no query is compared with every row."""

    def looked(self, Q, own, left, ids, keys):
        assert len(left) == 0

    monkeypatch.setattr(DenseSearch, "_compare_with_all", looked)
    X = rows_of("plain", seed=5)
    ids, _ = DenseSearch(torch.from_numpy(X)).query_self(5)
    np.testing.assert_array_equal(ids.numpy(), reference_query_self(X, 5).ids)
