"""The parts of a blend against their formulas, training rows left out one at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal.graph import NeighborGraph
from vicinal.index import build_index
from vicinal.methods.blend import network, parts
from vicinal.methods.blend.parts import SMOOTHING, CoOccurrence, FeatureSimilarityScoring
from vicinal.methods.blend.plan import Plan
from vicinal.methods.instance_knn import InstanceKNNScoring
from vicinal.methods.label_ridge import RidgeScoring, RidgeSettings
from vicinal.methods.training import Training, leave_one_out

pytestmark = pytest.mark.native


@st.composite
def problems(draw):
    n, m, n_labels = (draw(st.integers(1, 7)) for _ in range(3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X = rng.choice([0.0, 0.0, 0.5, 1.0, 2.0], size=(n, m))
    Y = (rng.random((n, n_labels)) < draw(st.sampled_from([0.2, 0.6, 1.0]))).astype(np.int32)
    return X, Y


def nobody(n):
    return NeighborGraph(np.empty((n, 0), dtype=np.int32), np.empty((n, 0)), "cosine", n)


@given(problems())
def test_feature_similarity(problem):
    X, Y = problem
    training = Training(nobody(len(X)), sparse.csr_array(Y), sparse.csr_array(X))
    fitted = FeatureSimilarityScoring.fit(training)
    lengths = np.sqrt((X * X).sum(axis=0))
    counts = np.sqrt(np.maximum(Y.sum(axis=0), 1))

    def score(x, label, left_out):
        total = 0.0
        for feature, value in enumerate(x):
            if value == 0 or lengths[feature] == 0:
                continue
            product = sum(
                X[row, feature] * Y[row, label] for row in range(len(X)) if row != left_out
            )
            total += value * product / lengths[feature] / counts[label]
        return total

    n_labels = Y.shape[1]
    whole = [[score(x, label, None) for label in range(n_labels)] for x in X]
    left_out = [[score(x, label, row) for label in range(n_labels)] for row, x in enumerate(X)]
    np.testing.assert_allclose(fitted.scores(nobody(len(X)), training.X).toarray(), whole)
    got = fitted.training_scores(training, slice(None)).toarray()
    np.testing.assert_allclose(got, left_out, rtol=1e-9, atol=1e-12)
    assert fitted.k == 0
    why = fitted.explain(nobody(1), range(n_labels), training.X[:1])
    np.testing.assert_allclose([one.total for one in why], whole[0], rtol=1e-9, atol=1e-12)
    for one in why:
        assert one.terms[0].ids.tolist() == np.flatnonzero(X[0]).tolist()


@given(problems(), st.integers(0, 2**32 - 1))
def test_co_occurrence(problem, seed):
    _, Y = problem
    n_labels = Y.shape[1]
    R = np.random.default_rng(seed).normal(0.4, 0.6, size=Y.shape)

    def score(r, label, kept):
        total = 0.0
        for other in range(n_labels):
            if other != label:
                both = (kept[:, other] * kept[:, label]).sum()
                share = both / (kept[:, other].sum() + SMOOTHING)
                total += min(max(r[other], 0.0), 1.0) * share
        return total

    fitted = CoOccurrence.fit(sparse.csr_array(Y))
    whole = [[score(r, label, Y) for label in range(n_labels)] for r in R]
    np.testing.assert_allclose(fitted.scores(R), whole, rtol=1e-9, atol=1e-12)
    left_out = [
        [score(r, label, np.delete(Y, row, axis=0)) for label in range(n_labels)]
        for row, r in enumerate(R)
    ]
    got = fitted.training_scores(R, sparse.csr_array(Y).astype(np.float64))
    np.testing.assert_allclose(got, left_out, rtol=1e-9, atol=1e-12)


def cells(n=900, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    X[:, 3] = np.round(X[:, 3])
    y = (X[:, 0] + np.abs(X[:, 1]) * X[:, 3] + rng.normal(size=n) > 0.5).astype(np.float64)
    return X, y


def test_gradients_of_the_network_are_differences():
    X, y = cells(40)
    rng = np.random.default_rng(0)
    layers = [layer.astype(np.float64) for layer in network._initial(4, 0.3, rng)]

    def loss(changed):
        odds = network.forward(X.astype(np.float64), changed)[-1]
        return np.mean(np.logaddexp(0, odds) - y * odds)

    gradients = network._gradients(X, y, layers)
    for place, layer in enumerate(layers):
        for cell in list(np.ndindex(layer.shape))[::5]:
            sides = []
            for step in (1e-5, -1e-5):
                moved = [each.copy() for each in layers]
                moved[place][cell] += step
                sides.append(loss(moved))
            slope = (sides[0] - sides[1]) / 2e-5
            assert gradients[place][cell] == pytest.approx(slope, rel=1e-3, abs=1e-5)


def test_the_network_repeats_itself_and_learns():
    X, y = cells()
    row_of = np.repeat(np.arange(300), 3)
    first, second = (network.fit_network(X, y, row_of, 3) for _ in range(2))
    np.testing.assert_array_equal(first.held_out, second.held_out)
    share = y.mean()
    guess = -np.mean(y * np.log(share) + (1 - y) * np.log(1 - share))
    assert np.mean(np.logaddexp(0, first.held_out) - y * first.held_out) < 0.8 * guess


def micro_f1_at_the_best_threshold(scores, Y):
    """Try every number of cells with the largest scores."""
    true = Y.ravel()[np.argsort(-scores.ravel(), kind="stable")]
    return max(2 * true[:n].sum() / (n + true.sum()) for n in range(1, len(true) + 1))


def some_training(metric, seed, n=45):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, 3)) < 0.3).astype(np.int32)
    X = np.abs(rng.normal(size=(n, 6)) + 1.5 * Y @ rng.normal(size=(3, 6)))
    return Training(build_index(X, metric).query_self(30), sparse.csr_array(Y), X), Y


def best_first(candidates, training, Y, judged):
    """Return the first candidate of the best leave-one-out micro-F1 on some rows."""

    def goodness(state):
        scores = leave_one_out(state, training, judged).toarray()
        return micro_f1_at_the_best_threshold(scores, Y[judged])

    return max(candidates, key=goodness)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("metric", ["cosine", "euclidean"])
def test_votes_have_the_best_number_of_neighbours_and_power(metric, seed):
    training, Y = some_training(metric, seed)
    judged = np.random.default_rng(seed).permutation(len(Y))[:30]
    powers = (1.0, 2.0, 4.0) if metric == "cosine" else (1.0, 4.0, 16.0)
    every = [InstanceKNNScoring(k, training.Y, p) for p in powers for k in (10, 20, 30)]
    best, found = best_first(every, training, Y, judged), parts.best_votes(training, judged)
    assert (found.k, found.power) == (best.k, best.power)


@pytest.mark.parametrize("seed", range(3))
def test_a_kernel_has_the_best_width_and_regularisation(seed):
    training, Y = some_training("euclidean", seed)
    order = np.random.default_rng(seed).permutation(len(Y))
    squares = [((a - b) ** 2).sum() for i, a in enumerate(training.X) for b in training.X[:i]]
    widths = [width / np.median(squares) for width in (0.5, 1.0, 2.0, 4.0)]

    def fit(alpha, gamma):
        return RidgeScoring.fit(training, RidgeSettings((alpha,), "rbf", gamma), is_unit=False)

    every = [
        best_first([fit(alpha, gamma) for alpha in (0.03, 0.1, 0.3, 1.0)], training, Y, order[:20])
        for gamma in widths
    ]
    best = best_first(every, training, Y, order[:20])
    found = parts.kernel_ridge(training, 2**30, order, order[:20])
    assert found.alpha == best.alpha
    assert found.gamma == pytest.approx(best.gamma)
    np.testing.assert_allclose(found.coefficients, best.coefficients, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("is_dense", [True, False])
def test_a_linear_ridge_divides_rows_by_their_length_unless_they_are_measurements(is_dense):
    training, _ = some_training("cosine", 0)
    found = parts.linear_ridge(
        training, Plan(is_dense=is_dense, tries_alphas=False), 2**30, np.arange(9)
    )
    expected = RidgeScoring.fit(training, RidgeSettings((1.0,)), is_unit=not is_dense)
    assert (found.view.is_unit, found.alpha) == (not is_dense, 1.0)
    np.testing.assert_allclose(found.coefficients, expected.coefficients, rtol=1e-9, atol=1e-12)


def test_linear_ridges_climb_and_are_float32_above_1_000_unknowns(monkeypatch):
    training, _ = some_training("cosine", 0)
    monkeypatch.setattr(parts.RidgeScoring, "fit", lambda training, settings, **_: settings)
    settings = parts.linear_ridge(training, Plan(), 2**20, np.arange(9))
    assert (settings.float64_size, settings.max_memory, settings.climbs) == (1_000, 2**20, True)


def test_a_kernel_of_many_rows_is_fitted_once(monkeypatch):
    training, _ = some_training("euclidean", 1)
    order = np.arange(training.n_rows)
    n_rows = training.n_rows
    monkeypatch.setattr(parts, "FEW_UNKNOWNS", n_rows)
    tried = parts.kernel_ridge(training, 2**30, order, order)
    monkeypatch.setattr(parts, "FEW_UNKNOWNS", n_rows - 1)
    found = parts.kernel_ridge(training, 2**30, order, order)
    usual = RidgeScoring.fit(training, RidgeSettings((0.1,), "rbf"), is_unit=False)
    assert (found.alpha, found.gamma) == (0.1, usual.gamma)
    assert (tried.alpha, tried.gamma) != (found.alpha, found.gamma)
