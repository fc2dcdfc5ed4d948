"""A method that only a test file knows works everywhere: commands, tuning, saving and loading."""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import weighted_mlknn
from sklearn.neighbors import KNeighborsClassifier
from weighted_mlknn import WeightedMLkNN

import vicinal
from vicinal.cli import main
from vicinal.datasets import Dataset, write_file
from vicinal.methods import Method, MLkNN, NeighborEstimator
from vicinal.methods.brknn import BRkNNScoring
from vicinal.methods.registry import find_method
from vicinal.metrics import evaluate
from vicinal.selection import nested, tune
from vicinal.selection.stratification import read_splits

# Rows as they are, without scaling.
tune = partial(tune, preprocess=None)
nested = partial(nested, preprocess=None)

pytestmark = pytest.mark.native

OWN = "weighted_mlknn:WeightedMLkNN"
OUTSIDE = "sklearn.neighbors:KNeighborsClassifier"
SUPPORT = Path(weighted_mlknn.__file__).parent


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the program in the folder of the method; return exit code, output and errors."""
    monkeypatch.chdir(SUPPORT)

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["vicinal", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return stop.value.code or 0, captured.out, captured.err

    return call


@pytest.fixture
def data_file(sample, tmp_path):
    names = tuple("abcdef"), tuple("vwxyz")
    data = Dataset(sample.X, sample.Y, feature_names=names[0], label_names=names[1])
    write_file(data, tmp_path / "data.npz")
    return tmp_path / "data.npz"


def by_definition(X, Y, Q, k, s):
    """Posterior of each label, written out: rows have no ties."""

    def votes(row, among):
        distances = np.sqrt(((X[among] - row) ** 2).sum(axis=1))
        near = np.argsort(distances)[:k]
        weights = 1 / (1 + distances[near])
        return np.rint(k * (weights @ Y[among][near]) / weights.sum()).astype(int)

    n, L = Y.shape
    own = np.array([votes(X[i], np.delete(np.arange(n), i)) for i in range(n)])
    found = np.empty((len(Q), L))
    for i, row in enumerate(Q):
        asked = votes(row, np.arange(n))
        for label in range(L):
            has = Y[:, label] == 1
            prior = (s + has.sum()) / (2 * s + n)
            same = own[:, label] == asked[label]
            with_it = (s + (same & has).sum()) / (s * (k + 1) + has.sum())
            without = (s + (same & ~has).sum()) / (s * (k + 1) + (~has).sum())
            found[i, label] = prior * with_it / (prior * with_it + (1 - prior) * without)
    return found


def test_it_is_its_definition(sample):
    X, queries = 50 * sample.X, 50 * sample.X_test  # far enough apart for weights to differ
    model = WeightedMLkNN(4, 0.5).fit(X, sample.Y)
    expected = by_definition(X, sample.Y, queries, 4, 0.5)
    np.testing.assert_allclose(model.predict_proba(queries), expected, rtol=0, atol=1e-12)
    other = MLkNN(4, 0.5).fit(X, sample.Y).predict_proba(queries)
    assert not np.allclose(other, expected)


def refitted(kind, params, X, Y, split, metrics):
    model = kind(**params).fit(X[split.train], Y[split.train])
    scores = model.scores(X[split.test])
    labels = model.decide(scores)
    truth, counts = Y[split.test], Y[split.train]
    found = evaluate(truth, labels, scores, metrics=metrics, train_label_counts=counts)
    return list(found.values())


def assert_equals_refitting(found, kind, X, Y, splits):
    for row, params in enumerate(found.table.params):
        for number, split in enumerate(splits):
            wanted = refitted(kind, params, X, Y, split, found.table.metrics)
            assert np.array_equal(found.table.values[row, number], wanted, equal_nan=True)


def test_tuning_sweeps_over_k_and_equals_refitting(sample, monkeypatch):
    X, Y = sample.X, sample.Y
    splits = read_splits(3, X, Y)
    cv = [(split.train, split.test) for split in splits]
    grid = {"n_neighbors": [1, 3, 20, 60], "threshold": [None, "cardinality"]}
    monkeypatch.setattr(weighted_mlknn.WeightedMLkNNScoring, "fit", None)  # the sweep is used
    monkeypatch.setattr("vicinal.selection.folds.Problem.try_values", lambda *_: None)
    found = tune("weighted-mlknn", X, Y, cv=cv, grid=grid, refit=False, progress=False)
    monkeypatch.undo()
    assert len(found.table) == 8
    assert_equals_refitting(found, WeightedMLkNN, X, Y, splits)


def test_a_sweep_is_not_inherited_without_the_scoring_it_belongs_to(sample):
    class Halved(MLkNN):
        def _fit_scoring(self, training):
            return weighted_mlknn.WeightedMLkNNScoring.fit(training, self.n_neighbors, 0.5)

    weighted_mlknn.Halved = Halved
    Halved.__module__, Halved.__qualname__ = "weighted_mlknn", "Halved"
    try:
        splits = read_splits(2, sample.X, sample.Y)
        cv = [(split.train, split.test) for split in splits]
        name = "weighted_mlknn:Halved"
        found = tune(name, sample.X, sample.Y, cv=cv, grid={"n_neighbors": [2, 5]}, refit=False)
    finally:
        del weighted_mlknn.Halved
    assert_equals_refitting(found, Halved, sample.X, sample.Y, splits)


def test_train_tune_compare_and_bench(run, data_file, tmp_path):
    model = tmp_path / "model"
    code, out, err = run("train", data_file, "-o", model, "--method", OWN, "--set", "smoothing=0.5")
    assert code == 0, err
    assert "WeightedMLkNN(smoothing=0.5)" in out
    assert type(vicinal.load(model)[-1]) is WeightedMLkNN

    code, out, err = run("tune", data_file, "--methods", OWN, "--folds", "3", "--json")
    assert code == 0, err
    found = json.loads(out)
    assert found["settings"] == 6, "the grid that the class declares"
    assert list(found["methods"]) == [OWN]

    words = ("--methods", f"mlknn,{OWN},{OUTSIDE}", "--set", f"{OWN}.n_neighbors=3")
    code, out, err = run("compare", data_file, *words, "--folds", "3", "--json")
    assert code == 0, err
    assert set(json.loads(out)[0]["mean_ranks"]) == {"mlknn", OWN, OUTSIDE}

    words = ("--methods", f"{OWN},{OUTSIDE}", "--folds", "2", "--tune", "--json")
    code, out, err = run("compare", data_file, *words)
    assert code == 0, err
    assert set(json.loads(out)[0]["mean_ranks"]) == {f"{OWN} tuned", f"{OUTSIDE} tuned"}

    code, out, err = run("bench", data_file, "--methods", f"{OWN},{OUTSIDE}", "--json")
    assert code == 0, err
    assert [each["method"] for each in json.loads(out)["methods"]] == [OWN, OUTSIDE]


TWICE = """
import sys
from vicinal.cli import main
try:
    main()
