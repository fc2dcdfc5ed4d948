"""Weights where a method takes them; an error that names the method, and a way out, elsewhere."""

from typing import Any

import numpy as np
import pytest
from sklearn import config_context
from sklearn.model_selection import GridSearchCV
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline as sklearn_pipeline

import vicinal
from vicinal import LabelRidge
from vicinal.baselines import BinaryRelevanceSVM, RankSVM
from vicinal.errors import InvalidArgumentError
from vicinal.index import build_index
from vicinal.methods import METHODS
from vicinal.preprocess import MinMax

pytestmark = pytest.mark.native

X = np.random.default_rng(0).random((12, 3))
Y = (np.random.default_rng(1).random((12, 2)) < 0.5).astype(int)
WEIGHTS = np.arange(12.0)

UNWEIGHTED = [kind for name, kind in METHODS.items() if name != "label-ridge"]
refusing = pytest.mark.parametrize(
    "kind", [*UNWEIGHTED, BinaryRelevanceSVM, RankSVM], ids=lambda kind: kind.__name__
)


def said(kind: type[Any]) -> str:
    return f"sample_weight: expected None, because {kind.__name__} cannot weight rows"


@refusing
def test_a_method_that_cannot_weight_rows_says_so_by_name(kind):
    with pytest.raises(InvalidArgumentError, match=said(kind)) as caught:
        kind().fit(X, Y, sample_weight=WEIGHTS)
    assert "numpy.repeat" in str(caught.value)
    assert "LabelRidge" in str(caught.value)


@refusing
def test_no_weights_are_no_argument(kind):
    assert hasattr(kind().fit(X, Y, sample_weight=None), "label_names_")


@refusing
def test_a_mistyped_argument_is_named(kind):
    with pytest.raises(TypeError, match=f"{kind.__name__}.fit.* 'sample_weights'"):
        kind().fit(X, Y, sample_weights=WEIGHTS)


def test_pipelines_pass_weights_on():
    ours = vicinal.make_pipeline(MinMax(), LabelRidge()).fit(X, Y, sample_weight=WEIGHTS)
    theirs = sklearn_pipeline(MinMax(), LabelRidge()).fit(X, Y, labelridge__sample_weight=WEIGHTS)
    alone = LabelRidge().fit(MinMax().fit_transform(X), Y, sample_weight=WEIGHTS)
    for model in (ours, theirs):
        np.testing.assert_array_equal(
            model.predict_proba(X), alone.predict_proba(MinMax().fit_transform(X))
        )


@pytest.mark.parametrize(
    "fit",
    [
        lambda: vicinal.make_pipeline(MinMax(), vicinal.MLkNN(2)).fit(X, Y, sample_weight=WEIGHTS),
        lambda: sklearn_pipeline(MinMax(), vicinal.MLkNN(2)).fit(
            X, Y, mlknn__sample_weight=WEIGHTS
        ),
        lambda: GridSearchCV(
            vicinal.MLkNN(), {"n_neighbors": [1, 2]}, cv=2, scoring="f1_micro"
        ).fit(X, Y, sample_weight=WEIGHTS),
    ],
    ids=["pipeline", "scikit-learn pipeline", "grid search"],
)
def test_the_refusal_reaches_the_user_through(fit):
    with pytest.raises(ValueError, match="because MLkNN cannot weight rows"):
        fit()


def test_scikit_learn_refuses_what_the_estimator_does_not_list():
    with pytest.raises(ValueError, match="does not support sample weights"):
        MultiOutputClassifier(vicinal.MLkNN(2)).fit(X, Y, sample_weight=WEIGHTS)
    with config_context(enable_metadata_routing=True):
        with pytest.raises(TypeError, match="sample_weight"):
            ClassifierChain(vicinal.MLkNN(2)).fit(X, Y, sample_weight=WEIGHTS)
        with pytest.raises(TypeError, match="sample_weight"):
            vicinal.MLkNN(2).set_fit_request(sample_weight=True)


