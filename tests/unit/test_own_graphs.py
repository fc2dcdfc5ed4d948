"""Graphs of one's own: checked, made from matrices, and required again where none can be found."""

import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import kneighbors_graph

import vicinal
from vicinal import BRkNN, InstanceKNN, MLkNN, NeighborGraph
from vicinal.errors import InvalidArgumentError
from vicinal.index import build_index

pytestmark = pytest.mark.native

RNG = np.random.default_rng(3)
X, Q = RNG.random((30, 4)), RNG.random((5, 4))
Y = (RNG.random((30, 3)) < 0.4).astype(int)


@pytest.mark.parametrize(
    ("ids", "values", "says"),
    [
        ([[1, 1]], [[0.1, 0.2]], "each row id once per list, got a duplicate in list 0"),
        ([[1, 2]], [[0.1, np.nan]], "values: expected numbers, got NaN"),
        ([[1, 2]], [[-0.5, 0.1]], "values: expected distances of at least 0"),
        ([[1, 5]], [[0.1, 0.2]], "row ids from −1 to 3"),
        ([[1.0, 2.0]], [[0.1, 0.2]], "ids: expected a two-dimensional array of integers"),
        ([[1, 2]], [[1, 2]], "values: expected floats"),
    ],
)
def test_wrong_lists_are_refused(ids, values, says):
    with pytest.raises(InvalidArgumentError, match=says):
        NeighborGraph(np.array(ids), np.array(values), "euclidean", 4)


@pytest.mark.parametrize("kind", [np.int64, np.int16, np.uint8])
def test_other_integers_and_floats_are_converted(kind):
    graph = NeighborGraph(np.array([[1, 2]], kind), np.array([[0.1, 0.2]], np.float32), "dot", 3)
    assert (graph.ids.dtype, graph.values.dtype) == (np.int32, np.float64)


def test_unsorted_lists_are_sorted_with_a_note(caplog):
    ids, values = np.array([[2, 0, 1], [1, 0, -1]]), np.array([[0.5, 0.1, 0.3], [0.2, 0.1, 7.0]])
    with caplog.at_level(logging.INFO, logger="vicinal"):
        graph = NeighborGraph(ids, values, "euclidean", 3)
    assert graph.ids.tolist() == [[0, 1, 2], [0, 1, -1]]
    assert graph.values.tolist() == [[0.1, 0.3, 0.5], [0.1, 0.2, np.inf]]
    assert "have been sorted" in caplog.text
    similar = NeighborGraph(ids[:1], values[:1], "cosine", 3)
    assert similar.ids.tolist() == [[2, 1, 0]]


def brute(matrix, k, similarity, leave_one_out):
    """Return lists from the definition: by value, then by id."""
    lists = []
    for q, row in enumerate(matrix.tolist()):
        pairs = [
            (-v if similarity else v, i)
            for i, v in enumerate(row)
            if not (leave_one_out and i == q) and v != (-np.inf if similarity else np.inf)
        ]
        lists.append([i for _, i in sorted(pairs)[:k]])
    return lists


@given(st.integers(0, 2**32 - 1), st.integers(1, 8), st.booleans(), st.booleans())
@settings(deadline=None, max_examples=80)
def test_a_distance_matrix_gives_its_nearest_rows(seed, k, similarity, leave_one_out):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 7))
    matrix = rng.integers(0, 3, size=(n, n if leave_one_out else 5)).astype(float)
    matrix[rng.random(matrix.shape) < 0.2] = -np.inf if similarity else np.inf
    graph = NeighborGraph.from_distances(
        matrix, k, metric="mine", similarity=similarity, leave_one_out=leave_one_out
    )
    found = [row[row >= 0].tolist() for row in graph.ids]
    assert found == brute(matrix, k, similarity, leave_one_out)
    assert graph.metric == ("similarity:mine" if similarity else "distance:mine")
    for row, (ids, values) in enumerate(zip(graph.ids, graph.values, strict=True)):
        assert values[ids >= 0].tolist() == matrix[row, ids[ids >= 0]].tolist()


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("form", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
def test_a_graph_of_scikit_learn_equals_our_search(kind, form):
    theirs = kneighbors_graph(X, 4, mode="distance").tocsr()
    theirs.indices, theirs.indptr = (a.astype(kind) for a in (theirs.indices, theirs.indptr))
    graph = NeighborGraph.from_csr(form(theirs), metric="euclidean", leave_one_out=True)
    ours = build_index(X, "euclidean").query_self(4)
    assert graph.metric == "euclidean"
    assert np.array_equal(graph.ids, ours.ids)
    np.testing.assert_allclose(graph.values, ours.values, rtol=1e-12)
    one, two = BRkNN(3).fit(X, Y, graph=graph), BRkNN(3).fit(X, Y)
    assert np.array_equal(one.predict(Q), two.predict(Q))


def test_stored_zeros_are_neighbours_and_the_diagonal_is_not():
    matrix = sparse.csr_array(
        (np.array([0.0, 0.0, 1.0, 2.0]), np.array([1, 0, 2, 1]), np.array([0, 2, 3, 4])), (3, 3)
    )
    graph = NeighborGraph.from_csr(matrix, leave_one_out=True)
    assert graph.ids.tolist() == [[1], [2], [1]]
    assert NeighborGraph.from_csr(matrix).ids.tolist() == [[0, 1], [2, -1], [1, -1]]
    doubled = sparse.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    with pytest.raises(InvalidArgumentError, match="duplicate"):
        NeighborGraph.from_csr(doubled)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: NeighborGraph.from_distances([[0.0, 1.0]], 1, leave_one_out=True), "square"),
        (lambda: NeighborGraph.from_distances([[0.0, np.nan]], 1), "distances: expected numbers"),
        (lambda: NeighborGraph.from_distances([[0.0]], 0), "k: expected"),
        (lambda: NeighborGraph.from_distances(["a"], 1), "a matrix of numbers"),
        (lambda: NeighborGraph.from_csr(np.eye(2)), "a SciPy sparse matrix"),
    ],
)
def test_bad_matrices_are_named(call, says):
    with pytest.raises(InvalidArgumentError, match=says):
        call()


