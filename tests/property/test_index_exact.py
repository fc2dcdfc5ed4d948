"""Every backend gives the neighbours, the order and the values of the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.index import DenseIndex, InvertedIndex
from vicinal.index.reference import reference_query, reference_query_self

pytestmark = pytest.mark.native

PALETTES = {
    "binary": [0.0, 0.0, 1.0],
    "same": [0.0, 0.3],
    "counts": [0.0, 0.0, 1.0, 2.0, 3.0],
    "signed": [0.0, 1.0, -1.0, 2.0],
    "thirds": [0.0, 0.1, 0.2, 0.3, 1 / 3, 0.7],
    "large": [0.0, 1e150, -1e150, 2e150],
    "small": [0.0, 1e-150, 3e-150],
    "float32 range": [0.0, 1e30, 1e-30, 1.0, -1e30],
    "beyond squares": [0.0, 1e-200, 1e200, 1e-170, 1.0, -1e200],
}
metrics = st.sampled_from(["cosine", "dot", "euclidean"])


@st.composite
def problems(draw):
    palette = PALETTES[draw(st.sampled_from(sorted(PALETTES)))]
    m = draw(st.integers(0, 8))
    n, n_queries = draw(st.integers(0, 25)), draw(st.integers(0, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    fill = draw(st.sampled_from([0.2, 0.6, 1.0]))
    X, Q = (
        rng.choice(palette, size=(rows, m)) * (rng.random((rows, m)) < fill)
        for rows in (n, n_queries)
    )
    if n > 2:
        X[rng.integers(n)] = X[rng.integers(n)]
    if n and n_queries:
        Q[0] = X[rng.integers(n)]
    if np.abs(X).max(initial=0) < 1e38 and draw(st.booleans()):
        X = X.astype(np.float32)
    return X, Q, draw(st.integers(1, 12))


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


@given(problems(), metrics, st.integers(1, 3), st.sampled_from([1, 2, 16]), st.integers(0, 99))
@settings(deadline=None, max_examples=250)
def test_inverted_is_the_definition(problem, metric, n_jobs, batch, seed):
    X, Q, k = problem
    index = InvertedIndex(messy(X, seed), metric, n_jobs=n_jobs, batch_queries=batch)
    expected = reference_query(X, Q, k, metric)
    assert_same(index.query(messy(Q, seed), k), expected)
    assert_same(index.query(Q, k), expected)
    assert_same(index.query_self(k), reference_query_self(X, k, metric))


@given(problems(), metrics, st.integers(1, 3), st.sampled_from([1, 3, 256]), st.integers(0, 99))
@settings(deadline=None, max_examples=250)
def test_dense_is_the_definition(problem, metric, n_jobs, batch, seed):
    X, Q, k = problem
    index = DenseIndex(X, metric, n_jobs=n_jobs, batch_queries=batch, block_rows=3 * batch)
    expected = reference_query(X, Q, k, metric)
    assert_same(index.query(Q, k), expected)
    assert_same(index.query(messy(Q, seed), k), expected)
    assert_same(index.query_self(k), reference_query_self(X, k, metric))


def _large(kind, seed, n=1800, m=60):
    rng = np.random.default_rng(seed)
    frequent = rng.random(m) ** 4
    X = (rng.random((n, m)) < frequent) * 1.0
    if kind != "binary":
        X *= rng.choice([1.0, 2.0, 0.5], size=X.shape) if kind == "ties" else rng.random(X.shape)
    if kind == "signed":
        X *= rng.choice([1.0, -1.0], size=X.shape)
    if kind == "mixed scales":
        X *= 10.0 ** rng.integers(-9, 9, size=(n, 1))
        X[rng.integers(n, size=3)] *= 1e170
    X[5] = 0
    X[100:110] = X[99]
    return X


@pytest.mark.parametrize("metric", ["cosine", "dot", "euclidean"])
@pytest.mark.parametrize("kind", ["binary", "ties", "real", "signed", "mixed scales"])
def test_many_rows_in_several_blocks(kind, metric):
    X = _large(kind, seed=1)
    Q = np.vstack([X[::150], _large(kind, seed=2)[:8]])
    for k in (1, 30, 700, 2500):
        expected = reference_query(X, Q, k, metric)
        for block_rows in (512, 1024, 65_536):
            index = InvertedIndex(sparse.csr_array(X), metric, block_rows=block_rows, n_jobs=2)
            assert_same(index.query(sparse.csr_array(Q), k), expected)
        for block_rows in (100, 2048):
            index = DenseIndex(X, metric, block_rows=block_rows, batch_queries=4, n_jobs=2)
            assert_same(index.query(Q, k), expected)


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
