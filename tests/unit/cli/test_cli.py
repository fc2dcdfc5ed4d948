"""The program as a person uses it, on small files made here."""

import dataclasses
import json
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.dummy import DummyClassifier

import vicinal
from vicinal import LCIF, Blend, BRkNN, datasets
from vicinal._core import progress
from vicinal.cli.evaluate_model import training_counts
from vicinal.cli.program import printed_notes
from vicinal.cli.train import searching
from vicinal.datasets import Dataset, read_file, write_file
from vicinal.errors import InvalidArgumentError
from vicinal.preprocess import MinMax

pytestmark = pytest.mark.native

MLKNN = ("--method", "mlknn")
NEAREST = ("--method", "brknn", "--set", "n_neighbors=1")


def test_train_evaluate_predict(run, dataset, data_file, tmp_path):
    model = tmp_path / "model"
    code, out, _ = run("train", data_file, "-o", model, *MLKNN, "--set", "n_neighbors=3", "--json")
    assert code == 0
    facts = json.loads(out)
    assert (facts["rows"], facts["features"], facts["labels"]) == (60, 4, 3)

    scaled = MinMax().fit_transform(dataset.X)
    expected = vicinal.MLkNN(3).fit(scaled, dataset.Y)

    code, out, _ = run("evaluate", model, data_file, "--json")
    assert code == 0
    answers = expected.predict(scaled), expected.scores(scaled)
    wanted = vicinal.metrics.evaluate(dataset.Y, *answers, train_label_counts=dataset.Y)
    assert "psp@5" in wanted
    assert json.loads(out) == pytest.approx(wanted, abs=0, nan_ok=True)

    code, out, _ = run("predict", model, data_file, "--json", "--top", 2)
    assert code == 0
    answers = [json.loads(line) for line in out.splitlines()]
    labels = expected.predict(scaled).toarray()
    for row, answer in enumerate(answers):
        assert answer["row"] == row
        assert answer["labels"] == [
            n for n, y in zip(dataset.label_names, labels[row], strict=True) if y
        ]
        best, predicted = list(answer["scores"])[:2], set(answer["labels"])
        assert set(answer["scores"]) == {*best, *predicted}


def test_bars_show_how_far_search_and_scoring_are(run, data_file, tmp_path, bars, monkeypatch):
    monkeypatch.setattr(progress, "FEWEST_ROWS", 25)
    model = tmp_path / "model"
    assert run("train", data_file, "-o", model, "--method", "lcif")[0] == 0
    for command in ("evaluate", "predict"):
        assert run(command, model, data_file)[0] == 0
    rows = [25, 25, 10]
    assert [(bar.description, bar.total, bar.moves) for bar in bars] == [
        ("Learning from 60 rows", None, []),
        ("Searching", 60, rows),
        ("Scoring training rows", 60, rows),
        ("Predicting rows", None, [60]),
        ("Scoring rows", 60, rows),
        ("Predicting rows", None, [60]),
        ("Scoring rows", 60, rows),
    ]


def test_predict_writes_a_file_and_lines_for_people(run, data_file, tmp_path):
    model, answers = tmp_path / "model", tmp_path / "answers.jsonl"
    run("train", data_file, "-o", model, "--method", "brknn", "--set", "variant=a")
    code, _, _ = run("predict", model, data_file, "-o", answers)
    assert code == 0
    written = [json.loads(line) for line in answers.read_text().splitlines()]
    assert len(written) == 60
    assert all(answer["labels"] for answer in written)
    code, out, _ = run("predict", model, data_file)
    assert code == 0
    assert len(out.splitlines()) == 60


def test_evaluate_counts_labels_the_model_does_not_know_as_missed(run, dataset, tmp_path):
    known = Dataset(
        X=dataset.X,
        Y=dataset.Y[:, [2, 0]],
        feature_names=dataset.feature_names,
        label_names=("three", "one"),
    )
    for name, data in (("known", known), ("all", dataset)):
        write_file(data, tmp_path / f"{name}.arff")
    one = ("--method", "brknn", "--set", "n_neighbors=1")
    run("train", tmp_path / "known.arff", "-o", tmp_path / "model", *one)
    code, out, err = run("evaluate", tmp_path / "model", tmp_path / "all.arff", "--json")
    assert code == 0, err
    assert "1 labels of the data are unknown" in err
    # Each row is its own nearest neighbour here, so of the known labels none is missed.
    predicted = dataset.Y.toarray().copy()
    predicted[:, 1] = 0
    expected = vicinal.metrics.evaluate(dataset.Y, predicted)
    found = json.loads(out)
    assert {name: found[name] for name in expected} == pytest.approx(expected)