except SystemExit as end:
    print("code", end.code)
sys.argv += ["--import", "weighted_mlknn"]
main()
"""


def test_a_saved_model_names_the_module_to_import_and_loads_no_code(data_file, sample, tmp_path):
    model = WeightedMLkNN(3).fit(sample.X, sample.Y)
    model.save(tmp_path / "model")
    assert type(vicinal.load(tmp_path / "model")) is WeightedMLkNN
    words = ["predict", str(tmp_path / "model"), str(data_file), "--json"]
    done = subprocess.run(
        [sys.executable, "-c", TWICE, *words],
        cwd=SUPPORT,
        capture_output=True,
        text=True,
        check=False,
    )
    refused, answered = done.stdout.split("code 2\n")
    assert refused == ""
    assert "import 'weighted_mlknn' before loading" in done.stderr
    assert "--import weighted_mlknn" in done.stderr
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line)["labels"] for line in answered.splitlines()]
    assert rows == model.predict_names(sample.X)


def test_what_cannot_be_saved_is_refused_before_the_work(run, data_file, tmp_path):
    code, _, err = run("train", data_file, "-o", tmp_path / "model", "--method", OUTSIDE)
    assert code == 2
    assert "saved without pickle" in err
    assert "compare and bench" in err
    words = ("--methods", OUTSIDE, "--save", tmp_path / "model")
    code, _, err = run("tune", tmp_path / "nowhere.npz", *words)
    assert code == 2
    assert "saved without pickle" in err


def test_any_classifier_is_tuned_by_refitting(run, sample, data_file):
    splits = read_splits(3, sample.X, sample.Y)
    cv = [(split.train, split.test) for split in splits]
    grid = {"n_neighbors": [1, 4], "weights": ["uniform", "distance"]}
    metrics = ["micro-f1", "ranking-loss"]
    found = tune(OUTSIDE, sample.X, sample.Y, "micro-f1", cv, grid, metrics=metrics)
    for row, params in enumerate(found.table.params):
        for number, split in enumerate(splits):
            model = KNeighborsClassifier(**params).fit(sample.X[split.train], sample.Y[split.train])
            scores = np.column_stack([p[:, 1] for p in model.predict_proba(sample.X[split.test])])
            predicted = model.predict(sample.X[split.test])
            wanted = evaluate(sample.Y[split.test], predicted, scores, metrics=metrics)
            assert found.table.values[row, number].tolist() == list(wanted.values())
    assert type(found.estimator) is KNeighborsClassifier
    outside = nested(OUTSIDE, sample.X, sample.Y, "micro-f1", 2, 2, {"n_neighbors": [1, 4]})
    assert outside.values.shape[0] == 2
    words = ("--methods", OUTSIDE, "--grid", f"{OUTSIDE}.n_neighbors=1,4", "--folds", "2", "--json")
    code, out, err = run("tune", data_file, *words)
    assert code == 0, err
    assert json.loads(out)["settings"] == 2


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("no_such_module:Class", "No module named 'no_such_module'"),
        ("weighted_mlknn:Nothing", "a scikit-learn classifier class in weighted_mlknn"),
        ("weighted_mlknn:rounded", "a scikit-learn classifier class in weighted_mlknn"),
        ("sklearn.multioutput:MultiOutputClassifier", "missing 1 required positional argument"),
        ("nothing", "a method (blend"),
    ],
)
@pytest.mark.parametrize("command", ["tune", "compare", "bench"])
def test_what_is_no_method_is_refused_in_one_line(run, data_file, command, method, message):
    code, _, err = run(command, data_file, "--methods", method)
    assert code == 2
    assert message in " ".join(err.split())


def test_a_module_that_cannot_be_imported_is_named(run, data_file, tmp_path):
    code, _, err = run("train", data_file, "-o", tmp_path / "m", "--import", "no_such_module")
    assert code == 2
    assert "--import: expected a module that can be imported" in err


def test_a_name_belongs_to_one_class():
    with pytest.raises(
        ValueError, match=r"a name other than that of .*:MLkNN, got 'mlknn' for .*Other"
    ):
        type("Other", (MLkNN,), {"method": Method("mlknn")})
    assert find_method("mlknn") is MLkNN


def test_a_rule_is_declared_or_inherited(sample):
    assert WeightedMLkNN().decision_rule() == MLkNN().decision_rule()

    class Ruleless(NeighborEstimator):
        def __init__(self, n_neighbors=3):
            self.n_neighbors, self.metric, self.n_jobs = n_neighbors, "euclidean", None
            self.threshold = self.never_empty = None

        def _fit_scoring(self, training):
            return BRkNNScoring.fit(training, self.n_neighbors)

    with pytest.raises(ValueError, match=r"method: expected Method\(rule=…\) in .*Ruleless"):
        Ruleless().fit(sample.X, sample.Y)
