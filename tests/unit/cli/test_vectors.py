"""Texts with a file of vectors: train, predict, evaluate and explain."""

import json

import numpy as np
import pandas as pd
import pytest

import vicinal
from vicinal import Blend
from vicinal.datasets.vector_files import read_vectors
from vicinal.errors import InvalidArgumentError
from vicinal.preprocess import TextVectorizer

pytestmark = pytest.mark.native

TOPICS = {"sea": "boat wave wind", "land": "house field tree", "city": "street tram house"}


@pytest.fixture
def corpus(tmp_path):
    """Write a table of texts and an array of vectors that point to their topic."""
    rng = np.random.default_rng(0)
    names = rng.choice(sorted(TOPICS), size=90)
    texts = [" ".join(rng.choice(TOPICS[name].split(), size=4)) for name in names]
    directions = dict(zip(sorted(TOPICS), rng.normal(size=(3, 40)), strict=True))
    vectors = np.array([directions[name] for name in names]) + rng.normal(size=(90, 40)) / 4
    frame = pd.DataFrame({"text": texts, "tags": names})
    frame.to_csv(tmp_path / "texts.csv", index=False)
    np.save(tmp_path / "vectors.npy", vectors.astype(np.float32))
    return tmp_path, frame, vectors.astype(np.float32)


@pytest.fixture
def model(run, corpus):
    folder = corpus[0]
    given = ("--vectors", folder / "vectors.npy", "--language", "none")
    code, out, err = run("train", folder / "texts.csv", "-o", folder / "model", *given)
    assert code == 0, err
    assert "Blend" in out
    return folder / "model"


def test_a_model_with_vectors_equals_one_fitted_on_a_mapping(run, corpus, model):
    folder, frame, vectors = corpus
    loaded = vicinal.load(model)
    assert loaded[-1].views_["vectors"] == 40
    words = TextVectorizer(weighting="counts", language=None).fit(frame.text)
    X = {"words": words.transform(frame.text), "vectors": vectors}
    truth = Blend().fit(X, [[tag] for tag in frame.tags])
    given = ("--vectors", folder / "vectors.npy")
    code, out, err = run("predict", model, folder / "texts.csv", "--json", *given)
    assert (code, err) == (0, "")
    answers = [json.loads(line) for line in out.splitlines()]
    assert [answer["labels"] for answer in answers] == truth.predict_names(X)
    scores = truth.scores(X).toarray()
    for answer, row in zip(answers, scores, strict=True):
        for label, value in answer["scores"].items():
            assert value == pytest.approx(row[truth.label_names_.index(label)], abs=1e-6)


def test_evaluate_and_explain_use_the_vectors(run, corpus, model):
    folder = corpus[0]
    given = (folder / "texts.csv", "--vectors", folder / "vectors.npy", "--json")
    code, out, _ = run("evaluate", model, *given)
    assert code == 0
    assert json.loads(out)["micro-f1"] > 0.9
    code, out, err = run("explain", model, *given, "--limit", "2", "--what-if")
    assert code == 0, err
    one = json.loads(out.splitlines()[0])
    assert one["text"]
    assert len(out.splitlines()) == 2


def test_a_model_remembers_that_it_needs_vectors(run, corpus, model):
    folder, _, vectors = corpus
    for command in ("predict", "evaluate", "explain"):
        code, _, err = run(command, model, folder / "texts.csv")
        assert code == 2
        assert "--vectors: expected a file with a vector of 40 numbers for each row" in err
        assert len(err.strip().splitlines()) == 1
    np.save(folder / "short.npy", vectors[:40])
    np.save(folder / "narrow.npy", vectors[:, :5])
    for name, message in (("short", "90 vectors"), ("narrow", "got 5 numbers")):
        given = ("--vectors", folder / f"{name}.npy")
        code, _, err = run("predict", model, folder / "texts.csv", *given)
        assert code == 2
        assert message in err
    run("train", folder / "texts.csv", "-o", folder / "plain", "--set", "combine=mix")
    given = ("--vectors", folder / "vectors.npy")
    code, _, err = run("predict", folder / "plain", folder / "texts.csv", *given)
    assert code == 2
    assert "the model was trained without vectors" in err


@pytest.mark.parametrize(
    "more", [("--method", "mlknn"), ("--out-of-core", "streamed"), ("--vectors", "none.npy")]
)
def test_what_cannot_be_trained_with_vectors_is_said(run, corpus, more):
    folder = corpus[0]
    given = ("--vectors", folder / "vectors.npy", *more)
    code, _, err = run("train", folder / "texts.csv", "-o", folder / "model", *given)
    assert code == 2
    assert "--vectors: expected" in err
    assert not (folder / "model").exists()


