"""The leave-one-out graph of many rows, whose pairs are scored once, is that of the definition."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal._native import simd_levels
from vicinal.distances import get_distance
from vicinal.index import InvertedIndex

pytestmark = pytest.mark.native

N_ROWS = 5200
"""More than ten tiles of 512 rows."""

PALETTES = {
    "binary": [1.0],
    "same": [0.3],
    "counts": [1.0, 2.0, 3.0],
    "signed": [1.0, -1.0, 2.0],
    "thirds": [0.1, 0.2, 0.3, 1 / 3, 0.7],
}


def random_rows(palette, rng, dtype):
    """Draw rows of about a dozen of 300 features, some empty, equal, or with stored zeros."""
    chance = np.minimum(1.0, 4.0 / (1.0 + np.arange(300)))
    dense = rng.choice(palette, size=(N_ROWS, 300)) * (rng.random((N_ROWS, 300)) < chance)
    dense[rng.integers(N_ROWS, size=20)] = 0
    dense[rng.integers(N_ROWS, size=40)] = dense[rng.integers(N_ROWS)]
    X = sparse.csr_array(dense.astype(dtype))
    X.data[rng.integers(X.nnz, size=10)] = 0
    return X


def neighbors_of(row, X, metric, k, removed):
    """Return ids and values by the definition."""
    dense, distance = X.toarray().astype(np.float64), get_distance(metric)
    with np.errstate(invalid="ignore", divide="ignore"):
        keys = distance.keys(dense, dense[row])
    candidate = np.ones(len(dense), dtype=bool)
    if distance.is_similarity:
        candidate = ((dense != 0) & (dense[row] != 0)).any(axis=1)
    candidate[[row, *removed]] = False
    chosen = np.flatnonzero(candidate)
    chosen = chosen[np.lexsort((chosen, keys[chosen]))][:k]
    return chosen, distance.values(keys[chosen])


@given(
    kind=st.sampled_from(sorted(PALETTES)),
    metric=st.sampled_from(["cosine", "dot", "euclidean"]),
    k=st.integers(1, 40),
    n_jobs=st.integers(1, 3),
    simd=st.sampled_from(simd_levels()),
    dtype=st.sampled_from([np.float32, np.float64]),
    n_removed=st.sampled_from([0, 100]),
    seed=st.integers(0, 2**32 - 1),
)
@settings(deadline=None, max_examples=6)
def test_every_row_has_the_neighbors_of_the_definition(
    kind, metric, k, n_jobs, simd, dtype, n_removed, seed
):
    rng = np.random.default_rng(seed)
    X = random_rows(PALETTES[kind], rng, dtype)
    index = InvertedIndex(X, metric, n_jobs=n_jobs, block_rows=512, simd=simd)
    removed = rng.choice(N_ROWS, size=n_removed, replace=False)
    index.remove(removed)
    graph = index.query_self(k)
    for row in rng.choice(np.setdiff1d(np.arange(N_ROWS), removed), size=3):
        ids, values = neighbors_of(row, X, metric, k, removed)
        assert np.array_equal(graph.ids[row, : len(ids)], ids)
        assert np.array_equal(graph.values[row, : len(ids)], values)
        assert (graph.ids[row, len(ids) :] == -1).all()
    assert (graph.ids[removed] == -1).all()


def test_added_rows_are_searched_with_the_others():
    rng = np.random.default_rng(5)
    X = random_rows(PALETTES["thirds"], rng, np.float64)
    grown = InvertedIndex(X[:-1], block_rows=512)
    grown.add(X[[-1]])
    whole = InvertedIndex(X, block_rows=512).query_self(7)
    parts = grown.query_self(7)
    assert np.array_equal(parts.ids, whole.ids)
    assert np.array_equal(parts.values, whole.values)


@pytest.mark.parametrize("kind", ["binary", "thirds"])
def test_the_number_of_threads_changes_nothing(kind):
    X = random_rows(PALETTES[kind], np.random.default_rng(6), np.float32)
    first, *others = (
        InvertedIndex(X, n_jobs=n_jobs, block_rows=512).query_self(20) for n_jobs in (1, 2, 4)
    )
    for other in others:
        assert np.array_equal(first.ids, other.ids)
        assert np.array_equal(first.values, other.values)
