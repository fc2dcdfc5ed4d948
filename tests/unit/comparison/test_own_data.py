"""Comparisons of pairs, texts and tables, with folds and transformers of one's own."""

import logging

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import vicinal
from vicinal.comparison import compare, rank_methods
from vicinal.errors import InvalidArgumentError
from vicinal.metrics import evaluate
from vicinal.preprocess import MinMax, TextVectorizer, TfIdf
from vicinal.report.comparison import verdict

pytestmark = pytest.mark.native

METRICS = ["hamming-loss", "micro-f1"]
TEXTS = ["red apple", "green pear", "red pear", "green apple", "red rose", "green leaf"] * 3
NAMES = [["red"], ["green"], ["red", "pear"], ["green"], ["red"], ["green"]] * 3


class Broken(vicinal.BRkNN):
    def fit(self, X, Y, **more):
        raise ValueError("no luck")


def test_folds_of_ones_own(sample):
    folds = list(KFold(4).split(sample.X))
    model = vicinal.BRkNN(3)
    (by_pairs,) = compare((sample.X, sample.Y), {"BR": model}, folds=folds, metrics=METRICS)
    (by_splitter,) = compare(
        {"data": (sample.X, sample.Y)}, {"BR": model}, folds=KFold(4), metrics=METRICS
    )
    generated = (pair for pair in folds)
    (once,) = compare((sample.X, sample.Y), {"BR": model}, folds=generated, metrics=METRICS)
    assert by_pairs.values == by_splitter.values == once.values
    for fold, (train, test) in enumerate(folds):
        scale = MinMax().fit(sample.X[train])
        fitted = model.fit(scale.transform(sample.X[train]), sample.Y[train])
        labels = fitted.predict(scale.transform(sample.X[test]))
        wanted = evaluate(sample.Y[test], labels, metrics=METRICS)
        assert {name: by_pairs.values[name][fold] for name in METRICS} == wanted


@pytest.mark.parametrize("preprocess", [StandardScaler(), [("s", StandardScaler()), MinMax()]])
def test_transformers_are_fitted_on_training_rows(sample, preprocess):
    folds = list(KFold(3).split(sample.X))
    (found,) = compare(
        (sample.X, sample.Y), {"BR": vicinal.BRkNN(3)}, folds=folds, preprocess=preprocess,
        metrics=METRICS,
    )  # fmt: skip
    train, test = folds[0]
    scale = StandardScaler().fit(sample.X[train])
    rows, new = scale.transform(sample.X[train]), scale.transform(sample.X[test])
    if isinstance(preprocess, list):
        second = MinMax().fit(rows)
        rows, new = second.transform(rows), second.transform(new)
    labels = vicinal.BRkNN(3).fit(rows, sample.Y[train]).predict(new)
    assert found.values["hamming-loss"][0] == evaluate(sample.Y[test], labels)["hamming-loss"]


def test_sparse_rows_with_tfidf(sample):
    X = sparse.csr_array(sample.X)
    found = compare(
        {"d": (X, sample.Y)}, ["brknn", "mlknn"], folds=2, preprocess=TfIdf(), metrics=METRICS
    )
    assert [each.method for each in found] == ["brknn", "mlknn"]


def test_texts_and_names():
    folds = list(KFold(3).split(TEXTS))
    methods = {"BR": vicinal.BRkNN(1, metric="cosine"), "tree": DecisionTreeClassifier()}
    ours, tree = compare((TEXTS, NAMES), methods, folds=folds, metrics=METRICS)
    assert ours.label_names == ("green", "pear", "red")
    assert tree.method == "tree"
    train, test = folds[1]
    words = TextVectorizer(weighting="counts", tokens="unicode").fit([TEXTS[i] for i in train])
    model = vicinal.BRkNN(1, metric="cosine")
    model.fit(words.transform([TEXTS[i] for i in train]), [NAMES[i] for i in train])
    predicted = model.predict_names(words.transform([TEXTS[i] for i in test]))
    wanted = evaluate([NAMES[i] for i in test], predicted, label_names=("green", "pear", "red"))
    assert ours.values["micro-f1"][1] == pytest.approx(wanted["micro-f1"])


def test_a_table_is_read_as_train_reads_it(tmp_path):
    path = tmp_path / "notes.csv"
    lines = [f"{text},{'|'.join(labels)}" for text, labels in zip(TEXTS, NAMES, strict=True)]
    path.write_text("text,tags\n" + "\n".join(lines) + "\n")
    methods = {"BR": vicinal.BRkNN(1, metric="cosine")}
    (of_file,) = compare([str(path)], methods, folds=3, metrics=METRICS)
    (of_pair,) = compare((TEXTS, NAMES), methods, folds=3, metrics=METRICS)
    assert of_file.values == of_pair.values


