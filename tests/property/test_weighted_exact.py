"""Weighted search is the definition: every kind of values, few or many frequent features."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal._native import simd_levels
from vicinal.index import InvertedIndex
from vicinal.index.reference import reference_query, reference_query_self

pytestmark = pytest.mark.native

KINDS = ["factors", "counts", "uniform", "signed", "nearly equal", "large and small"]


def values_of(kind, rng, rows, columns):
    """Return one value per entry; "factors" are a weight per row times a weight per feature."""
    shape = len(rows)
    factors = (0.1 + rng.random(rows.max(initial=0) + 1))[rows] * np.log(2 + columns)
    match kind:
        case "counts":
            return factors * (1 + np.floor(rng.exponential(size=shape)))
        case "uniform":
            return 1 - rng.random(shape)
        case "signed":
            return rng.normal(size=shape)
        case "nearly equal":
            return 1 + 1e-12 * rng.integers(0, 4, shape)
        case "large and small":
            return 10.0 ** rng.integers(-6, 6, shape)
    return factors


def texts(kind, rng, n_rows, n_features, steepness):
    """Return rows in which feature j occurs with a probability of about 0.6 steepness / j."""
    share = 0.6 / (1 + np.arange(n_features) / steepness)
    rows, columns = np.nonzero(rng.random((n_rows, n_features)) < share)
    values = values_of(kind, rng, rows, columns)
    return sparse.csr_array((values, (rows, columns)), shape=(n_rows, n_features))


def assert_same(graph, reference):
    assert np.array_equal(graph.ids, reference.ids)
    assert np.array_equal(graph.values, reference.values)


@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(KINDS),
    query_kind=st.sampled_from([None, "signed", "uniform"]),
    metric=st.sampled_from(["cosine", "dot", "euclidean"]),
    steepness=st.sampled_from([0.3, 3.0, 60.0]),
    n_rows=st.sampled_from([1, 40, 700, 1300]),
    k=st.sampled_from([1, 7, 60]),
    block_rows=st.sampled_from([512, 1024, 65536]),
    batch=st.sampled_from([1, 3, 64]),
    n_jobs=st.integers(1, 3),
    simd=st.sampled_from(simd_levels()),
    dtype=st.sampled_from([np.float32, np.float64]),
)
@settings(deadline=None, max_examples=120)
def test_weighted_search_is_the_definition(
    seed,
    kind,
    query_kind,
    metric,
    steepness,
    n_rows,
    k,
    block_rows,
    batch,
    n_jobs,
    simd,
    dtype,
):
    rng = np.random.default_rng(seed)
    X = texts(kind, rng, n_rows, 120, steepness).astype(dtype)
    Q = texts(query_kind or kind, rng, 6, 120, steepness)
    index = InvertedIndex(
        X, metric, block_rows=block_rows, batch_queries=batch, n_jobs=n_jobs, simd=simd
    )
    assert_same(index.query(Q, k), reference_query(X, Q, k, metric))
    gone = rng.permutation(n_rows)[: n_rows // 12]
    index.remove(gone)
    kept = np.setdiff1d(np.arange(n_rows), gone)
    again = index.query(Q, k)
    expected = reference_query(X[kept], Q, k, metric)
    width = expected.ids.shape[1]
    numbered = np.where(expected.ids < 0, -1, kept[expected.ids])
    assert np.array_equal(again.ids[:, :width], numbered)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("steepness", [0.3, 30.0])
def test_the_graph_of_weighted_rows_is_the_definition(kind, steepness):
    X = texts(kind, np.random.default_rng(5), 600, 150, steepness)
    assert_same(InvertedIndex(X, n_jobs=2).query_self(9), reference_query_self(X, 9, "cosine"))
