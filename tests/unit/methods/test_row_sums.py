"""Weighted sums of rows: every k in one pass, any number of threads, odd graphs."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal._core.threads import using_threads
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.methods._formulas import combined_rows, neighbor_sums, neighbor_weights
from vicinal.methods.instance_knn import InstanceKNNScoring, SecondOrderScoring
from vicinal.methods.training import Training

pytestmark = pytest.mark.native


def random_graph(rng, n_queries, n_rows, k, metric="cosine"):
    """Draw a graph with short rows, ties and negative similarities; order does not matter here."""
    ids = np.full((n_queries, k), -1, dtype=np.int32)
    values = np.full((n_queries, k), np.inf if metric == "euclidean" else 0.0)
    for query in range(n_queries):
        found = rng.integers(0, min(k, n_rows) + 1)
        ids[query, :found] = rng.permutation(n_rows)[:found]
        low = 0.0 if metric == "euclidean" else -0.3
        values[query, :found] = rng.uniform(low, 1.0, found).round(1)
    return NeighborGraph(ids, values, metric, n_rows)


def random_rows(rng, n_rows, n_labels, fill=0.3):
    return sparse.csr_array(
        rng.random((n_rows, n_labels)) * (rng.random((n_rows, n_labels)) < fill)
    )


def plain_sums(graph, rows, k):
    """Add up by the definition, nearest first."""
    sums, totals = np.zeros((graph.n_queries, rows.shape[1])), np.zeros(graph.n_queries)
    dense = rows.toarray()
    for query in range(graph.n_queries):
        for row, value in list(zip(graph.ids[query], graph.values[query], strict=True))[:k]:
            weight = 1 / (1 + value) if graph.metric == "euclidean" else value
            if row >= 0 and weight > 0:
                sums[query] += weight * dense[row]
                totals[query] += weight
    return sums, totals


@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["cosine", "dot", "euclidean"]),
    st.sampled_from([1, 5, 300]),
    st.lists(st.integers(0, 7), min_size=1, unique=True),
)
@settings(deadline=None, max_examples=80)
def test_every_k_in_one_pass_is_the_definition(seed, metric, n_labels, ks):
    rng = np.random.default_rng(seed)
    n_queries, n_rows = rng.integers(0, 300), int(rng.integers(1, 12))
    graph = random_graph(rng, n_queries, n_rows, 7, metric)
    rows = random_rows(rng, n_rows, n_labels)
    for k, sums in zip(sorted(ks), neighbor_sums(graph, rows, sorted(ks)), strict=True):
        expected, totals = plain_sums(graph, rows, k)
        assert np.array_equal(sums.values.toarray(), expected)
        assert np.array_equal(sums.totals, totals)
        assert sums.values.has_canonical_format
        sums.values.has_canonical_format = False
        assert np.all(np.diff(sums.values.indices) > 0, where=_same_row(sums.values))


def _same_row(matrix):
    row = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    return row[1:] == row[:-1]


@given(st.integers(0, 2**32 - 1), st.sampled_from(["mean", "max"]))
@settings(deadline=None, max_examples=60)
def test_combined_rows_is_a_product(seed, aggregate):
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 0.5, 1.0, -1.0], size=(rng.integers(0, 20), 6))
    rows = random_rows(rng, 6, int(rng.integers(1, 40)))
    found = combined_rows(sparse.csr_array(weights), rows, aggregate)
    positive = np.maximum(weights, 0)
    assert np.array_equal(found.totals, positive.sum(axis=1))
    expected = [
        [
            max((r for w, r in zip(x, column, strict=True) if w > 0), default=0.0)
            if aggregate == "max"
            else sum(w * r for w, r in zip(x, column, strict=True))
            for column in rows.toarray().T
        ]
        for x in positive
    ]
    shape = len(weights), rows.shape[1]
    assert np.array_equal(found.values.toarray(), np.reshape(expected, shape))


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(5)
    graph, rows = random_graph(rng, 3000, 200, 20), random_rows(rng, 200, 50)
    results = []
    for n_threads in (1, 2, 7):
        with using_threads(n_threads):
            (sums,) = neighbor_sums(graph, rows, [20])
        results.append(sums)
    for other in results[1:]:
        assert np.array_equal(results[0].values.data, other.values.data)
        assert np.array_equal(results[0].values.indices, other.values.indices)
        assert np.array_equal(results[0].totals, other.totals)


def test_a_narrow_view_of_a_graph_is_read_as_it_is():
    rng = np.random.default_rng(6)
    graph, rows = random_graph(rng, 50, 30, 10), random_rows(rng, 30, 9)
    (view,) = neighbor_sums(graph.prefix(4), rows, [4])
    (whole,) = neighbor_sums(graph, rows, [4])
    assert np.array_equal(view.values.toarray(), whole.values.toarray())


def test_rows_of_another_size_are_refused():
    rng = np.random.default_rng(7)
    graph, rows = random_graph(rng, 5, 3, 2), random_rows(rng, 4, 2)
    with pytest.raises(InvalidArgumentError, match="rows: expected 3 rows, got 4"):
        next(neighbor_sums(graph, rows, [1]))
    with pytest.raises(InvalidArgumentError, match="X: expected 4 features, got 5"):
        combined_rows(sparse.csr_array(np.eye(5)), rows, "mean")


def test_weights_of_each_metric():
    ids = np.array([[0, 1, -1]], dtype=np.int32)
    near = NeighborGraph(ids, np.array([[0.0, 1.0, np.inf]]), "euclidean", 2)
    assert neighbor_weights(near).tolist() == [[1.0, 0.5, 0.0]]
    like = NeighborGraph(ids, np.array([[0.5, -1.0, 0.0]]), "dot", 2)
    assert neighbor_weights(like).tolist() == [[0.5, 0.0, 0.0]]


def test_sweeps_give_what_each_k_gives():
    rng = np.random.default_rng(8)
    Y = sparse.csr_array((rng.random((40, 12)) < 0.2).astype(np.int32))
    graph, joint = random_graph(rng, 40, 40, 9), random_graph(rng, 40, 40, 9)
    training = Training(graph, Y, joint=joint)
    ks = [1, 2, 5, 9]
    whole = InstanceKNNScoring.fit(training, 9)
    for k, scores in zip(ks, whole.sweep(graph, ks), strict=True):
        alone = InstanceKNNScoring.fit(training, k).scores(graph)
        assert np.array_equal(scores.toarray(), alone.toarray())
        assert np.array_equal(scores.neighbor_cardinality, alone.neighbor_cardinality)
    for k, state in zip(ks, SecondOrderScoring.fit_sweep(training, ks), strict=True):
        alone = SecondOrderScoring.fit(training, k)
        assert np.array_equal(state.rw.toarray(), alone.rw.toarray())
        assert state.k == k
