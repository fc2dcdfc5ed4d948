"""``vicinal tune`` as a person uses it."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import vicinal
from vicinal.cli import main
from vicinal.datasets import Dataset, write_file
from vicinal.preprocess import MinMax
from vicinal.selection import runner, tune

pytestmark = pytest.mark.native

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the program with these words; return exit code, output and errors."""

    def call(*words: Any) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["vicinal", "tune", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return call


RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)) * [1, 10, 100, 1000]
Y = sparse.csr_array((X[:, :3] > 0).astype(np.int32))


@pytest.fixture
def data_file(tmp_path: Path) -> Path:
    path = tmp_path / "signs.arff"
    names = ("a", "b", "c", "d"), ("one", "two", "three")
    write_file(Dataset(X=X, Y=Y, feature_names=names[0], label_names=names[1]), path)
    return path


SMALL = ("--methods", "mlknn,brknn", "--folds", "3", "--grid", "n_neighbors=1,3,5")


def test_answers_are_those_of_the_library(run: Run, data_file: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    code, out, _ = run(
        data_file,
        *SMALL,
        "--metric",
        "micro-f1",
        "--set",
        "metric=cosine",
        "--save",
        model,
        "--json",
    )
    assert code == 0
    facts = json.loads(out)
    found = tune(
        ["mlknn", "brknn"],
        X,
        Y,
        "micro-f1",
        3,
        {"n_neighbors": [1, 3, 5]},
        params={"metric": "cosine"},
        preprocess=MinMax(),
    )
    assert (facts["settings"], facts["folds"], facts["complete"]) == (6, 3, True)
    assert set(facts["best"]) == set(found.best)
    for metric, best in found.best.items():
        got = facts["best"][metric]
        assert (got["method"], got["params"]) == (best.method, best.params)
        assert (got["mean"], got["std"]) == (best.mean, best.std)
    assert set(facts["methods"]) == {"mlknn", "brknn"}
    saved = vicinal.load(model)
    assert np.array_equal(saved.predict(X).toarray(), found.estimator.predict(X).toarray())
    assert saved[-1].label_names_ == ("one", "two", "three")


def test_tables_files_and_pictures(run: Run, data_file: Path, tmp_path: Path) -> None:
    words = (data_file, *SMALL, "--table", tmp_path / "all.csv", "--plots", tmp_path / "pictures")
    code, out, err = run(*words, "--metrics", "hamming-loss", "--store", tmp_path / "kept")
    assert code == 0
    assert "best for each metric" in out
    assert "Best of each method for example-f1" in out
    assert "6 settings on 3 folds" in out
    assert "micro-f1" not in out
    assert "mixing.png is not drawn" in err
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == [
        "neighbors.png",
        "threshold.png",
    ]
    lines = (tmp_path / "all.csv").read_text().splitlines()
    assert len(lines) == 1 + 6 * 2
    assert (tmp_path / "kept").stat().st_size > 0


def test_texts_are_tuned_with_their_words(run: Run, tmp_path: Path) -> None:
    rows = [{"text": "red apple", "labels": ["fruit"]}] * 10
    rows += [{"text": "fast car", "labels": ["machine"]}] * 10
    path = tmp_path / "things.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--methods", "instance-knn", "--folds", "2", "--grid", "n_neighbors=1,3")
    code, out, _ = run(path, *words, "--preprocess", "tfidf", "--per-fold", "--json")
    assert code == 0
    assert json.loads(out)["best"]["example-f1"]["mean"] == 1.0


def test_an_interrupt_shows_the_best_so_far(
    run: Run, data_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, left = runner.measure, [3]

    def interrupted(*arguments: Any) -> Any:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return measure(*arguments)

    monkeypatch.setattr(runner, "measure", interrupted)
    code, out, err = run(data_file, *SMALL, "--json")
    assert code == 130
    assert "the best settings so far" in err
    assert json.loads(out)["complete"] is False


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--methods", "knn"), "methods: expected a method ("),
        (("--grid", "n_neighbors"), "--grid: expected name=value,value"),
        (("--grid", "k=1,2"), "grid: expected parameters of"),
        (("--metric", "f1"), "--metric: expected the name of a metric"),
        (("--table", "all.txt"), "--table: expected one of '.csv', '.json'"),
    ],
)
def test_bad_words_end_with_one_line(
    words: tuple[str, ...], message: str, run: Run, data_file: Path
) -> None:
    code, out, err = run(data_file, *words)
    assert code == 2
    assert message in " ".join(err.split())
    assert out == ""


def test_an_interrupted_run_replaces_no_model(
    run: Run, data_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The saved model stays as it is, and the best so far is saved beside it."""
    model, store = tmp_path / "model", tmp_path / "kept"
    assert run(data_file, *SMALL, "--save", model)[0] == 0
    before = vicinal.load(model).predict(X).toarray()
    content = {
        file: file.read_bytes() for file in sorted(tmp_path.glob("model*/**/*")) if file.is_file()
    }
    content |= {model: model.read_bytes()} if model.is_file() else {}
    measure, left = runner.measure, [1]

    def interrupted(*arguments: Any) -> Any:
        if left[0] == 0:
            raise KeyboardInterrupt
        left[0] -= 1
        return measure(*arguments)

    monkeypatch.setattr(runner, "measure", interrupted)
    words = (data_file, *SMALL, "--grid", "smoothing=0.1", "--save", model, "--store", store)
    code, _, err = run(*words)
    assert code == 130
    assert {file: file.read_bytes() for file in content} == content
    assert np.array_equal(vicinal.load(model).predict(X).toarray(), before)
    told = " ".join(err.split())
    assert "model is not changed; the best model so far is in" in told
    assert vicinal.load(tmp_path / "model.interrupted")[-1].n_neighbors in (1, 3, 5)
    assert "resumes from" in told


def test_only_the_metric_of_the_choice_is_computed_by_default(run: Run, data_file: Path) -> None:
    code, out, _ = run(data_file, *SMALL, "--metric", "micro-f1", "--json")
    assert code == 0
    assert list(json.loads(out)["best"]) == ["micro-f1"]
    assert json.loads(out)["preprocess"] == ["MinMax()"]


def test_python_and_the_command_line_prepare_rows_alike(run: Run, data_file: Path) -> None:
    """The columns have very different scales, so scaling changes every value."""
    code, out, _ = run(data_file, *SMALL, "--metric", "micro-f1", "--json")
    assert code == 0
    found = tune(["mlknn", "brknn"], X, Y, "micro-f1", 3, {"n_neighbors": [1, 3, 5]})
    assert found.preprocess == ("MinMax()",)
    assert json.loads(out)["best"]["micro-f1"]["mean"] == found.best["micro-f1"].mean
    raw = tune(["mlknn", "brknn"], X, Y, "micro-f1", 3, {"n_neighbors": [1, 3, 5]}, preprocess=None)
    assert raw.best["micro-f1"].mean != found.best["micro-f1"].mean
