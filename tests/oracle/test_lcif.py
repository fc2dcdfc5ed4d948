"""Instance kNN, feature kNN and LCIF against the definitions, written out in plain Python.

Sums run in the same order here and there, so scores are compared to the bit.
"""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal import LCIF, FeatureKNN, InstanceKNN

pytestmark = pytest.mark.native


def norm(values):
    return math.sqrt(sum((v * v for v in values), 0.0))


def compare(a, b, metric):
    """Return the similarity or the distance, None where the two are no candidates."""
    if metric == "euclidean":
        return math.sqrt(sum(((p - q) * (p - q) for p, q in zip(a, b, strict=True)), 0.0))
    shared = [(p, q) for p, q in zip(a, b, strict=True) if p != 0 and q != 0]
    if not shared:
        return None
    dot = sum((p * q for p, q in shared), 0.0)
    return dot if metric == "dot" else dot / (norm(a) * norm(b))


def nearest(query, rows, k, metric="cosine", leave_out=None):
    """Return (row, value) of the k nearest, nearest first."""
    sign = 1 if metric == "euclidean" else -1
    found = [(i, compare(query, row, metric)) for i, row in enumerate(rows) if i != leave_out]
    candidates = [(i, value) for i, value in found if value is not None]
    return sorted(candidates, key=lambda pair: (sign * pair[1], pair[0]))[:k]


def weight(value, metric):
    return 1 / (1 + value) if metric == "euclidean" else max(value, 0.0)


def weighted_mean(near, said, metric, power=1):
    """Return what the neighbours say of each label, by weight; 0 where nothing weighs anything."""
    weights = [(i, weight(value, metric) ** power) for i, value in near]
    total = sum((w for _, w in weights), 0.0)
    if total == 0:
        return [0.0] * len(said[0])
    return [
        sum((said[i][label] * w for i, w in weights), 0.0) / total for label in range(len(said[0]))
    ]


def reweighted(X, Y, k):
    both = [[*x, *y] for x, y in zip(X, Y, strict=True)]
    return [
        weighted_mean(
            [(i, 1.0), *nearest(row, both, k - 1, leave_out=i)],
            [list(map(float, y)) for y in Y],
            "cosine",
        )
        for i, row in enumerate(both)
    ]


def literally_reweighted(X, Y, k):
    """Return the second order with the norms that the paper prints: roots of sums."""
    both = [[*x, *y] for x, y in zip(X, Y, strict=True)]
    lengths = [sum((abs(v) for v in row), 0.0) or 1.0 for row in both]
    scaled = [[v * (1 / math.sqrt(t)) for v in row] for row, t in zip(both, lengths, strict=True)]
    said = [list(map(float, y)) for y in Y]
    own = [sum((v * v for v in row), 0.0) for row in scaled]
    return [
        weighted_mean([(i, own[i]), *nearest(row, scaled, k - 1, "dot", leave_out=i)], said, "dot")
        for i, row in enumerate(scaled)
    ]


def kept_similarities(X, Y, k, neighbors_of):
    """Return sim_FL by (feature, label), where it was kept."""
    features, labels = list(zip(*X, strict=True)), list(zip(*Y, strict=True))
    if neighbors_of == "feature":
        found = {(f, y): s for f, c in enumerate(features) for y, s in nearest(c, labels, k)}
    else:
        found = {(f, y): s for y, c in enumerate(labels) for f, s in nearest(c, features, k)}
    return found


def literal_score(x, kept, every, n_labels):
    """Return Eq. 3 as printed: all features of a row, for labels that one of them keeps."""
    present = [(j, v) for j, v in enumerate(x) if v > 0]
    total = sum((v for _, v in present), 0.0)
    candidates = {y for j, _ in present for (f, y), s in kept.items() if f == j and s > 0}
    return [
        sum((v * max(every.get((j, y), 0.0), 0.0) for j, v in present), 0.0) / total
        if y in candidates
        else 0.0
        for y in range(n_labels)
    ]


def feature_score(x, kept, n_labels, aggregate):
    present = [(j, v) for j, v in enumerate(x) if v > 0]
    if not present:
        return [0.0] * n_labels
    total = sum((v for _, v in present), 0.0)

    def score(label):
        similar = [(v, max(kept[j, label], 0.0)) for j, v in present if (j, label) in kept]
        if aggregate == "max":
            return max((s for _, s in similar), default=0.0)
        if aggregate == "kept-mean":
            alike = [(v, s) for v, s in similar if s > 0]
            weight = sum((v for v, _ in alike), 0.0)
            return sum((v * s for v, s in alike), 0.0) / weight if alike else 0.0
        return sum((v * s for v, s in similar), 0.0) / total

    return [score(label) for label in range(n_labels)]


