from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph, neighbor_cardinality, votes, votes_by_k

pytestmark = pytest.mark.native


@st.composite
def graphs_with_labels(draw):
    n_rows, n_labels = draw(st.integers(1, 6)), draw(st.integers(0, 5))
    width = draw(st.integers(1, 5))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    sizes = rng.integers(0, min(n_rows, width) + 1, size=draw(st.integers(0, 6)))
    lists = [rng.permutation(n_rows)[:size].tolist() for size in sizes]
    ids = np.full((len(lists), width), -1, dtype=np.int32)
    for i, row in enumerate(lists):
        ids[i, : len(row)] = row
    Y = rng.random((n_rows, n_labels)) < draw(st.sampled_from([0.0, 0.3, 0.7, 1.0]))
    graph = NeighborGraph(ids, np.zeros(ids.shape), "cosine", n_rows)
    return graph, sparse.csr_array(Y.astype(np.int32)), lists


def counted(lists, Y, k):
    return [Counter(label for row in near[:k] for label in Y[[row]].indices) for near in lists]


@given(graphs_with_labels(), st.integers(1, 3))
@settings(deadline=None, max_examples=150)
def test_votes_count_labels_of_the_first_k(case, n_jobs):
    graph, Y, lists = case
    for k, by_k in zip(range(1, graph.k + 1), votes_by_k(graph, Y, n_jobs=n_jobs), strict=True):
        fresh = votes(graph, Y, k, n_jobs=n_jobs)
        assert fresh.shape == (graph.n_queries, Y.shape[1])
        assert fresh.dtype == np.int32
        for counts in (fresh, by_k):
            for i, expected in enumerate(counted(lists, Y, k)):
                row = slice(counts.indptr[i], counts.indptr[i + 1])
                assert counts.indices[row].tolist() == sorted(expected)
                assert counts.data[row].tolist() == [expected[j] for j in sorted(expected)]


@given(graphs_with_labels())
@settings(deadline=None, max_examples=50)
def test_cardinality_is_the_mean_over_neighbours_there_are(case):
    graph, Y, lists = case
    for k in range(1, graph.k + 1):
        sizes = [[len(Y[[row]].indices) for row in near[:k]] for near in lists]
        expected = [sum(s) / len(s) if s else 0.0 for s in sizes]
        assert neighbor_cardinality(graph, Y, k).tolist() == expected


def test_some_widths_only():
    graph = NeighborGraph(np.array([[0, 1, 2]], dtype=np.int32), np.zeros((1, 3)), "dot", 3)
    Y = sparse.csr_array(np.eye(3, dtype=np.int32))
    one, three = votes_by_k(graph, Y, [1, 3])
    assert one.toarray().tolist() == [[1, 0, 0]]
    assert three.toarray().tolist() == [[1, 1, 1]]


def test_a_graph_and_labels_larger_than_one_task():
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 50, size=(2000, 7)).astype(np.int32)
    graph = NeighborGraph.trusted(ids, np.zeros(ids.shape), "dot", 50)
    dense = rng.integers(0, 2, size=(50, 9)).astype(np.int32)
    assert np.array_equal(votes(graph, sparse.csr_array(dense)).toarray(), dense[ids].sum(axis=1))
    near = graph.prefix(3)
    assert np.array_equal(
        votes(near, sparse.csr_array(dense)).toarray(), dense[ids[:, :3]].sum(axis=1)
    )


def test_counts_survive_the_table_that_made_them():
    graph = NeighborGraph(np.array([[0, 1]], dtype=np.int32), np.zeros((1, 2)), "dot", 2)
    Y = sparse.csr_array(np.array([[1, 0], [1, 1]], dtype=np.int32))
    steps = votes_by_k(graph, Y)
    first = next(steps)
    next(steps)
    del steps
    assert first.toarray().tolist() == [[1, 0]]


@pytest.mark.parametrize("ks", [[0], [3], [2, 1], [1, 1]])
def test_widths_must_rise_within_the_graph(ks):
    graph = NeighborGraph(np.array([[0, 1]], dtype=np.int32), np.zeros((1, 2)), "dot", 2)
    with pytest.raises(InvalidArgumentError, match=r"^ks:"):
        votes_by_k(graph, sparse.csr_array(np.ones((2, 1))), ks)


def test_labels_must_match_the_rows():
    graph = NeighborGraph(np.array([[0, 1]], dtype=np.int32), np.zeros((1, 2)), "dot", 2)
    with pytest.raises(InvalidArgumentError, match=r"^Y: expected 2 rows, got 3"):
        votes(graph, sparse.csr_array(np.ones((3, 1))))
