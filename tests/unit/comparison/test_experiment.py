"""The experiment against a plain loop of fit, predict and evaluate that shares nothing."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from vicinal.baselines import BoosTexter
from vicinal.comparison import compare
from vicinal.datasets import Dataset
from vicinal.errors import InvalidArgumentError
from vicinal.methods import LCIF, METHODS, BRkNN, FeatureKNN, InstanceKNN, LAMLkNN, MLkNN
from vicinal.metrics import evaluate
from vicinal.selection import IterativeStratification

pytestmark = pytest.mark.native


def make_dataset(kind="dense", n=60, seed=3):
    """Features on different scales, many ties, a rare label; the last rows are the test split."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, size=(n, 5)) * np.array([1.0, 10, 100, 1, 5])
    X[:, 1] = rng.exponential(scale=10, size=n)  # a range of its own in every fold
    Y = (X @ rng.normal(size=(5, 4)) + rng.normal(scale=30, size=(n, 4)) > 0).astype(int)
    Y[:, 3] = 0
    Y[[2, n // 2, n - 1], 3] = 1
    return Dataset(
        X=sparse.csr_array(X) if kind == "sparse" else X,
        Y=Y,
        feature_names=tuple("abcde"),
        label_names=("one", "two", "three", "rare"),
        train=np.arange(n - 20),
        test=np.arange(n - 20, n),
        source="made",
    )


def scaled(kind, train, test):
    """Min-max by hand, on dense features only."""
    if kind == "sparse":
        return train, test
    low, high = train.min(axis=0), train.max(axis=0)
    span = np.where(high > low, high - low, 1)
    return (train - low) / span, (test - low) / span


def folds_of(data, folds, seed):
    if folds == "split":
        return [(data.train, data.test)]
    splitter = IterativeStratification(folds, shuffle=True, random_state=seed)
    return list(splitter.split(data.X, data.Y))


OURS = {
    **{name: METHODS[name]() for name in METHODS if name != "lamlknn"},
    "lamlknn": LAMLkNN(4, n_clusters=2),
    "brknn-b": BRkNN(3, variant="b", metric="cosine"),
    "wide": MLkNN(25),
    "cut": MLkNN(7, threshold="cardinality"),
    "second": InstanceKNN(5, second_order=True),
    "dot": InstanceKNN(4, metric="dot"),
    "lcif-max": LCIF(6, 3, 0.3, aggregate="max", metric="euclidean"),
    "labels": FeatureKNN(2, neighbors_of="label"),
}


@pytest.mark.filterwarnings("ignore:rows have:UserWarning")
@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("folds", [3, "split"])
def test_every_method_metric_and_fold_equals_a_plain_loop(kind, folds):
    data = make_dataset(kind)
    results = compare([data], OURS, folds=folds, seeds=(1, 4))
    assert [(r.method, r.seed) for r in results] == [(m, s) for m in OURS for s in (1, 4)]
    for result in results:
        assert (result.data, result.experiment) == (
            "made",
            "compare/split" if folds == "split" else "compare/3 folds",
        )
        model = clone(OURS[result.method])
        if "random_state" in model.get_params():
            model.set_params(random_state=result.seed)
        predicted, true = [], []
        for fold, (train, test) in enumerate(folds_of(data, folds, result.seed)):
            X, X_test = scaled(kind, data.X[train], data.X[test])
            model.fit(X, data.Y[train])
            labels = model.predict(X_test)
            wanted = evaluate(
                data.Y[test], labels, model.scores(X_test), train_label_counts=data.Y[train]
            )
            got = {name: values[fold] for name, values in result.values.items()}
            assert got == pytest.approx(wanted, abs=0, rel=0, nan_ok=True), result.method
            predicted.append(labels.toarray())
            true.append(data.Y[test].toarray())
        all_true, all_predicted = np.vstack(true), np.vstack(predicted)
        f1 = f1_score(all_true, all_predicted, average=None, zero_division=np.nan)
        assert result.per_label["f1"] == pytest.approx(tuple(f1), nan_ok=True)
        assert result.per_label["rows"] == tuple(all_true.sum(axis=0))
        assert result.label_names == data.label_names
        assert set(result.seconds) <= {"search", "fit", "predict"}
        assert all(value >= 0 for value in result.seconds.values())


class AlwaysFirst(BaseEstimator):
    """Gives the first label to every row, and has no scores."""

    def fit(self, X, Y):
        self.n_labels_ = Y.shape[1]
        return self

    def predict(self, X):
        answer = np.zeros((X.shape[0], self.n_labels_), dtype=int)
        answer[:, 0] = 1
        return answer


RIVALS = {
    "sk-knn": KNeighborsClassifier(3),
    "forest": RandomForestClassifier(5),
    "logistic": OneVsRestClassifier(LogisticRegression()),
    "svm": OneVsRestClassifier(LinearSVC()),
    "first": AlwaysFirst(),
    "boosted": BoosTexter(5),
}


@pytest.mark.filterwarnings("ignore:Label not:UserWarning")
def test_any_estimator_of_scikit_learn_can_be_compared():
    data = make_dataset()
    results = {r.method: r for r in compare([data], RIVALS, folds=4, seeds=(5,))}
    folds = folds_of(data, 4, 5)
    # The rare label is in three rows, so some training part may lack it.
    for name, model in RIVALS.items():
        rival = clone(model)
        if name == "forest":
            rival.set_params(random_state=5)
        for fold, (train, test) in enumerate(folds):
            X, X_test = scaled("dense", data.X[train], data.X[test])
            rival.fit(X, data.Y[train].toarray())
            scores = rival_scores(name, rival, X_test)
            wanted = evaluate(
                data.Y[test], rival.predict(X_test), scores, train_label_counts=data.Y[train]
            )
            got = {metric: values[fold] for metric, values in results[name].values.items()}
            assert got == pytest.approx(wanted, rel=1e-12, nan_ok=True), name
    assert "one-error" not in results["first"].values
    assert "ranking" in results["first"].note
    assert "search" not in results["sk-knn"].seconds


def rival_scores(name, model, X):
    if name == "first":
        return None
    if name == "boosted":
        return model.scores(X)
    if name == "svm":
        return model.decision_function(X)
    if name == "logistic":
        return model.predict_proba(X)
    columns = []
    for each, classes in zip(model.predict_proba(X), model.classes_, strict=True):
        at = list(classes)
        columns.append(each[:, at.index(1)] if 1 in at else np.zeros(len(each)))
    return np.column_stack(columns)


@pytest.mark.parametrize("only", [0, 1])
def test_a_label_with_one_class_in_training_scores_its_class(only):
    X = np.arange(8.0)[:, None]
    Y = np.column_stack([np.arange(8) % 2, np.full(8, only)])
    Y[-1, 1] = 1 - only  # in the test part alone
    data = Dataset(
        X, Y, feature_names=("f",), label_names=("a", "b"), train=np.arange(6), test=[6, 7]
    )
    (result,) = compare({"d": data}, {"rival": KNeighborsClassifier(1)}, folds="split")
    model = KNeighborsClassifier(1).fit(X[:6] / 5, Y[:6])
    first = model.predict_proba(X[6:] / 5)[0][:, 1]
    scores = np.column_stack([first, np.full(2, float(only))])
    assert result.values["ranking-loss"][0] == evaluate(Y[6:], scores=scores)["ranking-loss"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"methods": ["mlnn"]}, "mlnn"),
        ({"methods": []}, "at least one method"),
        ({"methods": {"x": MLkNN}}, "estimators"),
        ({"methods": {"x": object()}}, "estimators"),
        ({"metrics": ["f2"]}, "name of a metric"),
        ({"folds": 1}, "folds"),
        ({"folds": "fold"}, "folds"),
        ({"folds": "split"}, "no published split"),
        ({"seeds": ()}, "seeds"),
        ({"seeds": (-1,)}, "seeds"),
        ({"preprocess": "magic"}, "preprocess"),
        ({"datasets": []}, "datasets"),
        ({"datasets": 3}, "datasets: expected a sequence"),
        ({"methods": 3}, "methods: expected a sequence"),
        ({"seeds": 3}, "seeds: expected a sequence"),
    ],
)
def test_bad_arguments_are_named(change, says):
    data = make_dataset().subset(np.arange(30))
    usual = {"datasets": {"d": data}, "methods": ["brknn"], "folds": 2}
    with pytest.raises(InvalidArgumentError, match=says):
        compare(**{**usual, **change})


def test_two_data_sets_of_one_name_are_refused():
    with pytest.raises(InvalidArgumentError, match="twice"):
        compare([make_dataset(), make_dataset(seed=4)], ["brknn"])