def threshold(scores, wanted):
    """Return the t with the count of scores > t nearest to `wanted`; of two, the larger."""
    cells = [s for row in scores for s in row]
    tries = [*sorted(set(cells), reverse=True), math.nextafter(min(cells), -math.inf)]
    return min(tries, key=lambda t: abs(sum(s > t for s in cells) - wanted))


def decided(scores, t, most_frequent):
    sets = []
    for row in scores:
        chosen = {y for y, s in enumerate(row) if s > t}
        best = max(range(len(row)), key=lambda y: (row[y], -y))
        sets.append(chosen or {best if row[best] != 0 else most_frequent})
    return sets


PALETTES = {
    "binary": [0.0, 1.0],
    "unit": [0.0, 0.1, 0.2, 0.3, 1 / 3, 0.7, 1.0],
    "signed": [0.0, 1.0, -1.0, 0.5],
    "counts": [0.0, 1.0, 2.0, 3.0],
}


@st.composite
def problems(draw):
    """Draw few rows with many ties, empty rows, unlabelled rows, unused labels and duplicates."""
    palette = PALETTES[draw(st.sampled_from(sorted(PALETTES)))]
    often = draw(st.sampled_from([0.0, 0.15, 0.5, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n, n_queries, m, n_labels = (int(rng.integers(1, most + 1)) for most in (9, 4, 6, 14))
    fill = rng.choice([0.3, 0.7, 1.0])
    X, Q = (
        rng.choice(palette, size=(rows, m)) * (rng.random((rows, m)) < fill) + 0.0
        for rows in (n, n_queries)
    )
    Y = (rng.random((n, n_labels)) < often).astype(np.int32)
    if n > 1 and rng.integers(2):
        X[0] = X[-1]
    if rng.integers(2):
        Q[0] = X[0]
    return X, Y, Q


def stored(matrix):
    """Return the matrix as CSR with every zero stored."""
    rows, columns = matrix.shape
    indptr, indices = np.arange(rows + 1) * columns, np.tile(np.arange(columns)[::-1], rows)
    return sparse.csr_array((matrix[:, ::-1].ravel(), indices, indptr), shape=matrix.shape)


KINDS = {"dense": np.asarray, "sparse": sparse.csr_array, "stored zeros": stored}
kinds = st.sampled_from(sorted(KINDS))
neighbors = st.integers(1, 10)
metrics = st.sampled_from(["cosine", "cosine", "dot", "euclidean"])
aggregates = st.sampled_from(["mean", "max", "kept-mean"])
switches = st.tuples(st.sampled_from(["feature", "label"]), aggregates)


def check(model, problem, kind, score):
    """Compare scores and labels; ``score(x, leave_out)`` is the definition."""
    X, Y, Q = problem
    convert = KINDS[kind]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "rows have .* labels and .* features", UserWarning)
        model.fit(convert(X), convert(Y))
    expected = [score(list(x), None) for x in Q]
    assert model.scores(convert(Q)).toarray().tolist() == expected
    t = threshold([score(list(x), i) for i, x in enumerate(X)], int(Y.sum()))
    counts = Y.sum(axis=0).tolist()
    got = sparse.csr_array(model.predict(convert(Q))).toarray()
    labels = decided(expected, t, counts.index(max(counts)))
    assert [set(np.flatnonzero(row).tolist()) for row in got] == labels


@given(problems(), neighbors, metrics, kinds)
@settings(deadline=None, max_examples=150)
def test_instance_knn(problem, k, metric, kind):
    X, Y, _ = problem

    def score(x, leave_out):
        return weighted_mean(nearest(x, X.tolist(), k, metric, leave_out), Y.tolist(), metric)

    check(InstanceKNN(k, metric=metric), problem, kind, score)


@given(problems(), neighbors, metrics, kinds, st.sampled_from([0.5, 2, 4.0]))
@settings(deadline=None, max_examples=150)
def test_power(problem, k, metric, kind, power):
    X, Y, Q = problem
    convert = KINDS[kind]
    model = InstanceKNN(k, power=power, metric=metric).fit(convert(X), convert(Y))
    expected = [
        weighted_mean(nearest(list(x), X.tolist(), k, metric), Y.tolist(), metric, power) for x in Q
    ]
    # NumPy's power of an array and Python's of a number may differ in the last place.
    np.testing.assert_allclose(model.scores(convert(Q)).toarray(), expected, rtol=1e-12, atol=0)


@given(problems(), neighbors, metrics, kinds)
@settings(deadline=None, max_examples=150)
def test_second_order(problem, k, metric, kind):
    X, Y, _ = problem
    rw = reweighted(X.tolist(), Y.tolist(), k)

    def score(x, leave_out):
        return weighted_mean(nearest(x, X.tolist(), k, metric, leave_out), rw, metric)

    check(InstanceKNN(k, second_order=True, metric=metric), problem, kind, score)


@given(problems(), neighbors, switches, kinds)
@settings(deadline=None, max_examples=200)
def test_feature_knn(problem, k, switch, kind):
    X, Y, _ = problem
    neighbors_of, aggregate = switch
    kept = kept_similarities(X.tolist(), Y.tolist(), k, neighbors_of)

    def score(x, leave_out):
        return feature_score(x, kept, Y.shape[1], aggregate)

    check(FeatureKNN(k, neighbors_of, aggregate), problem, kind, score)


@given(problems(), neighbors, st.sampled_from(["feature", "label"]), kinds)
@settings(deadline=None, max_examples=200)
def test_literal_feature_knn(problem, k, neighbors_of, kind):
    X, Y, _ = problem
    kept = kept_similarities(X.tolist(), Y.tolist(), k, neighbors_of)
    every = kept_similarities(X.tolist(), Y.tolist(), Y.shape[1], "feature")

    def score(x, leave_out):
        return literal_score(x, kept, every, Y.shape[1])

    check(FeatureKNN(k, neighbors_of, "literal"), problem, kind, score)


@given(problems(), neighbors, metrics, kinds)
@settings(deadline=None, max_examples=150)
def test_literal_second_order(problem, k, metric, kind):
    X, Y, _ = problem
    rw = literally_reweighted(X.tolist(), Y.tolist(), k)

    def score(x, leave_out):
        return weighted_mean(nearest(x, X.tolist(), k, metric, leave_out), rw, metric)

    check(InstanceKNN(k, second_order="literal", metric=metric), problem, kind, score)


@given(problems(), neighbors)
@settings(deadline=None, max_examples=60)
def test_the_literal_second_order_is_the_cosine_for_binary_rows(problem, k):
    X, Y, _ = problem
    rows = (X > 0).astype(float)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "rows have .* labels and .* features", UserWarning)
        both = [InstanceKNN(k, second_order=order).fit(rows, Y) for order in (True, "literal")]
    cosine, literal = (model.scoring_.rw.toarray() for model in both)
    np.testing.assert_allclose(literal.sum(axis=1), cosine.sum(axis=1), rtol=1e-9, atol=1e-12)


@given(
    problems(), neighbors, neighbors, st.sampled_from([0.0, 0.3, 0.5, 1.0]), st.booleans(), switches
)
@settings(deadline=None, max_examples=150)
def test_lcif(problem, k_instance, k_feature, mixing, second_order, switch):
    X, Y, _ = problem
    neighbors_of, aggregate = switch
    kept = kept_similarities(X.tolist(), Y.tolist(), k_feature, neighbors_of)
    said = reweighted(X.tolist(), Y.tolist(), k_instance) if second_order else Y.tolist()

    def score(x, leave_out):
        near = nearest(x, X.tolist(), k_instance, "cosine", leave_out)
        parts = weighted_mean(near, said, "cosine"), feature_score(x, kept, Y.shape[1], aggregate)
        return [mixing * a + (1 - mixing) * b for a, b in zip(*parts, strict=True)]

    model = LCIF(k_instance, k_feature, mixing, second_order, neighbors_of, aggregate)
    check(model, problem, "sparse", score)


def test_the_oracle_by_hand():
    """Rows (1, 1), (1, 0), (0, 1) with labels {0}, {1}, {0, 1}; numbers from paper and pencil."""
    X, Y = [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]], [[1, 0], [0, 1], [1, 1]]
    near = nearest([1.0, 0.0], X, 3)
    assert [i for i, _ in near] == [1, 0]
    half = math.sqrt(0.5)
    assert weighted_mean(near, Y, "cosine") == pytest.approx([half / (1 + half), 1 / (1 + half)])
    assert kept_similarities(X, Y, 1, "feature") == {
        (0, 0): pytest.approx(0.5),
        (1, 0): pytest.approx(1.0),
    }
    assert threshold([[0.9, 0.35], [0.8, 0.42]], 3) == 0.35
    assert decided([[0.2, 0.1], [0.0, 0.0], [0.2, 0.6]], 0.5, 1) == [{0}, {1}, {1}]
