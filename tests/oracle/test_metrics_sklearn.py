"""The scikit-learn conventions against scikit-learn, on random data with ties and empty sets."""

import numpy as np
import pytest
from scipy import sparse
from sklearn import metrics as reference

from vicinal.metrics import evaluate
from vicinal.scores import Scores

pytestmark = pytest.mark.native

SEEDS = range(8)
AVERAGES = {"example": "samples", "micro": "micro", "macro": "macro"}


def sets(seed):
    """Truth and prediction: some rows and labels empty, at least two labels (a limit of theirs)."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(3, 40), rng.integers(2, 12)
    density = rng.random((shape[0], 1)) * rng.random((1, shape[1]))
    return [(rng.random(shape) < density).astype(int) for _ in range(2)]


def ranking(seed, levels):
    """Truth and scores; few levels make many ties."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(5, 40), rng.integers(3, 12)
    truth = (rng.random(shape) < rng.random((shape[0], 1))).astype(int)
    truth[0], truth[1] = 0, 1  # one row of each extreme, and both classes in every label
    return truth, rng.integers(0, levels, shape) / levels


@pytest.mark.parametrize("seed", SEEDS)
def test_predicted_sets(seed):
    truth, predicted = sets(seed)
    expected = {
        "hamming-loss": reference.hamming_loss(truth, predicted),
        "subset-accuracy": reference.accuracy_score(truth, predicted),
        "example-accuracy": reference.jaccard_score(
            truth, predicted, average="samples", zero_division=0
        ),
    }
    for ours, theirs in AVERAGES.items():
        for name in ("precision", "recall", "f1"):
            score = getattr(reference, f"{name}_score")
            value = score(truth, predicted, average=theirs, zero_division=0)
            expected[f"{ours}-{name}"] = value
    answer = evaluate(
        sparse.csr_array(truth), predicted, conventions="sklearn", metrics=list(expected)
    )
    assert answer == pytest.approx(expected)


@pytest.mark.parametrize("levels", [1, 3, 10**6])
@pytest.mark.parametrize("seed", SEEDS)
def test_rankings(seed, levels):
    truth, scores = ranking(seed, levels)
    expected = {
        "coverage": reference.coverage_error(truth, scores),
        "ranking-loss": reference.label_ranking_loss(truth, scores),
        "average-precision": reference.label_ranking_average_precision_score(truth, scores),
        "macro-auc": reference.roc_auc_score(truth, scores, average="macro"),
        "micro-auc": reference.roc_auc_score(truth, scores, average="micro"),
    }
    for form in (scores, sparse.csr_array(scores), above_base(scores)):
        answer = evaluate(truth, scores=form, conventions="sklearn", metrics=list(expected))
        assert answer == pytest.approx(expected)


def above_base(scores):
    """Store only what differs from each label's first score."""
    rows, labels = np.nonzero(scores != scores[0])
    starts = np.concatenate([[0], np.cumsum((scores != scores[0]).sum(axis=1))])
    stored = sparse.csr_array((scores[rows, labels], labels, starts), shape=scores.shape)
    return Scores.sparse(stored, base=scores[0])


@pytest.mark.parametrize("k", [1, 2, 5])
@pytest.mark.parametrize("seed", SEEDS)
def test_ndcg_agrees_where_no_scores_tie(seed, k):
    truth, scores = ranking(seed, 10**9)
    expected = reference.ndcg_score(truth, scores, k=k)
    name = f"ndcg@{k}"
    assert evaluate(truth, scores=scores, metrics=name)[name] == pytest.approx(expected)


@pytest.mark.parametrize("seed", SEEDS)
def test_vicinal_differs_only_in_its_edge_cases(seed):
    truth, scores = ranking(seed, 10**9)
    keep = (truth.sum(axis=1) > 0) & (truth.sum(axis=1) < truth.shape[1])
    ours, theirs = (
        evaluate(truth[keep], truth[keep], scores[keep], conventions=system)
        for system in ("vicinal", "sklearn")
    )
    assert theirs.pop("coverage") == pytest.approx(ours.pop("coverage") + 1)
    normalised = ours.pop("coverage-normalised") + 1 / truth.shape[1]
    assert theirs.pop("coverage-normalised") == pytest.approx(normalised)
    assert theirs == pytest.approx(ours, nan_ok=True)
