import sys

import numpy as np
import pytest
from scipy import sparse

from vicinal import BRkNN
from vicinal.errors import InvalidArgumentError, MissingExtraError
from vicinal.index import build_index
from vicinal.index.approximate import ApproximateIndex

pytestmark = pytest.mark.native


def rows_of(n=400, m=40, seed=0):
    rng = np.random.default_rng(seed)
    return (rng.random((n, m)) < 0.3) * rng.random((n, m))


def test_sparse_rows_are_refused():
    with pytest.raises(InvalidArgumentError, match=r"^X: expected dense rows .*inverted"):
        ApproximateIndex(sparse.csr_array(rows_of()), "cosine")


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtraError, match=r"vicinal\[approx\]"):
        ApproximateIndex(rows_of(), "euclidean")


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
def test_neighbours_through_a_small_world(metric):
    pytest.importorskip("faiss")
    X = rows_of()
    index = ApproximateIndex(X, metric)
    graph = index.query(X[:30], 5)
    exact = build_index(X, metric).query(X[:30], 5)
    hits = [len(set(a) & set(b)) for a, b in zip(graph.ids, exact.ids, strict=True)]
    assert index.recall_ == sum(hits) / exact.ids.size
    assert index.recall_ > 0.8
    same = graph.ids[:, 0] == exact.ids[:, 0]
    assert same.mean() > 0.8
    assert np.allclose(graph.values[same, 0], exact.values[same, 0])
    ordered = np.diff(graph.values, axis=1)
    assert (ordered <= 0).all() if metric != "euclidean" else (ordered >= 0).all()


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "dot"])
def test_the_training_graph_leaves_each_row_out(metric):
    pytest.importorskip("faiss")
    X = np.vstack([rows_of(60), rows_of(60)])  # every row twice
    index = ApproximateIndex(X, metric)
    graph, exact = index.query_self(6), build_index(X, metric).query_self(6)
    assert np.allclose(graph.values[:, 0], exact.values[:, 0], atol=1e-7)
    assert not (graph.ids == np.arange(120)[:, None]).any()
    assert index.recall_ > 0.9


def test_an_estimator_searches_approximately_when_asked():
    pytest.importorskip("faiss")
    X = rows_of()
    Y = (rows_of(seed=1)[:, :5] > 0.5).astype(int)
    model = BRkNN(5, metric="cosine", algorithm="approximate").fit(X[:300], Y[:300])
    exact = BRkNN(5, metric="cosine").fit(X[:300], Y[:300])
    assert isinstance(model.search_.index, ApproximateIndex)
    model.partial_fit(X[300:], Y[300:]).forget([3])
    exact.partial_fit(X[300:], Y[300:]).forget([3])
    agree = model.predict(X) == exact.predict(X)
    assert 0.9 < agree.mean() <= 1.0


@pytest.mark.parametrize("n_rows", [0, 1, 2])
def test_few_rows(n_rows):
    pytest.importorskip("faiss")
    index = ApproximateIndex(np.ones((n_rows, 3)), "cosine")
    assert index.query(np.ones((2, 3)), 4).found.tolist() == [n_rows] * 2
    assert index.query_self(4).found.tolist() == [max(0, n_rows - 1)] * n_rows
    assert index.nbytes >= 0


def test_a_huge_k_costs_nothing():
    pytest.importorskip("faiss")
    index = ApproximateIndex(rows_of(30), "cosine")
    assert index.query(rows_of(30), 10**9).found.max() <= 30
