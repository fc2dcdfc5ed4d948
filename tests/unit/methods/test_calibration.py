"""Thresholds fitted on K-fold scores: the statistics have not seen the fold."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import vicinal
from vicinal.decision import CardinalityThreshold, CrossValidated, MetricThreshold, NeverEmpty
from vicinal.errors import InvalidArgumentError
from vicinal.index import build_index
from vicinal.methods import METHODS, training
from vicinal.methods.fold import Fold
from vicinal.methods.training import Training
from vicinal.scores import Scores

pytestmark = pytest.mark.native


@pytest.mark.parametrize("name", METHODS)
def test_scores_are_those_of_models_fitted_without_the_fold(
    name: str, make_method: Any, sample: Any
) -> None:
    rule = MetricThreshold("micro-f1")
    plain = make_method(name, never_empty=False)
    by_hand = np.empty(sample.Y.shape)
    for fold in range(5):
        held = np.arange(len(sample.X)) % 5 == fold
        part = clone(plain).fit(sample.X[~held], sample.Y[~held])
        by_hand[held] = part.scores(sample.X[held]).toarray()
    wanted = rule.fit(Scores.dense(by_hand), sparse.csr_array(sample.Y.astype(np.int32)))
    model = plain.set_params(threshold=CrossValidated(rule, n_folds=5)).fit(sample.X, sample.Y)
    assert model.decision_ == wanted


def test_inside_never_empty_and_through_saving(sample: Any, tmp_path: Any) -> None:
    rule = CrossValidated(CardinalityThreshold(), n_folds=4)
    model = vicinal.InstanceKNN(3, threshold=rule).fit(sample.X, sample.Y)
    inner = vicinal.InstanceKNN(3, threshold=NeverEmpty(rule)).fit(sample.X, sample.Y)
    loo = vicinal.InstanceKNN(3).fit(sample.X, sample.Y)
    assert model.decision_ == inner.decision_ != loo.decision_
    model.save(tmp_path / "m")
    assert vicinal.load(tmp_path / "m").threshold == rule


def test_more_folds_than_rows_leave_one_row_out(sample: Any) -> None:
    X, Y = sample.X[:9], sample.Y[:9]
    many, each = (
        vicinal.MLkNN(2, threshold=CrossValidated(MetricThreshold(), n)).fit(X, Y) for n in (99, 9)
    )
    assert many.decision_ == each.decision_


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_a_fold_with_one_cluster_beside_folds_with_more() -> None:
    """Without rows 0 and 3 all rows are alike, and the scores sparse; the others' are dense."""
    X, Y = np.array([[0.0], [1], [1], [0], [1], [1]]), np.array([[1], [0], [0], [1], [0], [0]])
    rule = CrossValidated(CardinalityThreshold(), n_folds=3)
    parts = {"n_neighbors": 1, "smoothing": 0.0, "n_clusters": 2, "random_state": 0}
    by_hand = np.empty(Y.shape)
    kinds = set()
    for fold in range(3):
        held = np.arange(6) % 3 == fold
        scores = vicinal.LAMLkNN(**parts).fit(X[~held], Y[~held]).scores(X[held])
        kinds.add(scores.is_sparse)
        by_hand[held] = scores.toarray()
    assert kinds == {True, False}
    wanted = rule.fit(Scores.dense(by_hand), sparse.csr_array(Y.astype(np.int32)))
    assert vicinal.LAMLkNN(**parts, threshold=rule).fit(X, Y).decision_ == wanted


def test_one_row_has_no_folds() -> None:
    with pytest.raises(InvalidArgumentError, match="X: expected at least two training rows"):
        vicinal.BRkNN(1, threshold=CrossValidated(MetricThreshold())).fit([[1.0]], [[1, 0]])


@pytest.mark.parametrize("n_folds", [1, 0, 2.5, None])
def test_bad_numbers_of_folds(n_folds: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="n_folds: expected an integer of at least 2"):
        CrossValidated(MetricThreshold(), n_folds)


def test_a_rule_is_needed_inside() -> None:
    rule: Any = 0.5
    with pytest.raises(InvalidArgumentError, match=r"rule: expected a decision rule, got 0\.5"):
        CrossValidated(rule)


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_folds_of_different_forms_beyond_memory_are_refused(monkeypatch: Any) -> None:
    monkeypatch.setattr(training, "DENSE_LIMIT", 5)
    X, Y = np.array([[0.0], [1], [1], [0], [1], [1]]), np.array([[1], [0], [0], [1], [0], [0]])
    parts = {"n_neighbors": 1, "smoothing": 0.0, "n_clusters": 2, "random_state": 0}
    rule = CrossValidated(CardinalityThreshold(), n_folds=3)
    with pytest.raises(InvalidArgumentError, match=r"threshold: expected at most 5 K-fold scores"):
        vicinal.LAMLkNN(**parts, threshold=rule).fit(X, Y)


def test_scores_of_training_rows_are_searched_where_the_graph_is_gone(sample: Any) -> None:
    model = vicinal.BRkNN(3).fit(sample.X, sample.Y)
    wanted = training.training_scores(model).toarray()
    model.partial_fit(sample.X_test[:1], sample.Y[:1])
    again = vicinal.BRkNN(3).fit(
        np.vstack([sample.X, sample.X_test[:1]]), np.vstack([sample.Y, sample.Y[:1]])
    )
    np.testing.assert_array_equal(
        training.training_scores(model).toarray(), training.training_scores(again).toarray()
    )
    assert wanted.shape == (50, 5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"graph": 4}, "graph: expected neighbours among 6 training rows, got 4"),
        ({"X": np.zeros((2, 1))}, "X, Y, graph: expected the same number of held-out rows"),
        ({"Y": sparse.csr_array(np.zeros((3, 2)))}, "Y: expected 1 labels, got 2"),
    ],
)
def test_parts_of_a_fold_fit_each_other(change: Any, message: str) -> None:
    X, Y = np.arange(6.0)[:, None], sparse.csr_array(np.ones((6, 1), dtype=np.int32))
    index = build_index(X, "euclidean")
    training = Training(index.query_self(2), Y, X)
    parts = {"graph": index.query(X[:3], 2), "X": X[:3], "Y": Y[:3]}
    Fold(training, **parts)
    if "graph" in change:
        change = {"graph": build_index(X[:4], "euclidean").query(X[:3], 2)}
    with pytest.raises(InvalidArgumentError, match=message):
        Fold(training, **{**parts, **change})
