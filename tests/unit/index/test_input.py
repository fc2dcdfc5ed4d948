"""What goes in and what comes out, for both backends."""

from copy import deepcopy

import numpy as np
import pytest
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.index import DenseIndex, InvertedIndex, build_index

pytestmark = pytest.mark.native

BACKENDS = [InvertedIndex, DenseIndex]
X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 1.0], [0.0, 3.0, 0.0], [0.0, 0.0, 0.0]])


def test_build_chooses_by_kind():
    assert isinstance(build_index(X, "cosine"), DenseIndex)
    assert isinstance(build_index(sparse.csr_array(X), "cosine"), InvertedIndex)
    assert isinstance(build_index(sparse.coo_array(X), "euclidean"), InvertedIndex)
    assert build_index(X, "dot", n_jobs=1).query(X, 1).metric == "dot"


@pytest.mark.parametrize("backend", BACKENDS)
def test_shape_and_sizes(backend):
    index = backend(X)
    assert (index.n_rows, index.n_features) == (4, 3)
    graph = index.query(X[:2], 9)
    assert graph.ids.shape == graph.values.shape == (2, 9)
    assert (graph.n_rows, graph.k) == (4, 9)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("bad", [np.zeros((2, 4)), sparse.csr_array((2, 2)), np.zeros(3)])
def test_queries_must_match(backend, bad):
    with pytest.raises(InvalidArgumentError, match=r"^Q:"):
        backend(X).query(bad, 1)


@pytest.mark.parametrize("backend", BACKENDS)
def test_bad_arguments_are_named(backend):
    with pytest.raises(InvalidArgumentError, match=r"^k:"):
        backend(X).query(X, 0)
    with pytest.raises(InvalidArgumentError, match=r"^k:"):
        backend(X).query_self(2.5)
    with pytest.raises(InvalidArgumentError, match=r"^metric:"):
        backend(X, "manhattan")
    with pytest.raises(InvalidArgumentError, match=r"^X:"):
        backend(np.array([[np.nan]]))
    with pytest.raises(InvalidArgumentError, match=r"^n_jobs:"):
        backend(X, n_jobs=0)
    with pytest.raises(InvalidArgumentError, match=r"^block_rows:"):
        backend(X, block_rows=0)
    with pytest.raises(InvalidArgumentError, match=r"^batch_queries:"):
        backend(X, batch_queries=-1)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (2, 5)])
def test_nothing_to_find(backend, metric, shape):
    graph = backend(np.zeros(shape), metric).query(np.ones((2, shape[1])), 2)
    found = min(shape[0], 2) if metric == "euclidean" else 0
    assert graph.found.tolist() == [found, found]
    assert graph.ids[:, :found].tolist() == [list(range(found))] * 2
    padding = np.inf if metric == "euclidean" else 0.0
    assert (graph.values[:, found:] == padding).all()


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_copy_answers_the_same(backend):
    index = backend(X, "euclidean", n_jobs=1, block_rows=700)
    copy = deepcopy(index)
    assert np.array_equal(copy.query_self(3).ids, index.query_self(3).ids)
    assert (copy.metric, copy.n_jobs, copy.block_rows) == ("euclidean", 1, 700)


def _frozen(array):
    array.flags.writeable = False
    return array


def _mapped(array, folder):
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, array)
    return np.load(path, mmap_mode="r")


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_read_only_and_memory_mapped_rows(metric, tmp_path):
    rows = np.random.default_rng(0).random((50, 6)).round(1)
    expected = InvertedIndex(rows, metric).query(rows, 5)
    csr = sparse.csr_array(rows)
    for wrap in (_frozen, lambda a: _mapped(a, tmp_path)):
        parts = [wrap(part.copy()) for part in (csr.data, csr.indices, csr.indptr)]
        mapped = sparse.csr_array(tuple(parts), shape=csr.shape)
        for index, Q in (
            (InvertedIndex(mapped, metric), mapped),
            (DenseIndex(wrap(rows.copy()), metric), wrap(rows.copy())),
        ):
            graph = index.query(Q, 5)
            assert np.array_equal(graph.ids, expected.ids)
            assert np.array_equal(graph.values, expected.values)


def test_the_rows_given_are_not_changed():
    rows = sparse.csr_array(X)
    before = rows.copy()
    InvertedIndex(rows).query_self(2)
    assert np.array_equal(rows.toarray(), before.toarray())


def test_the_level_of_instructions_is_checked(monkeypatch):
    with pytest.raises(InvalidArgumentError, match=r"^simd: expected one of 'auto', 'plain'"):
        InvertedIndex(X, simd="mmx")
    monkeypatch.setenv("VICINAL_SIMD", "none")
    with pytest.raises(InvalidArgumentError, match=r"^simd:"):
        InvertedIndex(X)
    monkeypatch.setenv("VICINAL_SIMD", "plain")
    assert InvertedIndex(X).query(X, 1).ids[0].tolist() == [0]


def test_many_features_cost_no_table():
    rows = sparse.csr_array(([1.0, 1.0], ([0, 1], [2**30, 7])), shape=(2, 2**30 + 1))
    index = InvertedIndex(rows)
    assert index.nbytes < 10_000
    assert index.query(rows, 1).ids.tolist() == [[0], [1]]
