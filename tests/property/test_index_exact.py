"""Every backend gives the neighbours, the order and the values of the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal._native import simd_levels
from vicinal.index import DenseIndex, InvertedIndex
from vicinal.index.reference import reference_query, reference_query_self

pytestmark = pytest.mark.native

metrics = st.sampled_from(["cosine", "dot", "euclidean"])


def messy(matrix, seed):
    """Return the same matrix as CSR with shuffled rows, stored zeros and 64-bit ids."""
    rng = np.random.default_rng(seed)
    rows, columns = matrix.shape
    order = [rng.permutation(columns) for _ in range(rows)]
    keep = [
        [j for j in row if value[j] != 0 or rng.random() < 0.3]
        for row, value in zip(order, matrix, strict=True)
    ]
    indices = np.array([j for row in keep for j in row], dtype=np.int64)
    data = np.array(
        [value[j] for row, value in zip(keep, matrix, strict=True) for j in row],
        dtype=matrix.dtype,
    )
    indptr = np.cumsum([0, *map(len, keep)], dtype=np.int64)
    csr = sparse.csr_array((data, indices, indptr), shape=matrix.shape)
    csr.indices, csr.indptr = indices, indptr
    return csr


def assert_same(graph, reference):
    assert graph.ids.shape == reference.ids.shape
    assert np.array_equal(graph.ids, reference.ids)
    assert np.array_equal(graph.values, reference.values)


levels = st.sampled_from(simd_levels())


@given(
    data=st.data(),
    metric=metrics,
    n_jobs=st.integers(1, 3),
    batch=st.sampled_from([1, 2, 16]),
    simd=levels,
    patterns=st.booleans(),
)
@settings(deadline=None, max_examples=300)
def test_inverted_is_the_definition(search_problems, data, metric, n_jobs, batch, simd, patterns):
    X, Q, k = data.draw(search_problems(most_rows=25))
    seed = batch
    index = InvertedIndex(
        messy(X, seed), metric, n_jobs=n_jobs, batch_queries=batch, simd=simd, patterns=patterns
    )
    expected = reference_query(X, Q, k, metric)
    assert_same(index.query(messy(Q, seed), k), expected)
    assert_same(index.query(Q, k), expected)
    assert_same(index.query_self(k), reference_query_self(X, k, metric))


@given(
    data=st.data(),
    metric=metrics,
    n_jobs=st.integers(1, 3),
    batch=st.sampled_from([1, 3, 256]),
    seed=st.integers(0, 99),
)
@settings(deadline=None, max_examples=250)
def test_dense_is_the_definition(search_problems, data, metric, n_jobs, batch, seed):
    X, Q, k = data.draw(search_problems(most_rows=25))
    simd = simd_levels()[seed % len(simd_levels())]
    index = DenseIndex(
        X, metric, n_jobs=n_jobs, batch_queries=batch, block_rows=3 * batch, simd=simd
    )
    expected = reference_query(X, Q, k, metric)
    assert_same(index.query(Q, k), expected)
    assert_same(index.query(messy(Q, seed), k), expected)
    assert_same(index.query_self(k), reference_query_self(X, k, metric))


def _large(kind, seed, n=1800, m=60):
    rng = np.random.default_rng(seed)
    frequent = rng.random(m) ** 4
    X = (rng.random((n, m)) < frequent) * 1.0
    if kind == "constant rows":
        X *= rng.choice([0.1, 0.3, 0.7, 3.0], size=(n, 1))
    if kind == "ties":
        X *= rng.choice([1.0, 2.0, 0.5], size=X.shape)
    if kind in ("real", "signed", "mixed scales"):
        X *= rng.random(X.shape)
    if kind == "signed":
        X *= rng.choice([1.0, -1.0], size=X.shape)
    if kind == "mixed scales":
        X *= 10.0 ** rng.integers(-9, 9, size=(n, 1))
        X[rng.integers(n, size=3)] *= 1e170
    X[5] = 0
    X[100:110] = X[99]
    return X


KINDS = ["binary", "constant rows", "ties", "real", "signed", "mixed scales"]


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("kind", KINDS)
def test_many_rows_in_several_blocks(kind, metric):
    X = _large(kind, seed=1)
    Q = np.vstack([X[::150], _large(kind, seed=2)[:8]])
    rows, queries = sparse.csr_array(X), sparse.csr_array(Q)
    whole = reference_query(X, Q, 2500, metric)
    expected = {k: whole.prefix(min(k, whole.k)) for k in (1, 30, 700, 2500)}
    for block_rows, simd in zip((512, 1024, 65_536), simd_levels() * 3, strict=False):
        index = InvertedIndex(rows, metric, block_rows=block_rows, n_jobs=2, simd=simd)
        for k, wanted in expected.items():
            assert_same(index.query(queries, k), wanted)
    for block_rows, simd in zip((100, 256, 2048), simd_levels() * 3, strict=False):
        index = DenseIndex(X, metric, block_rows=block_rows, batch_queries=4, n_jobs=2, simd=simd)
        for k, wanted in expected.items():
            assert_same(index.query(Q, k), wanted)


@pytest.mark.parametrize("simd", simd_levels())
@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("kind", ["binary", "ties", "signed"])
def test_every_level_of_instructions(kind, metric, simd):
    X = _large(kind, seed=5, n=1100, m=300)
    Q = _large(kind, seed=6, n=120, m=300)[:6]
    index = InvertedIndex(sparse.csr_array(X), metric, simd=simd)
    for k in (1, 40):
        assert_same(index.query(Q, k), reference_query(X, Q, k, metric))


@pytest.mark.parametrize("simd", simd_levels())
@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("size", [254, 255, 256, 300])
def test_counts_beyond_a_byte(metric, simd, size):
    rng = np.random.default_rng(size)
    X = np.zeros((700, 2 * size))
    for row in X:
        row[rng.permutation(2 * size)[: rng.integers(1, 2 * size)]] = 1.0
    X[3, :size] = 1.0
    Q = np.vstack([X[3], np.ones(2 * size), X[10]])
    index = InvertedIndex(sparse.csr_array(X), metric, simd=simd)
    assert_same(index.query(Q, 9), reference_query(X, Q, 9, metric))


@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
@pytest.mark.parametrize("values", ["ones", "weights"])
def test_rows_with_more_entries_than_sixteen_bits_count(metric, values):
    rng = np.random.default_rng(0)
    X = (rng.random((6, 70_000)) < 0.97) * 1.0
    X[1] = 1.0
    X[2, 100:] = 0
    if values == "weights":
        X *= rng.random(X.shape)
    index = InvertedIndex(sparse.csr_array(X), metric)
    assert_same(index.query_self(4), reference_query_self(X, 4, metric))


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_weighted_queries_of_binary_rows(metric):
    X = _large("binary", seed=7, n=700)
    Q = np.vstack([_large("real", seed=8)[:5], X[:5], _large("constant rows", seed=9)[:5]])
    index = InvertedIndex(sparse.csr_array(X), metric)
    assert_same(index.query(Q, 12), reference_query(X, Q, 12, metric))


@pytest.mark.parametrize("backend", [InvertedIndex, DenseIndex])
@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_prefix_equals_a_fresh_query(backend, metric):
    X = _large("ties", seed=3, n=600)
    index = backend(X, metric)
    wide = index.query_self(25)
    for k in (1, 7, 24):
        assert_same(wide.prefix(k), index.query_self(k))


@pytest.mark.parametrize("backend", [InvertedIndex, DenseIndex])
@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
def test_self_query_is_the_query_without_the_row_itself(backend, metric):
    X = _large("binary", seed=4, n=600)
    index = backend(X, metric)
    for i, row in enumerate(index.query(X, 600).ids):
        others = [a for a in row if a not in (i, -1)][:20]
        found = index.query_self(20).ids[i] if i % 100 == 0 else None
        if found is not None:
            assert found[found >= 0].tolist() == others
