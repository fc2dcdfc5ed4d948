"""Mulan's OneThreshold, against its definition tried threshold by threshold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.methods import MLkNN
from vicinal.metrics import evaluate
from vicinal.scores import Scores
from vicinal_reproduction.protocols.best_on_test import BestOnTest
from vicinal_reproduction.protocols.one_threshold import one_threshold
from vicinal_reproduction.specification import Method


def micro_f1(scores, Y, threshold):
    right = sum(y and s >= threshold for s, y in zip(scores.flat, Y.flat, strict=True))
    passing = sum(s >= threshold for s in scores.flat)
    return 2 * right / max(passing + int(Y.sum()), 1)


def tried(scores, Y):
    """Return the threshold of two passes, the first best of each."""
    coarse = [at / 10 for at in range(11)]
    first = max(coarse, key=lambda t: micro_f1(scores, Y, t))
    fine = [round(first + at / 100, 2) for at in range(-5, 6)]
    return max(fine, key=lambda t: micro_f1(scores, Y, t))


def indicator(Y):
    return sparse.csr_array(Y.astype(np.int32))


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.1, 0.5, 0.9]), st.booleans())
@settings(max_examples=60, deadline=None)
def test_both_passes_against_every_threshold(seed, often, is_sparse):
    rng = np.random.default_rng(seed)
    shape = rng.integers(1, 9), rng.integers(1, 6)
    scores = rng.choice([0.0, 0.07, 0.1, 0.33, 0.5, 0.71, 1.0], size=shape)
    Y = rng.random(shape) < often
    given_as = Scores.sparse(sparse.csr_array(scores)) if is_sparse else Scores.dense(scores)
    found = one_threshold(given_as, indicator(Y))
    assert found.inclusive
    assert found.value == tried(scores, Y)


@pytest.mark.native
def test_the_threshold_is_fitted_on_rows_that_find_themselves(make_job, small):
    job = make_job({"ml-knn": Method(lambda seed: MLkNN(), (3,))})
    protocol = BestOnTest(("micro-f1",), conventions="vicinal", one_threshold=True)
    (result,) = protocol.run(job)
    train, test = small.split()
    model = MLkNN(3).fit(train.X, train.Y)
    threshold = tried(model.predict_proba(train.X), train.Y.toarray() != 0)
    predicted = model.predict_proba(test.X) >= threshold
    expected = evaluate(test.Y, predicted.astype(int))["micro-f1"]
    assert result.values["micro-f1"][0] == pytest.approx(expected, abs=1e-6)
