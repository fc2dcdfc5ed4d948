"""``vicinal train --out-of-core``: the model is the one that training in memory gives."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import vicinal
from vicinal import Blend
from vicinal._core.csr import is_mapped
from vicinal._core.files import locked
from vicinal.cli.program import app
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.generated import zipf_rows
from vicinal.datasets.xc import read_xc, write_xc
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.index import segment_files

pytestmark = pytest.mark.native


def run(*words):
    result = CliRunner().invoke(app, [str(word) for word in words])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


@pytest.fixture
def xc_file(tmp_path):
    rows = zipf_rows(400, 200, 1, 8).astype(np.float64)
    Y = zipf_rows(400, 12, 2, 2).astype(np.int32)
    names = [f"feature{i}" for i in range(200)], [f"label{i}" for i in range(12)]
    write_xc(
        Dataset(X=rows, Y=Y, feature_names=names[0], label_names=names[1]), tmp_path / "d.xc.txt"
    )
    return tmp_path / "d.xc.txt", rows


def same_models(first, second, X):
    a, b = vicinal.load(first), vicinal.load(second)
    wanted, found = a.rank(X, 5), b.rank(X, 5)
    assert np.array_equal(wanted[0], found[0])
    assert np.array_equal(wanted[1], found[1])
    assert np.array_equal(a.predict(X).toarray(), b.predict(X).toarray())


@pytest.mark.parametrize("method", ["instance-knn", "mlknn", "lcif", "local-ridge"])
@pytest.mark.parametrize("preprocess", ["none", "tfidf", "tfidf,unit"])
def test_extreme_classification_text(xc_file, tmp_path, method, preprocess, monkeypatch):
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1)
    file, X = xc_file
    shared = ["--method", method, "--preprocess", preprocess]
    run("train", file, "-o", tmp_path / "plain", *shared)
    options = ["--out-of-core", tmp_path / "rows", "--max-memory", "0.01"]
    run("train", file, "-o", tmp_path / "streamed", *shared, *options)
    same_models(tmp_path / "plain", tmp_path / "streamed", X)
    # Only the rows that are searched have postings.
    assert list((tmp_path / "rows").glob("rows/run-*/postings-0"))
    assert not list((tmp_path / "rows").glob("rows-*/run-*/postings-0"))


def test_texts(tmp_path):
    rng = np.random.default_rng(1)
    words = np.array([f"word{i}" for i in range(40)])
    lines = [
        json.dumps(
            {
                "text": " ".join(rng.choice(words, 6)),
                "labels": rng.choice(["red", "blue", "green"], 2).tolist(),
            }
        )
        for _ in range(120)
    ]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    shared = ["--method", "instance-knn", "--preprocess", "tfidf"]
    run("train", tmp_path / "t.jsonl", "-o", tmp_path / "plain", *shared)
    options = ["--out-of-core", tmp_path / "rows"]
    run("train", tmp_path / "t.jsonl", "-o", tmp_path / "streamed", *shared, *options)
    same_models(tmp_path / "plain", tmp_path / "streamed", ["word1 word2", "word7 word39 word3"])


@pytest.mark.parametrize("preprocess", ["auto", "tfidf"])
def test_the_default_method(xc_file, tmp_path, preprocess, monkeypatch):
    monkeypatch.setattr(segment_files, "FEWEST_ENTRIES", 1)
    file, X = xc_file
    shared = ["--preprocess", preprocess]
    run("train", file, "-o", tmp_path / "plain", *shared)
    options = ["--out-of-core", tmp_path / "rows", "--max-memory", "0.01"]
    run("train", file, "-o", tmp_path / "streamed", *shared, *options)
    same_models(tmp_path / "plain", tmp_path / "streamed", X)
    # Its views are searched, not the rows themselves.
    assert len(list((tmp_path / "rows").glob("views/view-*/rows/run-*/postings-0"))) == 2
    assert not list((tmp_path / "rows").glob("rows*/run-*/postings-0"))
    # Other rows in the same folder replace the views; a model without its views says so.
    run("train", file, "-o", tmp_path / "again", "--preprocess", "unit", *options)
    assert len(list((tmp_path / "rows").glob("views/view-*"))) == 2
    with pytest.raises(ModelFormatError, match="trained with --out-of-core in: it has other rows"):
        vicinal.load(tmp_path / "streamed")


def test_rows_and_labels_of_a_stream_are_mapped(xc_file, tmp_path, monkeypatch):
    seen = []
    fit = Blend.fit
    monkeypatch.setattr(
        Blend, "fit", lambda *words, **more: seen.append(words) or fit(*words, **more)
    )
    file, _ = xc_file
    options = ["-o", tmp_path / "m", "--out-of-core", tmp_path / "rows"]
    for _ in range(2):  # the second time over the files of the first
        run("train", file, *options)
        ((model, rows, Y),) = seen
        assert all(is_mapped(part) for part in (rows.data, rows.indices, Y.data, Y.indices))
        assert np.array_equal(Y.toarray(), read_xc(file).Y.toarray())
        assert model.scoring_.Y.indices.ctypes.data == Y.indices.ctypes.data
        seen.clear()


def test_methods_that_copy_the_rows_are_refused(xc_file, tmp_path):
    options = ["-o", tmp_path / "m", "--out-of-core", tmp_path / "r", "--method", "label-ridge"]
    with pytest.raises(ValueError, match="blend, local-ridge, mlknn"):
        run("train", xc_file[0], *options)
    assert not (tmp_path / "r").exists()


def test_bad_options(xc_file, tmp_path):
    file, _ = xc_file
    method = ["--method", "mlknn"]
    with pytest.raises(ValueError, match="--max-memory"):
        run(
            "train",
            file,
            "-o",
            tmp_path / "m",
            "--out-of-core",
            tmp_path / "r",
            "--max-memory",
            "0",
            *method,
        )
    with pytest.raises(ValueError, match="a file, because of --out-of-core"):
        run("train", "debtags", "-o", tmp_path / "m", "--out-of-core", tmp_path / "r", *method)
    (tmp_path / "full" / "rows").mkdir(parents=True)
    (tmp_path / "full" / "rows" / "thesis.txt").touch()
    with pytest.raises(ValueError, match=r"thesis\.txt"):
        run("train", file, "-o", tmp_path / "m", "--out-of-core", tmp_path / "full", *method)


def test_tables_that_cannot_be_read_in_one_pass(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("text,labels\n1 2,a\n3 4,b\n")
    words = ["train", file, "-o", tmp_path / "m", "--out-of-core", tmp_path / "r"]
    words += ["--method", "mlknn"]
    with pytest.raises(ValueError, match="--row-names: expected no value together with --out-of"):
        run(*words, "--row-names", "text")
    with pytest.raises(ValueError, match="words in at least --min-df of them"):
        run(*words, "--min-df", 3)


def test_two_trainings_do_not_share_a_folder(xc_file, tmp_path):
    """The second would remove the files of the first; it says so, and removes none."""
    file, _ = xc_file
    rows = tmp_path / "rows"
    options = [file, "--method", "mlknn", "--out-of-core", rows, "--max-memory", "0.01"]
    assert run("train", *options, "-o", tmp_path / "first").exit_code == 0
    before = sorted(rows.rglob("*"))
    said = "--out-of-core: expected a folder that no other training is using, got "
    with locked(rows / "training.lock"), pytest.raises(InvalidArgumentError, match=said):
        run("train", *options, "-o", tmp_path / "second")
    assert sorted(rows.rglob("*")) == before
    assert not (tmp_path / "second").exists()
    assert run("train", *options, "-o", tmp_path / "second").exit_code == 0
