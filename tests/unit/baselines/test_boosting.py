"""BoosTexter and ADTBoost.MH, round by round, against their definitions in plain Python."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.baselines import ADTBoostMH, BoosTexter

pytestmark = pytest.mark.native


def cell_weights(Y, scores):
    """D(i, l) of the definition, from scores."""
    raw = [
        [math.exp(-(1 if y else -1) * f) for y, f in zip(labels, row, strict=True)]
        for labels, row in zip(Y, scores, strict=True)
    ]
    total = sum(map(sum, raw))
    return [[w / total for w in row] for row in raw]


def weight(D, Y, rows, label, has):
    return sum(D[i][label] for i in rows if Y[i][label] == has)


def split_z(D, Y, sides):
    """2 Σ √(W₊W₋) over the sides and labels."""
    return 2 * sum(
        math.sqrt(weight(D, Y, rows, label, 1) * weight(D, Y, rows, label, 0))
        for rows in sides
        for label in range(len(Y[0]))
    )


def sides_of(X, rows, feature, threshold):
    below = [i for i in rows if X[i][feature] <= threshold]
    return below, [i for i in rows if X[i][feature] > threshold]


def all_splits(X, rows):
    """Every feature and threshold that puts some of the rows on either side."""
    for feature in range(len(X[0])):
        values = sorted({X[i][feature] for i in rows})
        for low, high in pairwise(values):
            yield feature, (low + high) / 2


def confidence(D, Y, rows, label):
    smoothing = 1 / (len(Y) * len(Y[0]))
    with_label = weight(D, Y, rows, label, 1) + smoothing
    return 0.5 * math.log(with_label / (weight(D, Y, rows, label, 0) + smoothing))


def confidences_of(D, Y, rows):
    return [confidence(D, Y, rows, label) for label in range(len(Y[0]))]


def add(scores, rows, amounts):
    for i in rows:
        scores[i] = [f + amount for f, amount in zip(scores[i], amounts, strict=True)]


def check_stumps(model, X, Y):
    """Follow the model's own choices, each of which must be one of the best."""
    everyone = range(len(X))
    scores = [[0.0] * len(Y[0]) for _ in X]
    for feature, threshold, z, both in zip(
        model.features_, model.thresholds_, model.z_, model.confidences_, strict=True
    ):
        D = cell_weights(Y, scores)
        options = {s: split_z(D, Y, sides_of(X, everyone, *s)) for s in all_splits(X, everyone)}
        sides = sides_of(X, everyone, feature, threshold)
        if options:
            assert (feature, threshold) in options
            assert z == pytest.approx(min(options.values()), abs=1e-9)
        assert z == pytest.approx(split_z(D, Y, sides), abs=1e-9)
        for rows, amounts in zip(sides, both, strict=True):
            assert amounts == pytest.approx(confidences_of(D, Y, rows), abs=1e-9)
            add(scores, rows, amounts)
    assert model.decision_function(X) == pytest.approx(np.array(scores), abs=1e-9)


def check_tree(model, X, Y):
    """The same for an alternating tree: every node, every split."""
    nodes = [list(range(len(X)))]
    scores = [[0.0] * len(Y[0]) for _ in X]
    D = cell_weights(Y, scores)
    assert model.confidences_[0] == pytest.approx(confidences_of(D, Y, nodes[0]), abs=1e-9)
    add(scores, nodes[0], model.confidences_[0])
    for t, (parent, feature, threshold) in enumerate(
        zip(model.parents_, model.features_, model.thresholds_, strict=True)
    ):
        D = cell_weights(Y, scores)

        def outside(rows, D=D):
            return sum(sum(D[i]) for i in range(len(X)) if i not in rows)

        options = {
            (node, *split): split_z(D, Y, sides_of(X, rows, *split)) + outside(rows)
            for node, rows in enumerate(nodes)
            for split in all_splits(X, rows)
        }
        assert (parent, feature, threshold) in options
        chosen = options[parent, feature, threshold]
        assert chosen == pytest.approx(min(options.values()), abs=1e-9)
        assert model.z_[t] == pytest.approx(chosen, abs=1e-9)
        for side, rows in enumerate(sides_of(X, nodes[parent], feature, threshold)):
            amounts = model.confidences_[2 * t + 1 + side]
            assert amounts == pytest.approx(confidences_of(D, Y, rows), abs=1e-9)
            add(scores, rows, amounts)
            nodes.append(rows)
    assert model.decision_function(X) == pytest.approx(np.array(scores), abs=1e-9)
    return nodes


@st.composite
def problems(draw):
    """Rows full of ties and zeros, any labels: none, all, the same for all rows."""
    n, m, n_labels = (draw(st.integers(1, high)) for high in (9, 3, 3))
    coarse, often = (draw(st.sampled_from([0.0, 0.5, 1.0])) for _ in range(2))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    ties, others = rng.integers(-2, 3, (n, m)) / 4, rng.uniform(-5, 5, (n, m)).astype(np.float16)
    X = np.where(rng.random((n, m)) < coarse, ties, others.astype(float))
    return X.tolist(), (rng.random((n, n_labels)) < often).astype(int).tolist()


@given(problems())
@settings(max_examples=60, deadline=None)
def test_stumps_are_the_best_in_each_round(problem):
    X, Y = problem
    check_stumps(BoosTexter(n_rounds=4).fit(X, Y), X, Y)
    sparse_model = BoosTexter(n_rounds=4, n_jobs=1).fit(sparse.csr_array(np.array(X)), Y)
    check_stumps(sparse_model, X, Y)


@given(problems())
@settings(max_examples=60, deadline=None)
def test_trees_take_the_best_node_and_split_in_each_round(problem):
    X, Y = problem
    model = ADTBoostMH(n_rounds=3).fit(X, Y)
    nodes = check_tree(model, X, Y)
    assert len(model.parents_) == 3 or not any(any(all_splits(X, rows)) for rows in nodes)