def test_searches_chains_and_outputs_pass_weights_on():
    search = GridSearchCV(LabelRidge(), {"alpha": [0.1, 1.0]}, cv=2, scoring="f1_micro")
    found = search.fit(X, Y, sample_weight=WEIGHTS).best_estimator_
    alone = LabelRidge(found.alpha).fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(found.predict_proba(X), alone.predict_proba(X))
    first = LabelRidge().fit(X, Y[:, 0], sample_weight=WEIGHTS).predict(X)
    with config_context(enable_metadata_routing=True):
        ridge = LabelRidge().set_fit_request(sample_weight=True)
        chain = ClassifierChain(ridge).fit(X, Y, sample_weight=WEIGHTS)
    outputs = MultiOutputClassifier(LabelRidge()).fit(X, Y, sample_weight=WEIGHTS)
    np.testing.assert_array_equal(chain.predict(X)[:, 0], first)
    np.testing.assert_array_equal(outputs.predict(X)[:, 0], first)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(3), "a number for each of 12 rows, got shape"),
        (np.ones((12, 1)), "a number for each of 12 rows, got shape"),
        (["a"] * 12, "a number for each of 12 rows"),
        (np.zeros(12), "one of them above 0, got only zeros"),
        ([np.nan] * 12, "finite weights of at least 0"),
        ([-1.0] * 12, "got -1"),
    ],
)
def test_weights_that_are_none_are_refused(weights, message):
    with pytest.raises(InvalidArgumentError, match=message):
        LabelRidge().fit(X, Y, sample_weight=weights)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (LabelRidge(kernel="rbf", metric="euclidean"), "gamma: expected a number"),
        (LabelRidge(max_memory=1500), "max_memory: expected at least 1936 bytes"),  # 11 rows
        (LabelRidge(threshold="two-pass"), None),
        (LabelRidge(threshold=vicinal.decision.MetricThreshold("micro-f1")), "threshold: expected"),
    ],
)
def test_settings_without_a_weighted_form_are_refused(model, message):
    wide = np.random.default_rng(2).random((12, 20))
    if message is None:
        model.fit(wide, Y, sample_weight=WEIGHTS)
        return
    with pytest.raises(InvalidArgumentError, match=message):
        model.fit(wide, Y, sample_weight=WEIGHTS)


def test_a_weighted_model_is_saved_and_refuses_to_change(tmp_path):
    model = LabelRidge().fit(X, Y, sample_weight=WEIGHTS, row_names=list("abcdefghijkl"))
    assert model.row_names_ == tuple("bcdefghijkl")  # the first has weight 0
    model.save(tmp_path / "model")
    restored = vicinal.load(tmp_path / "model")
    np.testing.assert_array_equal(restored.predict_proba(X), model.predict_proba(X))
    for change in (
        lambda: restored.partial_fit(X[:1], Y[:1]),
        lambda: restored.forget([0]),
        lambda: model.recalibrate(),
    ):
        with pytest.raises(InvalidArgumentError, match="fitted without sample_weight"):
            change()
    np.testing.assert_array_equal(restored.predict_proba(X), model.predict_proba(X))


def test_one_weight_is_the_weight_of_every_row(sample):
    one = LabelRidge().fit(sample.X, sample.Y, sample_weight=2.0)
    same = LabelRidge().fit(sample.X, sample.Y, sample_weight=np.full(50, 2.0))
    np.testing.assert_array_equal(one.predict_proba(sample.X), same.predict_proba(sample.X))


def test_a_ready_graph_is_refused_beside_weights(sample):
    graph = build_index(sample.X, "euclidean").query_self(3)
    with pytest.raises(InvalidArgumentError, match="graph: expected None where sample_weight"):
        LabelRidge().fit(sample.X, sample.Y, graph=graph, sample_weight=np.ones(50))