def test_describe_and_convert(run, dataset, data_file, tmp_path):
    code, out, _ = run("data", "describe", data_file, "--json")
    assert code == 0
    assert json.loads(out)["rows"] == 60
    target = tmp_path / "signs.xc.txt.gz"
    code, _, _ = run("data", "convert", data_file, target)
    assert code == 0
    again = read_file(target)
    assert np.array_equal(np.asarray(sparse.csr_array(again.X).toarray()), dataset.X)
    assert again.label_names == dataset.label_names


def test_list_names_every_data_set(run):
    code, out, _ = run("data", "list", "--json")
    assert code == 0
    entries = {entry["name"]: entry for entry in json.loads(out)}
    assert entries["debtags"]["available locally"] is True
    assert entries["emotions"]["labels"] == 6


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("train", "no-such-data", "-o", "model"), "no-such-data"),
        (("train", "debtags", "-o", "model", "--method", "mlnn"), "--method"),
        (("train", "debtags", "-o", "model", *MLKNN, "--set", "n_neighbours=3"), "n_neighbors"),
        (("train", "debtags", "-o", "model", *MLKNN, "--set", "n_neighbors"), "name=value"),
        (("train", "debtags", "-o", "model", *MLKNN, "--set", "n_neighbors=0"), "n_neighbors"),
        (
            ("train", "debtags", "-o", "model", *MLKNN, "--set", "n_neighbors={[]: 1}"),
            "n_neighbors",
        ),
        (("train", "debtags", "-o", "model", "--preprocess", "magic"), "--preprocess"),
        (("train", "debtags", "-o", "taken"), "path: expected a new path or an older model"),
        (("tune", "debtags", "--save", "taken"), "path: expected a new path or an older model"),
        (("tune", "debtags", "--table", "none/all.csv"), "--table: expected a file in an"),
        (("compare", "debtags", "--report", "none/page.html"), "--report: expected a file in an"),
        (
            ("predict", "taken", "debtags", "-o", "none/out.jsonl"),
            "--output: expected a file in an",
        ),
        (("predict", "taken", "debtags", "-o", "taken"), "--output: expected a file in an"),
        (("predict", "taken", "debtags", "--top", "0"), "--top"),
        (("demo", "--neighbors", "0"), "--neighbors"),
        (("compare", "debtags", "--seeds", "0"), "--seeds"),
        (("compare", "debtags", "--alpha", "2"), "--alpha"),
        (("bench", "--no-such-option"), "--no-such-option"),
        (("train",), "DATA"),
        (("no-such-command",), "no-such-command"),
        (("data", "describe", "no-such-file.arff"), "no-such-file.arff"),
        (("data", "convert", "debtags", "x.npz", "--rows", "some"), "--rows: expected one of"),
        (("data", "convert", "debtags", "none/x.npz"), "TARGET: expected a file in an"),
        (("tune", "debtags", "--metric", "accuracy-of-all"), "hamming-loss, subset-accuracy"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(run, monkeypatch, tmp_path, words, says):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").mkdir()
    code, out, err = run(*words)
    assert code == 2
    assert says in err
    assert len(err.strip().splitlines()) == 1
    assert "Traceback" not in err
    assert not out
    assert [file.name for file in tmp_path.iterdir()] == ["taken"]


def test_no_command_shows_the_help(run):
    for words in ((), ("data",)):
        code, out, err = run(*words)
        assert code == 2
        assert "Commands" in out + err
        assert "error" not in out + err


@pytest.mark.parametrize(("rows", "n_rows"), [("all", 30300), ("train", 24231), ("test", 6069)])
def test_convert_writes_the_rows_asked_for(run, tmp_path, rows, n_rows):
    code, out, _ = run("data", "convert", "debtags", tmp_path / "x.npz", "--rows", rows)
    assert code == 0
    assert f"{n_rows:,} rows written" in out
    assert read_file(tmp_path / "x.npz").n_rows == n_rows


def test_a_folder_that_is_no_model_is_refused(run, tmp_path):
    code, _, err = run("predict", tmp_path, "debtags")
    assert code == 2
    assert "expected a model file, got a folder" in err


@pytest.mark.parametrize("rows", [250, pytest.param(30300, marks=pytest.mark.slow)])
def test_demo_shows_figures_and_three_packages(run, monkeypatch, rows):
    data = datasets.load("debtags")
    assert data.n_rows == 30_300
    if rows < data.n_rows:
        train, test = np.split(np.arange(rows), [rows * 4 // 5])
        few = dataclasses.replace(data.subset(np.arange(rows)), train=train, test=test)
        monkeypatch.setattr(datasets, "load", {"debtags": few}.__getitem__)
    code, out, _ = run("demo", "--neighbors", 3)
    assert code == 0
    for word in (f"{rows:,}", "MLkNN", "Blend", "hamming-loss"):
        assert word in out
    assert out.count("true tags") == 3


@pytest.fixture
def songs(tmp_path):
    path = tmp_path / "songs.jsonl"
    rows = [
        ("slow sad piano", ["sad", "calm"]),
        ("sad slow strings", ["sad"]),
        ("fast loud drums", ["angry"]),
        ("loud fast guitar", ["angry", "happy"]),
    ] * 3
    lines = [{"id": f"s{i}", "text": t, "labels": names} for i, (t, names) in enumerate(rows)]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def test_a_model_of_texts_reads_texts(run, songs, tmp_path):
    model = tmp_path / "model"
    cosine = ("--method", "brknn", "--set", "metric=cosine", "--set", "n_neighbors=3")
    code, out, err = run("train", songs, "-o", model, *cosine, "--json")
    assert code == 0, err
    assert json.loads(out)["labels"] == 4
    code, out, err = run("evaluate", model, songs, "--json")
    assert code == 0, err
    assert json.loads(out)["hamming-loss"] < 0.2
    asked = tmp_path / "asked.csv"
    asked.write_text("name,text\nfirst,a sad and slow song\nsecond,loud drums\n")
    code, out, err = run("predict", model, asked, "--row-names", "name", "--json")
    assert code == 0, err
    first, second = map(json.loads, out.splitlines())
    # Of the rows that share both words, the first three: two of them are calm.
    assert (first["row"], first["labels"]) == ("first", ["calm", "sad"])
    assert (second["row"], second["labels"]) == ("second", ["angry"])
    lines = tmp_path / "lines.txt"
    lines.write_text("slow sad song\n")
    code, out, err = run("predict", model, lines)
    assert code == 0, err
    assert out.startswith("0\tcalm, sad\t[sad 1.00, calm 0.67")


def test_a_table_without_the_column_is_refused(run, songs, tmp_path):
    code, _, err = run("train", songs, "-o", tmp_path / "model", "--text", "lyrics")
    assert code == 2
    assert "lyrics" in err


def test_lists_of_data_sets_are_tables_for_people(run):
    code, out, _ = run("data", "list")
    assert code == 0
    assert "Data sets" in out
    assert "debtags" in out


def test_too_little_memory_is_one_line(run, monkeypatch):
    def fails(*_, **__):
        raise MemoryError("Unable to allocate 9 TiB")

    monkeypatch.setattr(datasets, "load", fails)
    code, _, err = run("demo")
    assert code == 2
    assert err.strip() == "error: not enough memory: Unable to allocate 9 TiB"


def test_warnings_are_one_line_each(capsys, recwarn):
    with warnings.catch_warnings(), printed_notes():
        warnings.simplefilter("always")
        warnings.warn("a fold\nwithout labels", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: a fold without labels\n"


@pytest.mark.parametrize("command", ["predict", "evaluate"])
def test_a_file_without_rows(run, data_file, tmp_path, command):
    """Nothing to predict is no error; nothing to measure is one."""
    assert run("train", data_file, "-o", tmp_path / "m", *MLKNN)[0] == 0
    header = data_file.read_text().partition("@data")[0]
    (tmp_path / "none.arff").write_text(header + "@data\n")
    (tmp_path / "none.xml").write_text(data_file.with_suffix(".xml").read_text())
    code, out, err = run(command, tmp_path / "m", tmp_path / "none.arff", "--json")
    if command == "predict":
        assert (code, out) == (0, "")
    else:
        assert code == 2
        assert "DATA: expected at least one row, got none.arff" in err


def test_a_model_of_two_rows_has_no_propensities(run, tmp_path):
    (tmp_path / "two.csv").write_text("size,tags\n1,a\n2,b\n")
    assert run("train", tmp_path / "two.csv", "-o", tmp_path / "m", *NEAREST)[0] == 0
    code, out, _ = run("evaluate", tmp_path / "m", tmp_path / "two.csv", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["subset-accuracy"] == 1
    assert "psp@1" not in found


def test_rows_of_a_split_that_is_not_there(run, data_file, tmp_path):
    code, _, err = run("train", data_file, "-o", tmp_path / "m", "--rows", "train")
    assert code == 2
    assert "--rows: expected all, because there is no train/test split, got train (make two" in err


def test_a_cluster_needs_a_method_that_searches():
    """All of the library's do; one that is imported may not."""
    with (
        pytest.raises(InvalidArgumentError, match="a method that searches neighbours, got Dummy"),
        searching(DummyClassifier(), None, "tcp://127.0.0.1:1"),
    ):
        pass


@pytest.mark.parametrize("model", [BRkNN(3), LCIF(3, 3), Blend("mix")])
def test_propensities_count_the_rows_that_are_left(model):
    rows = datasets.load("debtags").subset(range(300))
    model.fit(rows.X, rows.Y).forget([0, 5, 299])
    counts = training_counts(model, rows.Y.shape[1])
    left = np.setdiff1d(np.arange(300), [0, 5, 299])
    assert counts["n_train_rows"] == 297
    assert counts["train_label_counts"].tolist() == rows.Y[left].sum(axis=0).tolist()
