"""A segmented index answers like the definition, however rows are cut, changed and reopened."""

import tempfile
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.index import InvertedIndex, SegmentedIndex, segment_files, segmented
from vicinal.index.reference import reference_query, reference_query_self

pytestmark = pytest.mark.native

PALETTES = [
    [0.0, 1.0],
    [0.0, 0.1, 0.3, 2.0],
    [0.0, 0.1, 7.0, 1e4, -3e7],
    [0.0, -1.0, 1.0, 1e-160],
    [0.0, 1 / 3, 0.7, 1e160],
]
metrics = st.sampled_from(["cosine", "dot", "euclidean"])
steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 9)),
        st.tuples(st.just("remove"), st.integers(0, 3)),
        st.tuples(st.just("compact"), st.just(0)),
        st.tuples(st.just("reopen"), st.just(0)),
    ),
    max_size=8,
)


def by_id(graph, kept):
    """Return the ids and values of a graph of the rows that are left."""
    return np.where(graph.ids >= 0, np.append(kept, 0)[graph.ids], -1), graph.values


def chunks(X, rng):
    cuts = np.sort(rng.integers(0, len(X) + 1, 2))
    return [sparse.csr_array(part) for part in np.split(X, cuts)]


@given(
    steps,
    metrics,
    st.sampled_from(PALETTES),
    st.integers(0, 2**31),
    st.integers(1, 9),
    st.sampled_from([2**15, 2**18, 2**20]),
    st.sampled_from(["memory", "folder", "folder with postings"]),
)
@settings(deadline=None, max_examples=200)
def test_every_sequence_of_changes(changes, metric, palette, seed, k, entry_bytes, place):
    """`entry_bytes` sets how many entries a range has: from one row to a dozen."""
    in_folder = place != "memory"
    fewest_stored = 1 if place == "folder with postings" else 2**20
    rng = np.random.default_rng(seed)
    X = rng.choice(palette, size=(int(rng.integers(0, 14)), 5))
    alive = np.ones(len(X), dtype=bool)
    Q = rng.choice(palette, size=(4, 5))
    with (
        patch.object(segmented, "BYTES_PER_ENTRY", entry_bytes),
        patch.object(segment_files, "FEWEST_ENTRIES", fewest_stored),
        tempfile.TemporaryDirectory() as folder,
    ):
        options = {"max_memory": 2**20, "n_jobs": 2}
        if in_folder:
            index = SegmentedIndex.build(chunks(X, rng), folder, metric, **options)
        else:
            index = SegmentedIndex(sparse.csr_array(X), metric, **options)
        for action, size in changes:
            if action == "add":
                fresh = rng.choice(palette, size=(size, 5))
                ids = index.add(sparse.csr_array(fresh))
                assert ids.tolist() == list(range(len(X), len(X) + size))
                X, alive = np.vstack([X, fresh]), np.append(alive, np.ones(size, dtype=bool))
            elif action == "remove" and len(X):
                gone = rng.integers(0, len(X), size)
                index.remove(gone)
                alive[gone] = False
            elif action == "compact":
                index.compact()
            elif action == "reopen" and in_folder:
                index = SegmentedIndex.open(folder, n_jobs=2)
            found, kept = index.query(Q, k), np.flatnonzero(alive)
            ids, values = by_id(reference_query(X[kept], Q, k, metric), kept)
            assert np.array_equal(found.ids, ids)
            assert np.array_equal(found.values, values)
        own, kept = index.query_self(k), np.flatnonzero(alive)
        assert own.n_queries == len(X)
        ids, values = by_id(reference_query_self(X[kept], k, metric), kept)
        assert np.array_equal(own.ids[kept], ids)
        assert np.array_equal(own.values[kept], values)
        assert (own.ids[~alive] == -1).all()


@given(st.integers(0, 2**31), metrics, st.integers(1, 12), st.sampled_from([1, 5, 2**22]))
@settings(deadline=None, max_examples=40)
def test_blocks_of_queries_do_not_matter(seed, metric, k, block):
    rng = np.random.default_rng(seed)
    X = sparse.random_array((60, 12), density=0.3, format="csr", rng=rng)
    with (
        patch("vicinal.index.segmented.BLOCK_ENTRIES", block),
        patch.object(segmented, "BYTES_PER_ENTRY", 2**14),
    ):
        index = SegmentedIndex(X, metric, max_memory=2**20, n_jobs=2)
        assert len(index._version.ranges) > 3
        graphs = index.query(X, k), index.query_self(k)
    other = InvertedIndex(X, metric)
    for graph, wanted in zip(graphs, (other.query(X, k), other.query_self(k)), strict=True):
        assert np.array_equal(graph.ids, wanted.ids)
        assert np.array_equal(graph.values, wanted.values)