@pytest.fixture
def city():
    """Return a leave-one-out graph and the graph of queries by city-block distances."""
    train = NeighborGraph.from_distances(
        cdist(X, X, "cityblock"), 6, metric="city", leave_one_out=True
    )
    return train, NeighborGraph.from_distances(cdist(Q, X, "cityblock"), 6, metric="city")


@pytest.mark.parametrize("kind", [BRkNN, MLkNN, InstanceKNN])
def test_a_model_of_a_foreign_graph_asks_for_one(kind, city, tmp_path):
    model = kind(5).fit(X, Y, graph=city[0])
    answered = model.predict(Q, graph=city[1])
    assert model.metric_ == "distance:city"
    vicinal.save(model, tmp_path / "m")
    for each in (model, vicinal.load(tmp_path / "m")):
        assert np.array_equal(each.predict(Q, graph=city[1]), answered)
        for call in (each.predict, each.predict_proba, each.scores):
            with pytest.raises(InvalidArgumentError, match="graph: expected the neighbours of"):
                call(Q)
    with pytest.raises(InvalidArgumentError, match="a graph of the model's metric"):
        model.predict(Q, graph=build_index(X, "euclidean").query(Q, 5))


def test_a_graph_of_other_features_is_noticed():
    """It is said to be Euclidean, but not of these rows: a search would find other neighbours."""
    graph = build_index(10 * X[:, :2], "euclidean").query_self(5)
    model = BRkNN(5).fit(X, Y, graph=graph)
    with pytest.raises(InvalidArgumentError, match="graph: expected the neighbours of"):
        model.predict(Q)
    asked = build_index(10 * X[:, :2], "euclidean").query(10 * Q[:, :2], 5)
    assert model.predict(Q, graph=asked).shape == (5, 3)


def test_a_votes_oracle_with_a_foreign_graph(city):
    model = BRkNN(5).fit(X, Y, graph=city[0])
    near = np.argsort(cdist(Q, X, "cityblock"), axis=1, kind="stable")[:, :5]
    assert np.allclose(model.predict_proba(Q, graph=city[1]), Y[near].mean(axis=1))


def test_comparisons_and_tuning_take_graphs_of_ones_own():
    """The values of each fold equal those of models fitted on the fold's part of the matrix."""
    D = cdist(X, X, "cityblock")
    graph = NeighborGraph.from_distances(D, 29, metric="city", leave_one_out=True)
    rows = np.arange(30)
    folds = [(rows[rows % 3 != f], rows[rows % 3 == f]) for f in range(3)]
    metrics = ["hamming-loss", "one-error"]
    (result,) = vicinal.compare(
        {"d": (X, Y)}, {"BR": BRkNN(4)}, folds=folds, graphs={"d": graph}, metrics=metrics
    )
    tuned = vicinal.tune("brknn", X, Y, "hamming-loss", folds, {"n_neighbors": [4]}, graph=graph)
    for at, (train, test) in enumerate(folds):
        own = NeighborGraph.from_distances(D[np.ix_(train, train)], 4, leave_one_out=True)
        model = BRkNN(4).fit(X[train], Y[train], graph=own)
        asked = NeighborGraph.from_distances(D[np.ix_(test, train)], 4)
        labels, scores = model.predict(X[test], graph=asked), model.scores(X[test], graph=asked)
        wanted = vicinal.metrics.evaluate(Y[test], labels, scores, metrics=metrics)
        assert {name: values[at] for name, values in result.values.items()} == wanted
        assert tuned.table.of("hamming-loss")[0, at] == wanted["hamming-loss"]
    assert result.provenance["graph"]
    plain = vicinal.compare({"d": (X, Y)}, {"BR": BRkNN(4)}, folds=folds, metrics=metrics)
    assert plain[0].values != result.values


def test_a_graph_that_is_too_narrow_for_the_folds_is_refused():
    graph = NeighborGraph.from_distances(cdist(X, X), 4, metric="mine", leave_one_out=True)
    with pytest.raises(InvalidArgumentError, match="graphs: expected enough neighbours per row"):
        vicinal.tune("brknn", X, Y, cv=3, grid={"n_neighbors": [4]}, graph=graph)
    with pytest.raises(InvalidArgumentError, match="graphs: expected names of data sets"):
        vicinal.compare({"d": (X, Y)}, ["brknn"], folds=2, graphs={"e": graph})
