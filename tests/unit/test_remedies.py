"""Errors that a new user meets first: one line that names the argument, and a remedy."""

import copy

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from vicinal import Blend, MLkNN, datasets, explain, load, make_pipeline
from vicinal._core.files import replacing
from vicinal.cli.program import _as_typed, _file_problem, _no_file
from vicinal.cli.settings import make_estimator
from vicinal.comparison import friedman_nemenyi
from vicinal.errors import DataFormatError, InvalidArgumentError, ModelFormatError, similar_file
from vicinal.methods import NeighborEstimator
from vicinal.methods.explaining import label_ids
from vicinal.methods.registry import find_method
from vicinal.metrics import evaluate, metric_info
from vicinal.preprocess import TextVectorizer, make_steps
from vicinal.selection import tune

X = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0], [2.0, 1.0]])
Y = [["a"], ["b"], ["a", "b"], ["b"]]


@pytest.mark.parametrize(
    "texts",
    [["one", "two"], ("one", "two"), np.array(["one", "two"]), np.array([["one"], ["two"]])],
)
def test_texts_point_to_the_text_pipeline(texts):
    with pytest.raises(InvalidArgumentError) as error:
        Blend().fit(texts, Y[:2])
    assert str(error.value) == (
        "X: expected numbers, got texts (put a TextVectorizer in front: "
        'make_pipeline(TextVectorizer(weighting="counts"), Blend()))'
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity")])
def test_a_missing_value_is_located(kind, value, word):
    holes = X.copy()
    holes[2, 1] = value
    with pytest.raises(InvalidArgumentError, match=rf"contains {word} \(row 2, column 1\)"):
        MLkNN(1).fit(kind(holes), Y)


def test_a_method_that_cannot_learn_says_what_can():
    class Frozen(NeighborEstimator):
        def _fit_scoring(self, training):
            raise NotImplementedError

    model = Frozen()
    assert not hasattr(model, "partial_fit")
    with pytest.raises(AttributeError, match="Frozen does not learn incrementally: call fit again"):
        model.partial_fit(X, Y)
    with pytest.raises(AttributeError, match="'Frozen' object has no attribute 'unheard'"):
        _ = model.unheard


def test_one_unknown_row_is_one_number():
    with pytest.raises(InvalidArgumentError, match=r"row ids from 0 to 3, got 99$"):
        MLkNN(1).fit(X, Y).forget([99])


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda: TextVectorizer().fit("one text"), "put a single text into a list: [text]"),
        (lambda: TextVectorizer().fit(pd.DataFrame({"a": ["b"]})), "frame['text']"),
        (lambda: MLkNN(1).fit(X, ["a;b"] * 4), "[y.split(';') for y in Y]"),
        (
            lambda: TextVectorizer().fit(["one", None]),
            "NoneType in row 1 (use '' for a missing text)",
        ),
        (lambda: TextVectorizer(language="english").fit(["a"]), "such as 'en' or 'fi', got"),
        (lambda: evaluate(Y, pd.Series(["a;b"] * 4)), "[cell.split(';') for cell in column]"),
        (lambda: MLkNN(1).fit(X, [[], [], [], []]), "no row has a label: is it the right column?"),
        (lambda: find_method("bland"), "did you mean 'blend'"),
        (lambda: make_steps("tf-idf", is_sparse=True), "or none, or auto"),
        (lambda: make_steps("tf-idf", is_sparse=True), "did you mean 'tfidf'?"),
        (lambda: metric_info("f1"), "'micro-f1' or 'macro-f1'?"),
        (lambda: label_ids(["deliverry"], ["delivery", "refund"]), "did you mean 'delivery'?"),
        (lambda: label_ids(["sports"], ["delivery", "refund"]), "(such as 'delivery', 'refund')"),
        (lambda: make_estimator("mlknn", {"k": 3}), "did you mean 'n_neighbors'"),
        (lambda: make_estimator("blend", {"k": 3}), "n_neighbors is a parameter of brknn,"),
        (lambda: make_estimator("blend", {"mixing": 1}), "of lcif: choose one with --method"),
        (lambda: friedman_nemenyi({"a": {"x": 1}, "b": {"y": 1}}), "others for 'b': 'x', 'y'"),
        (lambda: MLkNN(1).fit(X, pd.Series(["a", "b", None, "c"])), "a class per row: [[y] for"),
        (lambda: MLkNN(1).fit(X, [["a"], ["b"], None, ["a"]]), "got no value in row 2 ([y if"),
        (lambda: MLkNN(1).fit(X, [["a"], ["b"], np.nan, ["a"]]), "got no value in row 2 ([y if"),
        (lambda: MLkNN(1).fit(X, [["a"], ["b"], pd.NA, ["a"]]), "got no value in row 2 ([y if"),
        (lambda: MLkNN(1).fit(X, [["a"], ["b"], "ab", ["a"]]), "got str in row 2"),
        (lambda: MLkNN(1).fit(X, [["a"], ["b"], [""], ["a"]]), "a row without labels is []"),
        (lambda: MLkNN(1).fit(X, Y).predict(X[0]), "X.reshape(1, -1) is one row"),
        (lambda: Blend(parts=["vote"]).fit(X, Y), "did you mean 'votes'?"),
        (lambda: Blend(parts=3).fit(X, Y), "'auto' or some of 'votes'"),
        (lambda: evaluate(Y, Y, metrics=["ndcg@5"]), "got None (model.scores(X))"),
        (lambda: explain(MLkNN(1).fit(X, Y), X, row_texts=["a"] * 4), "reads no texts, got texts"),
        (lambda: MLkNN(1, metric="euclidian").fit(X, Y), "did you mean 'euclidean'?"),
        (lambda: MLkNN(1, threshold="cardinalty").fit(X, Y), "did you mean 'cardinality'?"),
        (lambda: MLkNN(1, algorithm="invert").fit(X, Y), "did you mean 'inverted'?"),
        (lambda: TextVectorizer(weighting="tf-idf").fit(["a"]), "did you mean 'tfidf'?"),
        (lambda: evaluate(Y, Y, conventions="sk-learn"), "did you mean 'sklearn'?"),
        (lambda: MLkNN(1, recalibrate_at="often").fit(X, Y), "a share of the rows, such as 0.1"),
        (lambda: tune("mlknn", X, Y, grid={"k": [1]}), "did you mean 'n_neighbors'"),
        (lambda: friedman_nemenyi({"a": [1, 2], "b": [1]}), "lists of different length"),
        (lambda: MLkNN(1).fit(X, Y).forget([1, 99, 2]), "row ids from 0 to 3, got 99"),
    ],
)
def test_a_message_names_the_remedy(call, remedy):
    with pytest.raises(InvalidArgumentError) as error:
        call()
    assert remedy in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_cannot_be_written_is_named_as_it_was_given(tmp_path):
    path = tmp_path / "missing" / "x.model"
    missing = pytest.raises(FileNotFoundError, match="cannot be written")
    with missing as error, replacing(path) as temporary:
        temporary.write_text("")
    assert error.value.filename == str(path)


