"""Tuned methods in a comparison: settings are chosen on training rows alone, fold by fold."""

import numpy as np
import pytest

from vicinal.comparison import Tuned, compare
from vicinal.comparison import candidates as tuned_module
from vicinal.datasets import Dataset
from vicinal.methods import METHODS
from vicinal.metrics import evaluate
from vicinal.selection import IterativeStratification, tune

pytestmark = pytest.mark.native


@pytest.fixture
def data():
    rng = np.random.default_rng(2)
    X = rng.random((60, 3))
    Y = (X[:, :2] + rng.normal(scale=0.3, size=(60, 2)) > 0.5).astype(int)
    return Dataset(X, Y, feature_names=tuple("abc"), label_names=("x", "y"))


@pytest.mark.parametrize("method", ["mlknn", "brknn", "lcif"])
def test_each_fold_is_tuned_and_tested_apart(data, method):
    candidate = Tuned(method, "micro-f1", cv=3)
    (result,) = compare({"d": data}, {"best": candidate}, folds=3, seeds=(4,))
    splitter = IterativeStratification(3, shuffle=True, random_state=4)
    said = []
    for fold, (train, test) in enumerate(splitter.split(data.X, data.Y)):
        low, high = data.X[train].min(axis=0), data.X[train].max(axis=0)
        X, X_test = ((data.X[rows] - low) / (high - low) for rows in (train, test))
        found = tune(
            method,
            X,
            data.Y[train],
            metric="micro-f1",
            cv=3,
            fast=True,
            random_state=4,
            metrics=["micro-f1"],
            progress=False,
        )
        chosen = dict(found.best["micro-f1"].params)
        said.append(", ".join(f"{name}={value}" for name, value in chosen.items()))
        model = METHODS[method](**chosen).fit(X, data.Y[train])
        wanted = evaluate(
            data.Y[test],
            model.predict(X_test),
            model.scores(X_test),
            train_label_counts=data.Y[train],
        )
        got = {name: values[fold] for name, values in result.values.items()}
        assert got == pytest.approx(wanted, abs=0, rel=0, nan_ok=True)
    assert result.note == "chosen, fold by fold: " + "; ".join(said)
    assert result.settings["metric"] == "micro-f1"


def test_an_interrupt_while_tuning_stops_the_comparison(data, monkeypatch):
    original = tuned_module.tune

    def stopped(*words, **more):
        found = original(*words, **more)
        return type(found)(found.metric, found.best, found.table, found.estimator, complete=False)

    monkeypatch.setattr(tuned_module, "tune", stopped)
    with pytest.raises(KeyboardInterrupt):
        compare({"d": data}, {"best": Tuned("brknn", "micro-f1", cv=2)}, folds=2)


def test_a_tuned_method_predicts_as_the_chosen_setting(data):
    model = Tuned("brknn", "micro-f1", cv=3).fit(data.X, data.Y)
    same = METHODS["brknn"](**model.chosen_).fit(data.X, data.Y)
    np.testing.assert_array_equal(model.predict(data.X).toarray(), same.predict(data.X).toarray())
    scores = model.scores(data.X)
    np.testing.assert_array_equal(scores.toarray(), same.scores(data.X).toarray())
    np.testing.assert_array_equal(model.decide(scores).toarray(), same.decide(scores).toarray())
