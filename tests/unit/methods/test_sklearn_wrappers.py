"""scikit-learn's own wrappers and searches around our estimators: one label, and labels by name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.metrics import RocCurveDisplay
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline

import vicinal
from vicinal.errors import InvalidArgumentError
from vicinal.metrics import align_labels, evaluate, scorer
from vicinal.preprocess import TextVectorizer
from vicinal.selection import IterativeStratification

pytestmark = pytest.mark.native


@pytest.mark.parametrize("kind", [np.asarray, list, pd.Series])
@pytest.mark.parametrize("dtype", [int, bool, float])
def test_one_dimensional_zeros_and_ones_are_one_label(sample, kind, dtype, tmp_path):
    y = sample.Y[:, 0].astype(dtype)
    flat = vicinal.MLkNN(4).fit(sample.X, kind(y))
    column = vicinal.MLkNN(4).fit(sample.X, y[:, None])
    predicted = flat.predict(sample.X_test)
    assert predicted.shape == (20,)
    assert predicted.dtype == (y.dtype if kind is not list else np.asarray(kind(y)).dtype)
    np.testing.assert_array_equal(predicted[:, None], column.predict(sample.X_test))
    probabilities = flat.predict_proba(sample.X_test)
    np.testing.assert_array_equal(probabilities[:, 1:], column.predict_proba(sample.X_test))
    np.testing.assert_array_equal(probabilities.sum(axis=1), 1)
    assert flat.decision_function(sample.X_test).shape == (20,)
    assert flat.classes_.tolist() == [0, 1]
    right = (flat.predict(sample.X) == y).mean()
    assert flat.score(sample.X, kind(y)) == right
    flat.save(tmp_path / "model")
    again = vicinal.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(sample.X_test), predicted)
    more = again.partial_fit(sample.X_test, predicted)
    assert more.predict(sample.X_test).shape == (20,)


def test_wrappers(sample):
    for wrapper in (ClassifierChain, MultiOutputClassifier, OneVsRestClassifier):
        model = wrapper(vicinal.BRkNN(3)).fit(sample.X, sample.Y)
        assert model.predict(sample.X_test).shape == (20, 5)
    # One label at a time is what BRkNN does: the wrapper changes nothing.
    ours = vicinal.BRkNN(3, never_empty=False).fit(sample.X, sample.Y)
    wrapped = MultiOutputClassifier(vicinal.BRkNN(3, never_empty=False)).fit(sample.X, sample.Y)
    np.testing.assert_array_equal(wrapped.predict(sample.X_test), ours.predict(sample.X_test))


def test_calibration_and_curves(sample):
    y = sample.Y[:, 0]
    model = vicinal.MLkNN(4).fit(sample.X, y)
    calibration_curve(y, model.predict_proba(sample.X)[:, 1], n_bins=3)
    RocCurveDisplay.from_estimator(model, sample.X, y)
    calibrated = CalibratedClassifierCV(vicinal.MLkNN(4), cv=3).fit(sample.X, y)
    assert calibrated.predict_proba(sample.X_test).shape == (20, 2)


@pytest.fixture
def named(sample):
    names = np.array(["a", "b", "c", "d", "e"])
    return [list(names[row == 1]) for row in sample.Y]


def test_score_by_name(sample, named):
    model = vicinal.MLkNN(4).fit(sample.X, named)
    predicted = model.predict(sample.X).toarray()
    exact = (predicted == sample.Y).all(axis=1)
    assert model.score(sample.X, named) == exact.mean()
    assert model.score(sample.X, sample.Y) == exact.mean()
    weights = np.arange(50.0)
    assert model.score(sample.X, named, weights) == np.average(exact, weights=weights)
    strange = [[*labels, "unheard of"] for labels in named]
    assert model.score(sample.X, strange) == 0
    turned = vicinal.MLkNN(4).fit(sample.X, sample.Y[:, ::-1], label_names=list("edcba"))
    assert turned.score(sample.X, named) == exact.mean()
    with pytest.raises(InvalidArgumentError, match="sample_weight"):
        model.score(sample.X, named, [1.0])


def test_searches_by_name(sample, named):
    grid = {"n_neighbors": [1, 4]}
    by_name = GridSearchCV(vicinal.MLkNN(), grid, cv=KFold(3)).fit(sample.X, named)
    by_column = GridSearchCV(vicinal.MLkNN(), grid, cv=KFold(3)).fit(sample.X, sample.Y)
    for metric in ("micro-f1", "ranking-loss"):
        search = GridSearchCV(vicinal.MLkNN(), grid, cv=KFold(3), scoring=scorer(metric))
        same = GridSearchCV(vicinal.MLkNN(), grid, cv=KFold(3), scoring=scorer(metric))
        first, second = search.fit(sample.X, named), same.fit(sample.X, sample.Y)
        assert first.cv_results_["mean_test_score"] == pytest.approx(
            second.cv_results_["mean_test_score"]
        )
    assert by_name.best_params_ == by_column.best_params_
    assert by_name.best_score_ == by_column.best_score_
    folds = IterativeStratification(3)
    assert len(cross_val_score(vicinal.MLkNN(), sample.X, named, cv=folds)) == 3


def test_a_pipeline_of_texts_is_scored_by_name():
    texts = ["red apple", "green pear", "red pear", "green apple"] * 3
    labels = [["red"], ["green"], ["red"], ["green"]] * 3
    model = make_pipeline(TextVectorizer(), vicinal.BRkNN(1, metric="cosine"))
    scores = cross_val_score(model, texts, labels, cv=KFold(2), scoring=scorer("micro-f1"))
    assert scores.tolist() == [1, 1]


def test_evaluate_aligns_by_name(sample, named):
    model = vicinal.MLkNN(4).fit(sample.X, sample.Y, label_names=list("abcde"))
    scores, labels = model.scores(sample.X), model.predict(sample.X)
    wanted = evaluate(sample.Y, labels, scores)
    found = evaluate(named, labels, scores, label_names=model.label_names_)
    assert found == wanted
    by_name = evaluate(named, model.predict_names(sample.X))
    assert all(by_name[name] == wanted[name] for name in by_name)
    with pytest.raises(InvalidArgumentError, match="label_names: expected the names"):
        evaluate(named, labels)
    # A label that the model has never seen is missed in every row that has it.
    strange = [[*row, "new"] for row in named]
    missed = evaluate(strange, model.predict_names(sample.X), metrics="micro-recall")
    tp = (labels * sample.Y).sum()
    assert missed["micro-recall"] == tp / (sample.Y.sum() + 50)
    ranked = evaluate(strange, None, scores, label_names=model.label_names_)
    assert ranked["coverage"] >= 4


def test_align_labels():
    frame = pd.DataFrame([[1, 0], [0, 1]], columns=["x", "a"])
    Y, names = align_labels(frame, ["a", "b"])
    assert names == ("a", "b", "x")
    assert Y.toarray().tolist() == [[0, 0, 1], [1, 0, 0]]
    with pytest.raises(InvalidArgumentError, match="'x'"):
        align_labels(frame, ["a", "b"], unknown="error")
    with pytest.raises(InvalidArgumentError, match="names"):
        align_labels([[1, 0]], ["a", "b"])


@pytest.mark.parametrize("missing", [None, np.nan, "a;b", 3])
def test_missing_cells_are_named_by_their_row(sample, named, missing):
    column = pd.Series(named)
    column[7] = missing
    for labels in (column, column.to_list()):
        with pytest.raises(InvalidArgumentError, match="in row 7"):
            vicinal.MLkNN().fit(sample.X, labels)
    frame = pd.DataFrame(sample.Y.astype(float))
    frame.iloc[9, 2] = np.nan
    with pytest.raises(InvalidArgumentError, match="nan in row 9"):
        vicinal.MLkNN().fit(sample.X, frame)
