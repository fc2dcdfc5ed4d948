"""kneighbors, decision_function and pipelines, as scikit-learn's users expect them."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline as SklearnPipeline

import vicinal
from vicinal.decision import Decision, PerLabelThreshold, RCut, Threshold
from vicinal.methods import METHODS, NeighborEstimator
from vicinal.methods.brknn import BRkNNScoring
from vicinal.methods.training import Training
from vicinal.preprocess import MinMax, TextVectorizer, TfIdf

pytestmark = pytest.mark.native


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("own", [True, False])
def test_kneighbors_is_scikit_learns(metric: str, own: bool, sample: Any) -> None:
    model = vicinal.BRkNN(4, metric=metric).fit(sample.X, sample.Y)
    theirs = NearestNeighbors(n_neighbors=4, metric=metric, algorithm="brute").fit(sample.X)
    X = None if own else sample.X_test
    for n_neighbors in (None, 1, 7):
        distances, ids = model.kneighbors(X, n_neighbors)
        wanted_distances, wanted = theirs.kneighbors(X, n_neighbors)
        assert np.array_equal(ids, wanted)
        np.testing.assert_allclose(distances, wanted_distances, atol=1e-7)
        assert np.array_equal(model.kneighbors(X, n_neighbors, return_distance=False), ids)
        assert (np.diff(distances, axis=1) >= 0).all()


def test_kneighbors_where_there_are_none() -> None:
    X = np.array([[1.0, 0.0], [2.0, 1.0], [0.0, 3.0]])
    model = vicinal.InstanceKNN(2, metric="dot").fit(X, np.eye(3, dtype=int))
    distances, ids = model.kneighbors([[0.0, 2.0], [0.0, 0.0]], 3)
    assert ids.tolist() == [[2, 1, -1], [-1, -1, -1]]
    assert distances.tolist() == [[-6.0, -2.0, np.inf], [np.inf] * 3]


def test_kneighbors_knows_rows_by_their_ids() -> None:
    X = np.arange(6.0)[:, None]
    model = vicinal.BRkNN(1).fit(X, np.eye(6, dtype=int)).forget([0, 3])
    assert model.kneighbors(return_distance=False).ravel().tolist() == [2, 1, 5, 4]
    assert model.kneighbors([[2.9]], return_distance=False).tolist() == [[2]]
    assert model.neighbor_graph([[2.9]], 2).ids.tolist() == [[2, 4]]


def test_kneighbors_of_more_rows_than_there_are() -> None:
    model = vicinal.BRkNN(10).fit(np.eye(3), np.eye(3, dtype=int))
    assert model.kneighbors(np.eye(3))[1].shape == (3, 3)
    assert model.kneighbors()[1].shape == (3, 2)
    for X, most in ((np.eye(3), 3), (None, 2)):
        with pytest.raises(ValueError, match=rf"^n_neighbors: expected at most {most}"):
            model.kneighbors(X, most + 1)
    assert model.neighbor_graph(np.eye(3), 9).k == 3


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("threshold", [0.3, Threshold(0.5, inclusive=True), PerLabelThreshold()])
def test_decision_function_is_positive_where_a_label_is_predicted(
    name: str, threshold: Any, make_method: Any, sample: Any
) -> None:
    model = make_method(name, threshold=threshold, never_empty=False).fit(sample.X, sample.Y)
    for X in (sample.X, sample.X_test):
        decision = model.decision_function(X)
        assert decision.shape == (len(X), 5)
        assert np.array_equal(decision > 0, model.predict(X) == 1)


def test_decision_function_of_a_rule_without_a_threshold_is_the_scores(sample: Any) -> None:
    model = vicinal.BRkNN(3, threshold=RCut(2)).fit(sample.X, sparse.csr_array(sample.Y))
    assert np.array_equal(
        model.decision_function(sample.X), model.predict_proba(sample.X).toarray()
    )


def test_scikit_learns_scorers_take_a_model(sample: Any) -> None:
    model = vicinal.MLkNN(4)
    found = cross_val_score(model, sample.X, sample.Y, cv=3, scoring="roc_auc")
    assert np.isfinite(found).all()
    fitted = model.fit(sample.X, sample.Y)
    decisions = roc_auc_score(sample.Y, fitted.decision_function(sample.X))
    assert decisions == roc_auc_score(sample.Y, fitted.predict_proba(sample.X))


@pytest.fixture
def pipeline(sample: Any) -> vicinal.Pipeline:
    steps = [("scale", MinMax()), ("method", vicinal.BRkNN(3, metric="cosine"))]
    names = ["a", "b", "c", "d", "e"]
    return vicinal.Pipeline(steps).fit(sample.X, sample.Y, label_names=names)


def test_a_pipeline_offers_what_its_estimator_offers(
    pipeline: vicinal.Pipeline, sample: Any
) -> None:
    inner, X = pipeline["method"], sample.X_test
    Z = pipeline["scale"].transform(X)
    assert pipeline.label_names_ == ("a", "b", "c", "d", "e")
    assert pipeline.predict_names(X) == inner.predict_names(Z)
    assert np.array_equal(pipeline.decision_function(X), inner.decision_function(Z))
    assert np.array_equal(pipeline.scores(X).toarray(), inner.scores(Z).toarray())
    for ours, wanted in (
        (pipeline.rank(X, 2), inner.rank(Z, 2)),
        (pipeline.kneighbors(X, 2), inner.kneighbors(Z, 2)),
        (pipeline.kneighbors(), inner.kneighbors()),
    ):
        assert all(np.array_equal(a, b) for a, b in zip(ours, wanted, strict=True))
    graph = pipeline.neighbor_graph(X, 5)
    assert np.array_equal(graph.ids, inner.neighbor_graph(Z, 5).ids)
    assert np.array_equal(pipeline.predict(X, graph=graph), pipeline.predict(X))
    assert pipeline.predict_names(X, graph=graph) == pipeline.predict_names(X)


def test_a_pipeline_learns_and_forgets(sample: Any) -> None:
    made = vicinal.make_pipeline(MinMax(), vicinal.BRkNN(3))
    made.partial_fit(sample.X[:30], sample.Y[:30])
    made.partial_fit(sample.X[30:], sample.Y[30:]).forget([1, 31]).compact()
    assert made.row_ids_.tolist() == [i for i in range(50) if i not in (1, 31)]
    scale = MinMax().fit(sample.X[:30])
    left = made.row_ids_
    inner = vicinal.BRkNN(3).fit(scale.transform(sample.X[left]), sample.Y[left])
    assert np.array_equal(
        made.predict_proba(sample.X_test), inner.predict_proba(scale.transform(sample.X_test))
    )


@dataclass(eq=False, repr=False, kw_only=True)
class FittedOnce(NeighborEstimator):
    """A method that cannot learn further rows."""

    n_neighbors: int = 3

    def _own_decision(self) -> Decision:
        return RCut()

    def _fit_scoring(self, training: Training) -> BRkNNScoring:
        return BRkNNScoring.fit(training, self.n_neighbors)


def test_a_method_that_the_estimator_lacks_is_not_there(sample: Any) -> None:
    made = vicinal.make_pipeline(MinMax(), FittedOnce()).fit(sample.X, sample.Y)
    assert not hasattr(made, "partial_fit")
    assert not hasattr(made, "forget")
    assert hasattr(made, "rank")
    unfitted = vicinal.make_pipeline(MinMax(), vicinal.BRkNN(3))
    assert not hasattr(unfitted, "label_names_")
    with pytest.raises(ValueError, match="not fitted"):
        unfitted.rank(sample.X)


def test_a_saved_pipeline_comes_back_as_ours(
    pipeline: vicinal.Pipeline, sample: Any, tmp_path: Any
) -> None:
    plain = SklearnPipeline(pipeline.steps)
    pipeline.save(tmp_path / "ours")
    vicinal.save(plain, tmp_path / "theirs")
    for folder in ("ours", "theirs"):
        back = vicinal.load(tmp_path / folder)
        assert type(back) is vicinal.Pipeline
        assert back.predict_names(sample.X_test) == pipeline.predict_names(sample.X_test)
        assert [name for name, _ in back.steps] == ["scale", "method"]
    again = deepcopy(pipeline)
    assert again.predict_names(sample.X_test) == pipeline.predict_names(sample.X_test)
    assert type(clone(pipeline)) is vicinal.Pipeline


def test_texts_go_all_the_way() -> None:
    texts = ["red apple", "green pear", "green apple", "red cherry"]
    labels = [["apple"], ["pear"], ["apple", "sour"], ["cherry"]]
    made = vicinal.make_pipeline(TextVectorizer(), TfIdf(), vicinal.LCIF(2, 2))
    made.fit(texts, labels)
    assert made.label_names_ == ("apple", "cherry", "pear", "sour")
    top, _ = made.rank(["an apple"], 1)
    assert made.label_names_[top[0, 0]] == "apple"
    assert made.neighbor_graph(["cherry"], 1).ids.tolist() == [[3]]