def test_commands_without_vectors_refuse_them(run, corpus):
    folder = corpus[0]
    given = ("--vectors", folder / "vectors.npy")
    for command in (("tune",), ("compare", "--methods", "brknn"), ("data", "describe")):
        code, _, err = run(*command, folder / "texts.csv", *given)
        assert code != 0
        assert "--vectors" in err


def test_every_format_gives_the_same_vectors(tmp_path):
    rng = np.random.default_rng(1)
    V = rng.normal(size=(7, 12)).astype(np.float32)
    np.save(tmp_path / "v.npy", V)
    np.savez(tmp_path / "one.npz", whatever=V)
    np.savez_compressed(tmp_path / "two.npz", ids=np.arange(7), embeddings=V)
    pd.DataFrame({"id": range(7), "v": V.tolist()}).to_parquet(tmp_path / "lists.parquet")
    columns = {f"e{place}": V[:, place] for place in reversed(range(12))}
    pd.DataFrame({"year1": range(7), **columns}).to_parquet(tmp_path / "wide.parquet")
    for name in ("v.npy", "one.npz", "two.npz", "wide.parquet"):
        np.testing.assert_array_equal(read_vectors(tmp_path / name), V)
    np.testing.assert_allclose(read_vectors(tmp_path / "lists.parquet"), V, rtol=1e-7)


def test_files_that_are_no_vectors_are_refused(tmp_path):
    np.save(tmp_path / "flat.npy", np.arange(5.0))
    np.save(tmp_path / "nan.npy", np.array([[np.nan, 1.0]]))
    np.save(tmp_path / "text.npy", np.array([["secret", "b"]]))
    np.savez(tmp_path / "many.npz", a=np.ones((1, 2)), b=np.ones((1, 2)))
    (tmp_path / "broken.npy").write_bytes(b"secret")
    (tmp_path / "broken.npz").write_bytes(b"secret")
    (tmp_path / "broken.parquet").write_bytes(b"secret")
    pd.DataFrame({"v": [[1.0], [1.0, 2.0]]}).to_parquet(tmp_path / "ragged.parquet")
    pd.DataFrame({"a": [1.0], "b": ["x"]}).to_parquet(tmp_path / "other.parquet")
    for name in (
        *("flat.npy", "nan.npy", "text.npy", "many.npz", "broken.npy", "broken.npz"),
        *("broken.parquet", "ragged.parquet", "other.parquet", "missing.npy", "v.csv"),
    ):
        with pytest.raises(InvalidArgumentError, match=r"^--vectors: expected") as error:
            read_vectors(tmp_path / name, "--vectors")
        assert "secret" not in str(error.value)


@pytest.mark.parametrize("columns", ["list", "numbered"])
def test_vectors_in_the_table_itself(run, corpus, model, columns):
    folder, frame, vectors = corpus
    table = frame.copy()
    if columns == "list":
        table["vector"] = list(vectors)
    else:
        table[[f"e{at}" for at in range(40)]] = vectors
    table.to_parquet(folder / "all.parquet")
    own = folder / "own"
    code, _, err = run("train", folder / "all.parquet", "-o", own, "--language", "none")
    assert code == 0, err
    assert "vectors in" in err
    assert "not used" not in err
    assert run("predict", own, folder / "all.parquet") == run(
        "predict", model, folder / "texts.csv", "--vectors", folder / "vectors.npy"
    )
    code, _, err = run("predict", own, folder / "texts.csv", "--text", "text")
    assert code == 2
    assert "--vectors: expected a file with a vector of 40 numbers" in err
    plain = ("--method", "instance-knn", "--language", "none")
    code, out, err = run("train", folder / "all.parquet", "-o", folder / "plain", *plain)
    assert code == 0, err
    assert "BesideVectors" not in out


def test_a_table_of_vectors_alone_is_not_scaled(run, corpus):
    folder, frame, vectors = corpus
    table = pd.DataFrame(vectors, columns=[f"e{at}" for at in range(40)])
    table.assign(tags=frame.tags).to_parquet(folder / "alone.parquet")
    code, out, err = run("train", folder / "alone.parquet", "-o", folder / "alone")
    assert code == 0, err
    assert "scaled" not in err
    assert "MinMax" not in out
    truth = Blend().fit(vectors, [[tag] for tag in frame.tags])
    _, out, _ = run("predict", folder / "alone", folder / "alone.parquet")
    found = [line.split("\t")[1].split(", ") for line in out.splitlines()]
    assert found == truth.predict_names(vectors)
    table.assign(tags=frame.tags, e3="x").to_parquet(folder / "bad.parquet")
    assert run("predict", folder / "alone", folder / "bad.parquet")[0] == 2
