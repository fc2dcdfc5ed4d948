"""Areas, the metrics of the first k labels, and the best labels, against their definitions."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.metrics import evaluate
from vicinal.scores import Scores

pytestmark = pytest.mark.native


@st.composite
def problems(draw):
    """Truth, sparse scores with a base, and the same scores in full; ties everywhere."""
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 6))
    share = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth, stored = rng.random(shape) < draw(share), rng.random(shape) < draw(share)
    values, base = (rng.choice([-1.0, 0.0, 0.5, 1.0], size=size) for size in (shape, shape[1]))
    starts = np.concatenate([[0], np.cumsum(stored.sum(axis=1))])
    matrix = sparse.csr_array((values[stored], np.nonzero(stored)[1], starts), shape=shape)
    return truth, Scores.sparse(matrix, base), np.where(stored, values, base)


def area(positives, negatives):
    wins = [(p > q) + 0.5 * (p == q) for p in positives for q in negatives]
    return sum(wins) / len(wins) if wins else math.nan


@settings(deadline=None)
@given(problems())
def test_areas_are_shares_of_pairs(problem):
    truth, scores, full = problem
    by_label = [area(f[y], f[~y]) for f, y in zip(full.T, truth.T, strict=True)]
    usable = [value for value in by_label if not math.isnan(value)]
    macro = sum(usable) / len(usable) if usable else math.nan
    micro = area(full[truth], full[~truth])
    for form in (scores, full):
        answer = evaluate(truth, scores=form, metrics=["macro-auc", "micro-auc"])
        assert answer == pytest.approx({"macro-auc": macro, "micro-auc": micro}, nan_ok=True)
        mulan = evaluate(truth, scores=form, conventions="mulan", metrics="macro-auc")["macro-auc"]
        assert math.isnan(mulan) if len(usable) < len(by_label) else mulan == pytest.approx(macro)


def first_k_by_definition(truth, full, weights, k):
    """precision, nDCG and their propensity-scored kin of one ranking by (score, lower id)."""
    sums = dict.fromkeys(["precision", "ndcg", "psp", "psp best", "psndcg", "psndcg best"], 0.0)
    for y, f in zip(truth, full, strict=True):
        order = sorted(range(len(f)), key=lambda label: (-f[label], label))[:k]
        true = np.flatnonzero(y).tolist()
        hits = [(at, label) for at, label in enumerate(order, 1) if label in true]
        heaviest = sorted((weights[label] for label in true), reverse=True)[:k]
        whole = sum(1 / math.log2(at + 1) for at in range(1, min(k, len(true)) + 1))
        sums["precision"] += len(hits) / k
        sums["psp"] += sum(weights[label] for _, label in hits)
        sums["psp best"] += sum(heaviest)
        if true:
            sums["ndcg"] += sum(1 / math.log2(at + 1) for at, _ in hits) / whole
            gains = sum(weights[label] / math.log2(at + 1) for at, label in hits)
            best = sum(weight / math.log2(at + 1) for at, weight in enumerate(heaviest, 1))
            sums["psndcg"] += gains / whole
            sums["psndcg best"] += best / whole
    n_rows = len(truth)
    return {
        f"precision@{k}": sums["precision"] / n_rows,
        f"ndcg@{k}": sums["ndcg"] / n_rows,
        f"psp@{k}": sums["psp"] / sums["psp best"] if sums["psp best"] else 0.0,
        f"psndcg@{k}": sums["psndcg"] / sums["psndcg best"] if sums["psndcg best"] else 0.0,
    }


@settings(deadline=None)
@given(problems(), st.integers(1, 8), st.lists(st.integers(0, 50), min_size=6, max_size=6))
def test_the_first_k_labels(problem, k, counts):
    truth, scores, full = problem
    counts = counts[: truth.shape[1]]
    c = (math.log(50) - 1) * 2.5**0.55
    weights = [1 + c * (count + 1.5) ** -0.55 for count in counts]
    expected = first_k_by_definition(truth, full, weights, k)
    for form in (scores, full):
        answer = evaluate(
            truth, scores=form, metrics=list(expected), train_label_counts=counts, n_train_rows=50
        )
        assert answer == pytest.approx(expected)


@settings(deadline=None)
@given(problems(), st.integers(1, 8))
def test_the_best_labels(problem, k):
    _, scores, full = problem
    order = np.array([sorted(range(len(f)), key=lambda label: (-f[label], label)) for f in full])
    order = order[:, :k]
    for form in (scores, Scores.dense(full)):
        ids, values = form.top(k)
        assert np.array_equal(ids, order)
        assert np.array_equal(values, np.take_along_axis(full, order, axis=1))
