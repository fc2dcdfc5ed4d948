"""Files to predict: without labels, with columns in another order, of another look."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from vicinal import BRkNN, make_pipeline
from vicinal.cli.predict import predictions
from vicinal.datasets import Dataset, write_file
from vicinal.preprocess import MinMax

pytestmark = pytest.mark.native


@pytest.fixture
def model(run, data_file, tmp_path):
    path = tmp_path / "model"
    assert run("train", data_file, "-o", path, "--method", "brknn")[0] == 0
    return path


@pytest.fixture
def answers(run, model):
    """Predict the rows of a file."""

    def predict(path):
        code, out, err = run("predict", model, path, "--json")
        assert (code, err) == (0, "")
        return [json.loads(line) for line in out.splitlines()]

    return predict


def test_predicted_labels_that_are_not_among_the_best_come_by_score():
    Y = np.array([[1, 0, 1, 1]] * 2 + [[0, 0, 1, 1]] + [[0, 1, 1, 1]] * 3)
    model = BRkNN(6, threshold=0.0).fit(np.arange(6.0)[:, None], Y)
    scores = model.scores([[2.5]])
    (row,) = predictions(model, scores, None, top=1)
    assert list(row.scores) == ["2", "3", "1", "0"]
    assert list(row.scores.values()) == [1.0, 1.0, 0.5, 0.333333]


def write_arff(path, names, X, relation="new songs"):
    header = [f"@relation '{relation}'", *(f"@attribute '{name}' numeric" for name in names)]
    rows = [",".join(map(repr, row)) for row in X.tolist()]
    path.write_text("\n".join([*header, "@data", *rows]) + "\n")
    return path


def test_rows_to_predict_need_no_labels(answers, dataset, data_file, tmp_path):
    wanted = answers(data_file)
    plain = write_arff(tmp_path / "new.arff", dataset.feature_names, dataset.X)
    assert answers(plain) == wanted
    np.savez(tmp_path / "new.npz", X=dataset.X)
    assert answers(tmp_path / "new.npz") == wanted


def test_rows_to_learn_from_need_labels(run, dataset, tmp_path):
    plain = write_arff(tmp_path / "new.arff", dataset.feature_names, dataset.X)
    code, _, err = run("train", plain, "-o", tmp_path / "other")
    assert code == 2
    assert "labels" in err


def test_columns_are_found_by_name(answers, dataset, data_file, tmp_path):
    wanted = answers(data_file)
    turned = write_arff(tmp_path / "turned.arff", dataset.feature_names[::-1], dataset.X[:, ::-1])
    assert answers(turned) == wanted
    names = ("two", *dataset.feature_names, "one")
    labelled = np.column_stack([np.zeros(60), dataset.X, np.ones(60)])
    assert answers(write_arff(tmp_path / "labelled.arff", names, labelled)) == wanted


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (("a", "b", "c", "x"), "4 features of the model, got no 'd'"),
        (("a", "b", "c", "d", "x"), "4 features of the model, got 'x' too"),
    ],
)
def test_other_columns_are_refused(run, model, tmp_path, names, says):
    strange = write_arff(tmp_path / "strange.arff", names, np.ones((2, len(names))))
    code, _, err = run("predict", model, strange)
    assert code == 2
    assert says in err


def test_few_rows_may_look_sparse(answers, dataset, data_file, tmp_path):
    few = np.zeros((3, 4))
    few[0, 1] = 5.0
    names = dataset.feature_names
    looks_sparse = Dataset(sparse.csr_array(few), np.ones((3, 1)), names, ("one",))
    write_file(looks_sparse, tmp_path / "few.npz")
    full = Dataset(few, np.ones((3, 1)), names, ("one",))
    write_file(full, tmp_path / "full.npz")
    assert answers(tmp_path / "few.npz") == answers(tmp_path / "full.npz")


def test_a_tuned_model_knows_its_columns_too(run, dataset, data_file, tmp_path):
    path = tmp_path / "tuned"
    options = ["--methods", "brknn", "--grid", "n_neighbors=3", "--preprocess", "none"]
    assert run("tune", data_file, *options, "--folds", 2, "--save", path)[0] == 0
    turned = write_arff(tmp_path / "turned.arff", dataset.feature_names[::-1], dataset.X[:, ::-1])
    assert run("predict", path, turned, "--json")[1] == run("predict", path, data_file, "--json")[1]


def test_sparse_rows_stay_sparse_where_zeros_stay_zeros(run, tmp_path):
    X = sparse.random_array((40, 30), density=0.1, format="csr", rng=np.random.default_rng(0))
    names = tuple(f"word {at}" for at in range(30))
    path = tmp_path / "rows.npz"
    write_file(Dataset(X, np.eye(40)[:, :3], names, ("one", "two", "three")), path)
    words = ("--method", "brknn", "--set", "n_neighbors=1", "--preprocess", "unit")
    assert run("train", path, "-o", tmp_path / "m", *words)[0] == 0
    code, out, err = run("predict", tmp_path / "m", path, "--json")
    assert code == 0, err
    assert [json.loads(line)["labels"] for line in out.splitlines()[:4]] == [
        ["one"],
        ["two"],
        ["three"],
        [],
    ]


def test_texts_one_per_line_have_no_labels_to_compare_with(run, tmp_path):
    (tmp_path / "songs.csv").write_text("text,tags\nslow sad piano,sad\nfast drums,loud\n")
    words = ("--method", "brknn", "--set", "n_neighbors=1")
    assert run("train", tmp_path / "songs.csv", "-o", tmp_path / "m", *words)[0] == 0
    (tmp_path / "new.txt").write_text("sad drums\n")
    code, _, err = run("evaluate", tmp_path / "m", tmp_path / "new.txt")
    assert code == 2
    assert "DATA: expected rows with labels, got new.txt without labels" in err


@pytest.mark.parametrize("steps", [(), (MinMax(),), ("passthrough", StandardScaler())], ids=str)
def test_models_fitted_on_a_data_frame_find_its_columns_by_name(run, steps, dataset, tmp_path):
    """Without scikit-learn's warning that names are missing, which would be an error here."""
    frame = pd.DataFrame(dataset.X, columns=dataset.feature_names)
    model = make_pipeline(*steps, BRkNN(3)) if steps else BRkNN(3)
    model.fit(frame, dataset.Y, label_names=dataset.label_names).save(tmp_path / "model")
    frame["kind"], frame["one"] = "song", 1
    moved = frame[["d", "kind", "b", "a", "one", "c"]]
    expected = model.predict_names(frame[list("abcd")])
    moved.to_csv(tmp_path / "moved.csv", index=False)
    turned = write_arff(tmp_path / "turned.arff", "dbac", moved[list("dbac")].to_numpy())
    for file in (tmp_path / "moved.csv", turned):
        code, out, err = run("predict", tmp_path / "model", file, "--json")
        assert (code, err) == (0, "")
        assert [json.loads(line)["labels"] for line in out.splitlines()] == expected
    code, out, err = run("explain", tmp_path / "model", turned, "--limit", 1, "--json")
    assert code == 0
    assert "warning" not in err
    (first,) = map(json.loads, out.splitlines())
    shared = {each["name"] for near in first["neighbors"] for each in near["shared"]}
    assert shared
    assert shared <= {"a", "b", "c", "d"}
    frame.drop(columns="d").to_csv(tmp_path / "less.csv", index=False)
    code, _, err = run("predict", tmp_path / "model", tmp_path / "less.csv")
    assert code == 2
    assert "'d'" in err