def test_the_program_names_files_and_options_as_they_were_typed(tmp_path, monkeypatch):
    unwritable = FileNotFoundError(2, "cannot be written: No such file or directory", "x.model")
    assert _file_problem(unwritable).startswith("x.model: cannot be written")
    assert _file_problem(IsADirectoryError(21, "Is a directory", "x")) == "x: Is a directory"
    assert _file_problem(FileNotFoundError(2, "No such file", "x")) == "no such file: x"
    monkeypatch.setattr("sys.argv", ["vicinal", "tune", "data", "--metric=f1", "--labels", "tag"])
    assert [_as_typed(name) for name in ("metrics", "labels", "path")] == [
        "--metric",
        "--labels",
        "path",
    ]


TABLE = "recipe,kinds\nflour and yeast,baking;bread\nhot curry,spicy\n"


@pytest.mark.parametrize(
    ("content", "options", "remedy"),
    [
        (TABLE, {"labels": "kind"}, "'kinds' (did you mean 'kinds'?)"),
        (TABLE, {"labels": "kinds", "text": "recepe"}, "'kinds' (did you mean 'recipe'?)"),
        (TABLE + "salt,pepper,x\n", {"labels": "kinds"}, "cells that contain the separator need"),
        ("flour and yeast\n", {}, "the first line names the columns; --columns names them"),
    ],
)
def test_a_table_that_cannot_be_read_has_a_remedy(tmp_path, content, options, remedy):
    path = tmp_path / "recipes.csv"
    path.write_text(content)
    with pytest.raises(DataFormatError) as error:
        datasets.load(path, **options)
    assert remedy in str(error.value)
    assert str(copy.copy(error.value)) == str(error.value)


def test_a_part_of_a_table_cannot_be_chosen(run, tmp_path):
    (tmp_path / "recipes.csv").write_text(TABLE)
    args = ("train", tmp_path / "recipes.csv", "--labels", "kinds", "-o", tmp_path / "model")
    code, _, errors = run(*args, "--rows", "test")
    assert code == 2
    assert "--rows: expected all, because there is no train/test split, got test" in errors
    assert not (tmp_path / "model").exists()


def test_a_table_is_no_model(tmp_path):
    path = tmp_path / "tickets.csv"
    path.write_text("id,message,tags\n1,a,b\n")
    with pytest.raises(ModelFormatError, match="vicinal train and save"):
        load(path)


def test_a_text_instead_of_a_file_is_recognised():
    assert _no_file("My parcel is late").endswith(
        "(texts come from a file, or with - from standard input)"
    )
    assert _no_file("new.csv") == "no such file: new.csv"


def test_a_file_with_a_similar_name_is_offered(tmp_path):
    (tmp_path / "tickets.csv").write_text("")
    expected = f"no such file: {tmp_path}/ticket.csv (did you mean 'tickets.csv'?)"
    assert _no_file(tmp_path / "ticket.csv") == expected
    with pytest.raises(FileNotFoundError, match=r"data set of that name \(did you mean 'tickets"):
        datasets.load(str(tmp_path / "ticket.csv"))
    assert similar_file(tmp_path / "missing" / "ticket.csv") == ""


def test_a_lesson_without_known_words_is_reported(caplog):
    words = TextVectorizer(weighting="counts")
    model = make_pipeline(words, Blend()).fit(["red car", "blue sea"] * 8, [["a"], ["b"]] * 8)
    with caplog.at_level("WARNING", "vicinal"):
        model.partial_fit(["red sea"], [["a"]])
        assert caplog.messages == []
        model.partial_fit(["green hill", "blue car"], [["c"], ["a"]])
    assert caplog.messages == [
        "1 of 2 rows have no word or feature that the model knows, so their labels will not be "
        "predicted for them; fit again to learn new words"
    ]