def test_two_rounds_by_hand():
    # Feature 0 splits {0, 1} from {2, 3}: purer than any other. All cells weigh 1/4, ε = 1/4.
    X, Y = [[0.0, 1.0], [0.0, 2.0], [1.0, 1.0], [1.0, 3.0]], [[1], [1], [0], [1]]
    model = BoosTexter(n_rounds=2).fit(X, Y)
    below, above = 0.5 * math.log(3), 0.0  # (2/4 + 1/4) / (0 + 1/4), and 1/4 on both sides
    assert (model.features_[0], model.thresholds_[0]) == (0, 0.5)
    assert model.z_[0] == pytest.approx(2 * math.sqrt(1 / 16))
    assert model.confidences_[0].ravel() == pytest.approx([below, above])
    # Rows 0 and 1 now weigh e^-below = 1/√3 each against 1: their sum is 2 + 2/√3. Feature 1 sets
    # rows 0 and 2 (one with, one without) against 1 and 3 (both with).
    total = 2 + 2 / math.sqrt(3)
    light, heavy = 1 / math.sqrt(3) / total, 1 / total
    assert (model.features_[1], model.thresholds_[1]) == (1, 1.5)
    assert model.z_[1] == pytest.approx(2 * math.sqrt(light * heavy))
    assert model.confidences_[1].ravel() == pytest.approx(
        [
            0.5 * math.log((light + 0.25) / (heavy + 0.25)),
            0.5 * math.log((light + heavy + 0.25) / 0.25),
        ]
    )


def test_a_precondition_is_used_where_it_helps():
    # The label is an exclusive or: no split of all rows helps, one of half of them does.
    X = [[a, b] for a in (0.0, 1.0) for b in (0.0, 1.0)] * 3
    Y = [[int(a != b)] for a, b in X]
    tree = ADTBoostMH(n_rounds=5).fit(X, Y)
    assert tree.parents_.max() > 0
    np.testing.assert_array_equal(tree.predict(X), Y)


def test_smoothing_by_hand():
    # One cell of four has the label: the root says ½ ln ((1/4 + ½) / (3/4 + ½)).
    X, Y = [[1.0], [2.0], [3.0], [6.0]], [[0], [0], [0], [1]]
    tree = ADTBoostMH(n_rounds=1, smoothing=0.5).fit(X, Y)
    root = 0.5 * math.log(0.75 / 1.25)
    assert tree.confidences_[0] == pytest.approx([root])
    # Then the cells weigh e^root (without) and e^-root (with); the cut leaves both sides pure.
    light, heavy = math.exp(root), math.exp(-root)
    total = 3 * light + heavy
    below = 0.5 * math.log(0.5 / (3 * light / total + 0.5))
    above = 0.5 * math.log((heavy / total + 0.5) / 0.5)
    assert tree.confidences_[1:].ravel() == pytest.approx([below, above])


@pytest.mark.parametrize("smoothing", [0.0, -1.0, float("nan"), "some"])
def test_smoothing_is_checked(smoothing):
    with pytest.raises(ValueError, match="smoothing: expected"):
        ADTBoostMH(smoothing=smoothing).fit([[0.0], [1.0]], [[0], [1]])


def test_equal_features_and_thresholds_give_the_first():
    X = [[5.0, 1.0, 1.0], [5.0, 2.0, 2.0], [5.0, 3.0, 3.0]]
    model = BoosTexter(n_rounds=1).fit(X, [[1], [0], [1]])  # both cuts leave one row pure
    assert (model.features_[0], model.thresholds_[0]) == (1, 1.5)


@pytest.mark.parametrize("kind", [BoosTexter, ADTBoostMH])
def test_rows_that_are_all_alike_get_the_frequent_labels(kind):
    X, Y = np.full((5, 2), 3.0), [[1, 0, 1], [1, 0, 0], [1, 0, 0], [1, 0, 1], [1, 0, 1]]
    model = kind(n_rounds=7).fit(X, Y)
    np.testing.assert_array_equal(model.predict([[3.0, 3.0], [0.0, 9.0]]), [[1, 0, 1]] * 2)
    assert len(model.features_) <= 1


@pytest.mark.parametrize("kind", [BoosTexter, ADTBoostMH])
def test_the_model_does_not_depend_on_threads_or_the_order_of_rows(kind, sample):
    order = np.random.default_rng(0).permutation(len(sample.X))
    one = kind(n_rounds=20, n_jobs=1).fit(sample.X, sample.Y)
    other = kind(n_rounds=20, n_jobs=3).fit(sample.X[order], sample.Y[order])
    np.testing.assert_array_equal(one.features_, other.features_)
    np.testing.assert_array_equal(one.thresholds_, other.thresholds_)
    np.testing.assert_allclose(
        one.decision_function(sample.X_test), other.decision_function(sample.X_test), atol=1e-9
    )


def test_long_runs_stay_finite_and_fit_the_rows(sample):
    model = BoosTexter(n_rounds=2000).fit(sample.X, sample.Y)
    assert np.isfinite(model.confidences_).all()
    np.testing.assert_array_equal(model.predict(sample.X), sample.Y)
    assert (np.abs(model.predict_proba(sample.X) - sample.Y) < 0.5).all()


@pytest.mark.parametrize("kind", [BoosTexter, ADTBoostMH])
@pytest.mark.parametrize("n_rounds", [0, -1, 2.5, "many"])
def test_rounds_are_checked(kind, n_rounds):
    with pytest.raises(ValueError, match="n_rounds: expected an integer of at least 1"):
        kind(n_rounds=n_rounds).fit([[0.0], [1.0]], [[0], [1]])
