"""Metrics of rows that come in blocks equal those of all rows at once, however rows are divided."""

import itertools
import logging
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from vicinal.errors import InvalidArgumentError
from vicinal.metrics import CONVENTIONS, MetricAccumulator, evaluate
from vicinal.metrics.auc import ScoreTally, cut
from vicinal.scores import Scores

pytestmark = pytest.mark.native

EXACT = {
    "hamming-loss", "subset-accuracy", "micro-precision", "micro-recall", "micro-f1",
    "macro-precision", "macro-recall", "macro-f1", "cardinality", "empty-share", "one-error",
    "coverage", "coverage-normalised", "macro-auc", "micro-auc",
    "precision@1", "precision@3", "precision@5",
}  # fmt: skip
"""Metrics that follow from whole numbers."""


def cells(seed: int, form: str) -> tuple[Any, Any, Scores]:
    """Truth, predictions and scores full of ties, empty rows and labels that nobody has."""
    rng = np.random.default_rng(seed)
    n_rows, n_labels = (int(each) for each in rng.integers(1, 14, 2))
    truth = sparse.csr_array((rng.random((n_rows, n_labels)) < 0.3).astype(np.int32))
    predicted = sparse.csr_array((rng.random((n_rows, n_labels)) < 0.3).astype(np.int32))
    values = rng.integers(-2, 4, (n_rows, n_labels)) / 7
    if form == "dense":
        return truth, predicted, Scores.dense(values)
    stored = sparse.csr_array(np.where(rng.random(values.shape) < 0.4, values, 0.0))
    base = rng.integers(-1, 2, n_labels) / 7
    return truth, predicted, Scores.sparse(stored, base)


def divided(n_rows: int, seed: int) -> list[slice]:
    """Some blocks of rows, of different sizes."""
    rng = np.random.default_rng(seed)
    edges = sorted({0, n_rows, *rng.integers(0, n_rows + 1, 3).tolist()})
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    form=st.sampled_from(["dense", "sparse"]),
    conventions=st.sampled_from(sorted(CONVENTIONS)),
    cuts=st.integers(0, 10**6),
)
def test_blocks_give_what_the_whole_gives(seed, form, conventions, cuts):
    truth, predicted, scores = cells(seed, form)
    counts = np.random.default_rng(seed).integers(0, 9, truth.shape[1])
    facts = {"conventions": conventions, "train_label_counts": counts, "n_train_rows": 20}
    whole = evaluate(truth, predicted, scores, **facts)
    running = MetricAccumulator(**facts)
    for rows in divided(truth.shape[0], cuts):
        running.add(truth[rows], predicted[rows], scores.rows(rows.start, rows.stop))
    found = running.result()
    assert list(found) == list(whole)
    assert running.n_rows == truth.shape[0]
    assert running.exact_areas
    for name, value in whole.items():
        if math.isnan(value):
            assert math.isnan(found[name]), name
        elif name in EXACT:
            assert found[name] == value, name
        else:
            assert found[name] == pytest.approx(value, rel=1e-12, abs=1e-12), name


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), cuts=st.lists(st.integers(0, 10**6), min_size=2, max_size=2))
def test_areas_of_shortened_scores_do_not_depend_on_the_blocks(seed, cuts):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 40))
    truth = sparse.csr_array((rng.random((n_rows, 2)) < 0.4).astype(np.int32))
    scores = Scores.dense(rng.normal(size=(n_rows, 2)))
    found = []
    for how in cuts:
        running = MetricAccumulator(metrics=["macro-auc", "micro-auc"], most_scores=12)
        for rows in divided(n_rows, how):
            running.add(truth[rows], scores=scores.rows(rows.start, rows.stop))
        found.append((running.result(), running.exact_areas))
    np.testing.assert_equal(*found)
    tally = ScoreTally(2, most_scores=12)
    tally.add(truth, scores)
    tally.label_areas()
    shortened = Scores.dense(cut(scores.toarray(), tally.digits))
    np.testing.assert_equal(
        found[0][0], evaluate(truth, scores=shortened, metrics=list(found[0][0]))
    )


def test_shortened_scores_are_said_once(caplog):
    running = MetricAccumulator(metrics=["macro-auc", "micro-auc"], most_scores=4)
    rng = np.random.default_rng(0)
    with caplog.at_level(logging.INFO, logger="vicinal"):
        for _ in range(3):
            running.add([[1], [0]] * 20, scores=rng.random((40, 1)))
        running.result()
    assert not running.exact_areas
    assert caplog.text.count("more than 4 different scores; compared by their first") == 1


def test_many_rows_of_few_scores_stay_small():
    tally = ScoreTally(3, most_scores=1000)
    rng = np.random.default_rng(0)
    for _ in range(200):
        truth = sparse.csr_array((rng.random((50, 3)) < 0.5).astype(np.int32))
        tally.add(truth, Scores.dense(rng.integers(0, 11, (50, 3)) / 10))
    tally.label_areas()
    assert tally._kept <= 33
    assert tally.digits == 52


def test_names_are_aligned_and_must_be_known():
    running = MetricAccumulator(label_names=["a", "b", "c"], metrics=["hamming-loss", "one-error"])
    running.add([["a"], ["c", "b"]], [["a", "b"], ["b"]], [[1.0, 0.5, 0.0], [0.0, 0.9, 0.5]])
    running.add([["b"]], [["b"]], [[0.0, 1.0, 0.5]])
    whole = evaluate(
        [["a"], ["c", "b"], ["b"]],
        [["a", "b"], ["b"], ["b"]],
        [[1.0, 0.5, 0.0], [0.0, 0.9, 0.5], [0.0, 1.0, 0.5]],
        label_names=["a", "b", "c"],
        metrics=["hamming-loss", "one-error"],
    )
    assert running.result() == whole
    with pytest.raises(
        InvalidArgumentError, match="Y: expected only labels in label_names, got 'd'"
    ):
        running.add([["d"]], [["b"]], [[0.0, 1.0, 0.5]])
    assert running.result() == whole


def test_blocks_must_agree():
    running = MetricAccumulator()
    with pytest.raises(InvalidArgumentError, match="at least one row"):
        running.result()
    running.add([[1, 0]], [[1, 0]], [[0.5, 0.1]])
    before = running.result()
    with pytest.raises(InvalidArgumentError, match="Y_true: expected 2 labels, as the rows before"):
        running.add([[1, 0, 1]], [[1, 0, 1]], [[1, 0, 1]])
    with pytest.raises(InvalidArgumentError, match="scores: expected a value, as with the rows"):
        running.add([[1, 0]], [[1, 0]])
    np.testing.assert_equal(running.result(), before)