def test_a_failing_method_is_reported_and_other_methods_continue(sample, tmp_path, caplog):
    methods = {"good": vicinal.BRkNN(3), "bad": Broken(3)}
    data = {"d": (sample.X, sample.Y)}
    store = tmp_path / "results.jsonl"
    with caplog.at_level(logging.WARNING, logger="vicinal"):
        found = compare(data, methods, folds=2, metrics=METRICS, store=store)
    assert [each.method for each in found] == ["good"]
    assert "bad failed on d and is left out there: fold 1: ValueError: no luck" in caplog.text
    assert found.failed == {("d", "bad", 0): "fold 1: ValueError: no luck"}
    again = compare(data, methods, folds=2, metrics=METRICS, store=store)
    assert again == found
    with pytest.raises(InvalidArgumentError, match="bad on d, fold 1: ValueError: no luck"):
        compare(data, {"bad": Broken(3), "worse": Broken(2)}, folds=2, metrics=METRICS)
    with pytest.raises(ValueError, match="no luck"):
        compare(data, {"bad": Broken(3)}, folds=2, metrics=METRICS)


def test_stored_results_depend_on_folds_and_transformers(sample, tmp_path):
    store, data = tmp_path / "results.jsonl", {"d": (sample.X, sample.Y)}
    methods = {"BR": vicinal.BRkNN(3)}

    def figures(**options):
        (found,) = compare(data, methods, metrics=METRICS, store=store, **options)
        return found.values

    first = figures(folds=KFold(3))
    assert figures(folds=KFold(3, shuffle=True, random_state=1)) != first
    scaled = figures(folds=KFold(3), preprocess=StandardScaler())
    assert scaled == figures(folds=KFold(3), preprocess=StandardScaler())
    data["d"] = (sample.X[::-1], sample.Y[::-1])
    assert figures(folds=KFold(3)) != first


@pytest.mark.parametrize(
    ("data", "says"),
    [
        ([([[0.0]], [[1]])], "put pairs"),
        ({"d": (1, 2, 3)}, "a pair"),
        ({"d": ([[0.0], [1.0]], [[1]])}, "2 rows"),
    ],
)
def test_other_data_are_refused(data, says):
    with pytest.raises(InvalidArgumentError, match=says):
        compare(data, ["brknn"], folds=2)


def test_a_frame_reaches_the_steps_that_read_its_columns(sample):
    frame = pd.DataFrame(sample.X[:, :2], columns=["a", "b"])
    frame["kind"] = np.where(sample.X[:, 2] > 0.3, "large", "small")
    columns = ColumnTransformer([("k", OneHotEncoder(), ["kind"]), ("n", MinMax(), ["a", "b"])])
    options = {"folds": KFold(3), "metrics": METRICS, "preprocess": columns}
    (found,) = compare({"d": (frame, sample.Y)}, {"BR": vicinal.BRkNN(3)}, **options)
    model = make_pipeline(columns, vicinal.BRkNN(3))
    for fold, (train, test) in enumerate(KFold(3).split(frame)):
        fitted = model.fit(frame.iloc[train], sample.Y[train])
        wanted = evaluate(sample.Y[test], fitted.predict(frame.iloc[test]), metrics=METRICS)
        assert {name: found.values[name][fold] for name in METRICS} == wanted


def test_a_table_of_numbers_and_one_data_set_without_a_list(tmp_path, sample):
    path = tmp_path / "numbers.csv"
    lines = [",".join(map(repr, row)) for row in sample.X[:, :2].tolist()]
    rows = [
        f"{line},{'x' if label else 'y'}" for line, label in zip(lines, sample.Y[:, 0], strict=True)
    ]
    path.write_text("a,b,tags\n" + "\n".join(rows) + "\n")
    (of_file,) = compare(str(path), "brknn", folds=3, metrics=METRICS, n_jobs=1)
    names = [["x"] if label else ["y"] for label in sample.Y[:, 0]]
    (of_pair,) = compare((sample.X[:, :2], names), "brknn", folds=3, metrics=METRICS)
    assert of_file.values == of_pair.values


def test_methods_that_share_no_data_are_not_ranked(sample):
    (one,) = compare((sample.X, sample.Y), {"A": vicinal.BRkNN(1)}, folds=2)
    (two,) = compare({"e": (sample.X, sample.Y)}, {"B": vicinal.BRkNN(3)}, folds=2)
    found = rank_methods([one, two], "micro-f1")
    assert (found.mean_ranks, found.tests) == ({}, None)
    assert verdict(found) == "Methods are not ranked: no data set has micro-f1 for every method."
