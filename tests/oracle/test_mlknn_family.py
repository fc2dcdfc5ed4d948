"""ML-kNN, DML-kNN and LAML-kNN against the definitions, scores to the bit."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal import DMLkNN, LAMLkNN, MLkNN
from vicinal.index import DenseIndex
from vicinal.methods.dmlknn import DMLkNNScoring
from vicinal.methods.lamlknn import LAMLkNNScoring
from vicinal.methods.mlknn import MLkNNScoring
from vicinal.methods.training import Training

pytestmark = pytest.mark.native


@st.composite
def problems(draw):
    """Rows full of ties and duplicates; labels of no row and of all rows among the others."""
    n_rows, n_labels = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    n_features, n_values = draw(st.integers(1, 2)), draw(st.integers(1, 4))
    k, s = draw(st.integers(1, 12)), draw(st.sampled_from([0.0, 0.5, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def points(count):
        return rng.integers(0, n_values, (count, n_features)).astype(float).tolist()

    often = rng.choice([0.0, 0.3, 0.6, 1.0], size=n_labels)  # of each label
    Y = [set(np.flatnonzero(rng.random(n_labels) < often).tolist()) for _ in range(n_rows)]
    queries, centers = (points(rng.integers(1, 5)) for _ in range(2))
    # Some of the centers are near no row, some are there twice.
    return points(n_rows), Y, queries, n_labels, k, s, centers, draw(st.booleans())


def arrays(problem):
    X, Y, queries, n_labels, *_, as_sparse = problem
    kind = sparse.csr_array if as_sparse else np.asarray
    labels = [[int(label in row) for label in range(n_labels)] for row in Y]
    return kind(X), np.array(labels), kind(queries)


def check(model, queries, wanted):
    """Scores to the bit, and a label predicted where they are at least one half."""
    assert np.array_equal(model.predict_proba(queries), wanted)
    assert np.array_equal(model.predict(queries), np.array(wanted) >= 0.5)


@settings(max_examples=100, deadline=None)
@given(problem=problems())
@example(problem=([[0.0]], [{0}], [[0.0]], 2, 3, 0.0, [[0.0]], False))  # one row: 0/0 everywhere
@example(problem=([[0.0], [0.0]], [{0}, set()], [[1.0]], 1, 1, 1.0, [[0.0]], False))
def test_mlknn(oracle, problem):
    X, Y, queries, n_labels, k, s, _, _ = problem
    rows, labels, asked = arrays(problem)
    loo = oracle.leave_one_out(X, k)
    wanted = [
        [
            oracle.mlknn_score(oracle.nearest(x, X, k), label, Y, loo, range(len(X)), k, s)
            for label in range(n_labels)
        ]
        for x in queries
    ]
    check(MLkNN(k, s).fit(rows, labels), asked, wanted)


@settings(max_examples=100, deadline=None)
@given(problem=problems(), tolerance=st.sampled_from([0, 1, 2, 10**12]))
@example(problem=([[0.0]], [set()], [[0.0]], 1, 1, 0.0, [[0.0]], False), tolerance=0)
def test_dmlknn(oracle, problem, tolerance):
    X, Y, queries, n_labels, k, s, _, _ = problem
    rows, labels, asked = arrays(problem)
    loo = oracle.leave_one_out(X, k)
    wanted = [
        [
            oracle.dmlknn_score(oracle.nearest(x, X, k), label, Y, loo, n_labels, tolerance, s)
            for label in range(n_labels)
        ]
        for x in queries
    ]
    check(DMLkNN(k, s, tolerance).fit(rows, labels), asked, wanted)


@settings(max_examples=100, deadline=None)
@given(problem=problems())
@example(
    problem=([[0.0], [1.0]], [{0}, {0}], [[9.0]], 2, 1, 1.0, [[0.0], [9.0]], False)
)  # empty cluster
@example(problem=([[0.0], [1.0]], [{0}, {0}], [[9.0]], 2, 1, 0.0, [[0.0], [9.0]], False))
@example(problem=([[0.0], [2.0]], [{0}, {1}], [[1.0]], 2, 1, 1.0, [[0.0], [2.0]], True))  # as near
def test_lamlknn(oracle, problem):
    X, Y, queries, n_labels, k, s, centers, _ = problem
    rows, labels, asked = arrays(problem)
    loo = oracle.leave_one_out(X, k)
    cluster = [oracle.cluster_of(row, centers) for row in X]
    wanted = []
    for x in queries:
        w = oracle.cluster_of(x, centers)
        members = [i for i in range(len(X)) if cluster[i] == w]
        near = oracle.nearest(x, X, k)
        wanted.append(
            [oracle.mlknn_score(near, label, Y, loo, members, k, s) for label in range(n_labels)]
        )
    check(LAMLkNN(k, s, centers=centers).fit(rows, labels), asked, wanted)


@settings(max_examples=30, deadline=None)
@given(problem=problems())
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_one_cluster_is_mlknn_to_the_bit(problem):
    rows, labels, asked = arrays(problem)
    k, s = problem[4:6]
    local = LAMLkNN(k, s, n_clusters=1, random_state=0).fit(rows, labels)
    plain = MLkNN(k, s).fit(rows, labels)
    ours, theirs = local.scores(asked), plain.scores(asked)
    assert np.array_equal(ours.toarray(), theirs.toarray())
    assert np.array_equal(ours.base, theirs.base)
    assert ours.is_sparse
    assert np.array_equal(local.predict(asked), plain.predict(asked))


@settings(max_examples=40, deadline=None)
@given(problem=problems())
def test_every_k_at_once_is_each_k_by_itself(problem):
    rows, labels, _ = arrays(problem)
    dense = rows.toarray() if sparse.issparse(rows) else rows
    graph = DenseIndex(dense).query_self(max(1, len(dense) - 1))
    training = Training(graph, sparse.csr_array(labels).astype(np.int32), dense)
    s, centers = problem[5], np.array(problem[6])
    ks = list(range(1, graph.k + 1))
    for kind, options in (
        (MLkNNScoring, (s,)),
        (DMLkNNScoring, (s, 1)),
        (LAMLkNNScoring, (s, centers)),
    ):
        for k, state in zip(ks, kind.fit_sweep(training, ks, *options), strict=True):
            alone = kind.fit(training, k, *options)
            assert np.array_equal(
                state.scores(graph, dense).toarray(), alone.scores(graph, dense).toarray()
            )


@pytest.mark.parametrize("kind", [MLkNN, DMLkNN, LAMLkNN])
@pytest.mark.parametrize("n_rows", range(2, 14))
def test_a_label_that_every_row_has_is_predicted(kind, n_rows):
    """Also where a new row has more neighbours with the label than any training row can have."""
    X = np.random.default_rng(n_rows).random((n_rows, 2))
    model = kind(n_neighbors=10).fit(X, np.ones((n_rows, 1), dtype=int))
    assert model.predict(X + 0.01).all()


def test_an_exact_half_is_a_half():
    model = DMLkNN(n_neighbors=10).fit(np.arange(10.0)[:, None], np.ones((10, 1), dtype=int))
    assert model.predict_proba([[4.4]]).tolist() == [[0.5]]  # 11/12 · 1/11 against 1/12 · 1
