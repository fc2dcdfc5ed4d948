"""Local ridge against its definition: the float64 kernel is solved in exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

import vicinal
from vicinal import LocalRidge
from vicinal._core.threads import using_threads
from vicinal.decision import MetricThreshold
from vicinal.graph import NeighborGraph
from vicinal.index import build_index
from vicinal.methods.local_ridge import LocalRidgeScoring, ridge_weights
from vicinal.methods.training import training_scores
from vicinal.preprocess import LabelWeights

pytestmark = pytest.mark.native

METRICS = ("cosine", "dot", "euclidean")


def dot(a, b):
    return sum(p * q for p, q in zip(a, b, strict=True))


def distance(a, b):
    return math.sqrt(sum((p - q) ** 2 for p, q in zip(a, b, strict=True)))


def similarity(a, b, metric):
    if metric == "dot":
        return dot(a, b)
    size = math.sqrt(dot(a, a)) * math.sqrt(dot(b, b))
    return dot(a, b) / size if size else 0.0


def neighbors(x, X, k, metric, leave_out=None):
    """Return the k nearest rows, nearest first, and their similarities or distances."""
    others = [i for i in range(len(X)) if i != leave_out]
    if metric == "euclidean":
        near = sorted((distance(x, X[i]), i) for i in others)
        return [(i, value) for value, i in near][:k]
    shared = [i for i in others if any(p and q for p, q in zip(x, X[i], strict=True))]
    near = sorted((-similarity(x, X[i], metric), i) for i in shared)
    return [(i, -value) for value, i in near][:k]


def kernels(near, X, metric):
    """Return K and s in float64."""
    ids, values = [i for i, _ in near], [value for _, value in near]
    if metric != "euclidean":
        return [[similarity(X[i], X[j], metric) for j in ids] for i in ids], values
    middle = sorted(values)
    width = (middle[(len(near) - 1) // 2] + middle[len(near) // 2]) / 2

    def gaussian(d):
        if width == 0:
            return 1.0 if d == 0 else 0.0
        return math.exp(-(d**2) / (2 * width**2))

    return [[gaussian(distance(X[i], X[j])) for j in ids] for i in ids], [*map(gaussian, values)]


def solved(K, s, alpha):
    """Return the solution of (K + alpha I) w = s by elimination, without rounding."""
    n = len(s)
    rows = [
        [Fraction(K[i][j]) + (Fraction(alpha) if i == j else 0) for j in range(n)]
        + [Fraction(s[i])]
        for i in range(n)
    ]
    for p in range(n):
        pivot = next(i for i in range(p, n) if rows[i][p])
        rows[p], rows[pivot] = rows[pivot], rows[p]
        rows[p] = [each / rows[p][p] for each in rows[p]]
        for i in range(n):
            if i != p:
                rows[i] = [a - rows[i][p] * b for a, b in zip(rows[i], rows[p], strict=True)]
    return [row[n] for row in rows]


def expected(x, X, Y, n_labels, k, alpha, metric, is_centered, leave_out=None):
    """Return the score of each label, and how far rounding may move it."""
    near = neighbors(x, X, k, metric, leave_out)
    if not near:
        return [0.0] * n_labels, 0.0
    K, s = kernels(near, X, metric)
    w = solved(K, s, alpha)
    scores = []
    for label in range(n_labels):
        y = [int(label in Y[i]) for i, _ in near]
        mean = Fraction(sum(y), len(y)) if is_centered else Fraction(0)
        scores.append(float(mean + sum(a * (b - mean) for a, b in zip(w, y, strict=True))))
    condition = 1 + sum(K[i][i] for i in range(len(near))) / alpha
    return scores, 1e-14 * condition * (1 + float(sum(map(abs, w))))


@st.composite
def problems(draw):
    """Rows full of ties and duplicates, some of them zero; labels of no row and of all rows."""
    n_rows, n_labels = draw(st.integers(1, 9)), draw(st.integers(1, 4))
    n_features = draw(st.integers(1, 4))
    values = draw(st.sampled_from([[0, 1], [0, 1, 2, 5], [-2, -1, 0, 1], [0.5, 0.25, -4]]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))

    def points(count):
        return rng.choice(values, (count, n_features)).astype(float).tolist()

    often = rng.choice([0.0, 0.3, 0.6, 1.0], size=n_labels)
    Y = [set(np.flatnonzero(rng.random(n_labels) < often).tolist()) for _ in range(n_rows)]
    return points(n_rows), Y, points(rng.integers(1, 5)), n_labels


def indicator(Y, n_labels):
    return np.array([[int(label in row) for label in range(n_labels)] for row in Y])


@settings(max_examples=200, deadline=None)
@given(
    problem=problems(),
    k=st.integers(1, 12),
    alpha=st.sampled_from([1e-6, 0.1, 1.0, 1e9]),
    metric=st.sampled_from(METRICS),
    as_sparse=st.booleans(),
    dtype=st.sampled_from([np.float32, np.float64]),
    center=st.sampled_from([None, True, False]),
)
@example(([[0.0]], [{0}], [[0.0]], 1), 3, 1.0, "euclidean", False, np.float64, None)
@example(([[1.0]] * 9, [{0}] * 9, [[1.0]], 1), 9, 1e-6, "cosine", True, np.float64, None)
def test_scores(problem, k, alpha, metric, as_sparse, dtype, center):
    X, Y, queries, n_labels = problem
    form = sparse.csr_array if as_sparse else np.asarray
    rows, asked = form(np.array(X, dtype=dtype)), form(np.array(queries, dtype=dtype))
    model = LocalRidge(k, alpha, metric=metric, center=center).fit(rows, indicator(Y, n_labels))
    is_centered = center if center is not None else not as_sparse
    args = (X, Y, n_labels, k, alpha, metric, is_centered)
    scores, own = model.scores(asked).toarray(), training_scores(model).toarray()
    for row, x in enumerate(queries):
        wanted, error = expected(x, *args)
        assert np.abs(scores[row] - wanted).max() <= error
    for row, x in enumerate(X):
        wanted, error = expected(x, *args, leave_out=row)
        assert np.abs(own[row] - wanted).max() <= error


def sample(n_rows=300, n_features=80, seed=0):
    """Rows of counts with duplicates and empty rows, labels and queries."""
    rng = np.random.default_rng(seed)
    X = sparse.random_array((n_rows, n_features), density=0.15, rng=rng, format="csr")
    X.data = rng.integers(1, 4, X.nnz) - (rng.random(X.nnz) < 0.1) * 5.0
    rows = X[rng.integers(0, n_rows, n_rows)]
    return rows, (rng.random((n_rows, 6)) < 0.3).astype(int), X[: n_rows // 4]


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("as_sparse", [True, False])
def test_many_neighbours_solve_their_equations(metric, as_sparse):
    rows, _, queries = sample()
    dense = rows.toarray()
    graph = build_index(rows if as_sparse else dense, metric).query(
        queries if as_sparse else queries.toarray(), 70
    )
    weights = ridge_weights(graph, rows if as_sparse else dense, [33, 70], [0.5])
    for query in range(0, graph.n_queries, 7):
        for k, of_k in zip((33, 70), weights[:, 0, query], strict=True):
            n = min(k, int(graph.found[query]))
            near = list(zip(graph.ids[query, :n], graph.values[query, :n], strict=True))
            K, s = map(np.array, kernels(near, dense.tolist(), metric))
            assert not of_k[n:].any()
            np.testing.assert_allclose(K @ of_k[:n] + 0.5 * of_k[:n], s, rtol=0, atol=1e-11)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("as_sparse", [True, False])
def test_bits_depend_on_one_neighbourhood_and_setting_only(metric, as_sparse):
    rows, _, queries = sample()
    X = rows if as_sparse else rows.toarray()
    graph = build_index(X, metric).query(queries if as_sparse else queries.toarray(), 40)
    ks, alphas = [5, 17, 40], [0.1, 2.0]
    with using_threads(1):
        together = ridge_weights(graph, X, ks, alphas)
    with using_threads(3):
        assert np.array_equal(ridge_weights(graph, X, ks, alphas), together)
    assert np.array_equal(ridge_weights(graph, X[:], [17], [2.0])[0, 0], together[1, 1])
    narrow = ridge_weights(graph.prefix(17), X, [17], [2.0])[0, 0]
    assert np.array_equal(narrow, together[1, 1][:, :17])
    for query in (0, 9, 30):
        alone = ridge_weights(graph.queries(query, query + 1), X, ks, alphas)
        assert np.array_equal(alone[:, :, 0], together[:, :, query])


def test_rows_may_be_gathered():
    rows, _, queries = sample()
    graph = build_index(rows, "cosine").query(queries, 10)
    used, places = np.unique(graph.ids[graph.ids >= 0], return_inverse=True)
    ids = graph.ids.copy()
    ids[ids >= 0] = places
    gathered = NeighborGraph(ids, graph.values, "cosine", len(used))
    assert np.array_equal(
        ridge_weights(gathered, rows[used], [10], [1.0]), ridge_weights(graph, rows, [10], [1.0])
    )


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("most", [2**25, 1])
def test_a_sweep_equals_one_fit_per_k_and_alpha(metric, most, monkeypatch):
    rows, Y, queries = sample()
    labels = sparse.csr_array(Y)
    graph = build_index(rows, metric).query(queries, 30)
    ks, alphas = [1, 4, 30], [0.3, 5.0, 0.01]
    monkeypatch.setattr("vicinal.methods.local_ridge.MOST_WEIGHTS", most)
    first, *others = (LocalRidgeScoring(30, labels, rows, alpha) for alpha in alphas)
    for k, swept in zip(ks, first.sweep_with(others, graph, ks), strict=True):
        for alpha, scores in zip(alphas, swept, strict=True):
            alone = LocalRidgeScoring(k, labels, rows, alpha).scores(graph)
            assert np.array_equal(scores.toarray(), alone.toarray())
            assert np.array_equal(scores.neighbor_cardinality, alone.neighbor_cardinality)


def test_a_large_alpha_gives_similarities_over_alpha():
    rows, _, queries = sample()
    graph = build_index(rows, "cosine").query(queries, 20)
    weights = ridge_weights(graph, rows, [20], [1e9])[0, 0]
    np.testing.assert_allclose(weights * 1e9, graph.similarity, rtol=1e-7)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("form", [sparse.csr_array, np.asarray])
def test_a_tiny_alpha_is_raised_to_what_float64_can_solve(metric, form):
    X = form([[3.0, 4.0]] * 30 + [[1.0, 0.0]] * 5)
    graph = build_index(X, metric).query(X[:1], 35)
    tiny, least = ridge_weights(graph, X, [35], [1e-300])[0, 0], 1e-11
    assert np.isfinite(tiny).all()
    if metric != "dot":  # all diagonal entries are 1
        assert np.array_equal(tiny, ridge_weights(graph, X, [35], [least])[0, 0])
    np.testing.assert_allclose(tiny[0, :30].sum(), 1, atol=1e-3)


def test_many_more_labels_than_rows_stay_sparse():
    rows, _, queries = sample()
    labels = np.arange(300) * 1000
    Y = sparse.csr_array((np.ones(300, int), labels, np.arange(301)), shape=(300, 300_000))
    model = LocalRidge(10, threshold=0.5).fit(rows, Y)
    scores = model.scores(queries)
    assert scores.is_sparse
    assert scores.values.nnz <= 10 * queries.shape[0]
    assert np.isin(scores.values.indices, labels).all()


def test_a_neighbour_that_speaks_against_has_a_negative_share():
    # Row 1 repeats what row 0 says, and adds a feature that the query does not have.
    X = sparse.csr_array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    model = LocalRidge(2, 0.1, threshold=0.5).fit(X, [["a"], ["a", "b"], ["c"]])
    (why,) = model.explain(sparse.csr_array([[1.0, 1.0, 0.0]]), labels=["a", "b"], what_if=True)
    K, s = [[1, math.sqrt(2 / 3)], [math.sqrt(2 / 3), 1]], [1, math.sqrt(2 / 3)]
    w = [float(each) for each in solved(K, s, 0.1)]
    assert [part.share for part in why["a"].parts] == pytest.approx(w, abs=1e-14)
    assert [part.share for part in why["b"].parts] == pytest.approx([0, w[1]], abs=1e-14)
    dense = LocalRidge(3, 1e-3, metric="euclidean", threshold=0.5).fit(
        np.array([[0.0], [1.0], [2.0]]), [["a"], ["b"], ["a"]]
    )
    (why,) = dense.explain(np.array([[-1.0]]), labels=["a", "b"])
    against = [part for part in why["b"].parts if part.has_label and part.share < 0]
    assert [part.id for part in against] == [1]
    for one in why.labels:
        assert one.base + sum(part.share for part in one.parts) == pytest.approx(
            one.score, abs=1e-12
        )


@pytest.mark.parametrize("alpha", [0, -1.0, float("nan"), float("inf"), "large", None])
def test_an_alpha_that_is_not_positive_is_refused(alpha):
    with pytest.raises(ValueError, match=r"^alpha: expected"):
        LocalRidge(alpha=alpha).fit([[1.0], [2.0]], [["a"], ["b"]])


def test_squares_that_overflow_are_refused():
    X = np.array([[1e200, 1.0], [1e200, 2.0], [1.0, 1.0]])
    with pytest.raises(ValueError, match=r"^X: expected values whose squares are finite"):
        LocalRidge(2, metric="dot").fit(X, [["a"], ["b"], ["a"]])


def test_weights_of_rows_are_refused_by_name():
    with pytest.raises(ValueError, match=r"^sample_weight: expected None, because LocalRidge"):
        LocalRidge().fit([[1.0], [2.0]], [["a"], ["b"]], sample_weight=[1, 2])


def test_a_saved_model_holds_its_rows_once(tmp_path):
    rows, Y, queries = sample()
    model = LocalRidge(10, 0.5).fit(rows, Y)
    assert model.get_state()["scoring"].X is None
    model.save(tmp_path / "model")
    back = vicinal.load(tmp_path / "model")
    assert np.array_equal(back.scores(queries).toarray(), model.scores(queries).toarray())
    back.partial_fit(rows[:5], Y[:5]).forget([0, 1])
    model.partial_fit(rows[:5], Y[:5]).forget([0, 1])
    assert np.array_equal(back.scores(queries).toarray(), model.scores(queries).toarray())


@pytest.mark.parametrize("form", [sparse.csr_array, np.asarray])
def test_small_changes_equal_a_fresh_fit(form):
    """Enough rows that a change revises the model instead of fitting it again."""
    rows, Y, queries = sample(n_rows=600)
    X, Q = form(rows.toarray()), form(queries.toarray())
    model = LocalRidge(12, 0.5, threshold=0.4).fit(X[:590], Y[:590])
    for i in range(590, 600):
        model.partial_fit(X[[i]], Y[[i]])
    model.forget([3]).forget([400, 595])
    left = np.setdiff1d(np.arange(600), [3, 400, 595])
    scratch = LocalRidge(12, 0.5, threshold=0.4).fit(X[left], Y[left])
    assert np.array_equal(model.scores(Q).toarray(), scratch.scores(Q).toarray())
    assert np.array_equal(model.predict(Q), scratch.predict(Q))


@pytest.mark.data
@pytest.mark.parametrize(
    ("alpha", "marks"), [(1.0, (0.652, 0.406, 0.298, 0.510)), (0.3, (0.660, 0.404, 0.293, 0.507))]
)
def test_marks_on_bibtex(alpha, marks):
    """P@1, P@3, P@5 and micro-F1 of label-weighted rows, known from a separate float32 program."""
    train, test = vicinal.datasets.load("bibtex").split()
    weights = LabelWeights().fit(train.X, train.Y)
    rule = MetricThreshold("micro-f1")
    model = LocalRidge(50, alpha, threshold=rule, never_empty=False)
    scores = model.fit(weights.transform(train.X), train.Y).scores(weights.transform(test.X))
    found = vicinal.metrics.evaluate(test.Y, model.decide(scores), scores)
    names = ("precision@1", "precision@3", "precision@5", "micro-f1")
    assert [found[name] for name in names] == pytest.approx(marks, abs=0.001)
