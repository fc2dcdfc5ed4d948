"""The parts of a blend against their formulas, training rows left out one at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from vicinal.graph import NeighborGraph
from vicinal.scoring.blend import network
from vicinal.scoring.blend.co_occurrence import SMOOTHING, CoOccurrence
from vicinal.scoring.blend.similarity import FeatureSimilarityScoring
from vicinal.scoring.training import Training

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
