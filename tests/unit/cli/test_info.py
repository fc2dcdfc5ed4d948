"""``vicinal info``: the header of a model file, for people and for machines."""

import json

import numpy as np
import pytest
from model_files import edit_manifest
from sklearn.preprocessing import StandardScaler

import vicinal
from vicinal.preprocess import TextVectorizer

pytestmark = pytest.mark.native

TEXTS = ["a red fox", "a blue fox", "green tea", "black tea and a fox"]
LABELS = [["animal"], ["animal"], ["drink"], ["animal", "drink"]]


@pytest.fixture
def texts_model(tmp_path):
    model = vicinal.make_pipeline(
        TextVectorizer(), vicinal.MLkNN(2, smoothing=0.5, metric="cosine")
    )
    model.fit(TEXTS, LABELS).save(tmp_path / "tags.vicinal")
    return tmp_path / "tags.vicinal"


def facts(run, *words):
    code, out, err = run("info", *words, "--json")
    assert (code, err) == (0, "")
    return json.loads(out)


def test_a_pipeline(run, texts_model):
    found = facts(run, texts_model)
    assert found["bytes"] == texts_model.stat().st_size
    assert (found["kind"], found["method"]) == ("pipeline", "MLkNN")
    assert found["steps"] == ["textvectorizer: TextVectorizer"]
    assert found["parameters"]["smoothing"] == 0.5
    assert (found["rows"], found["features"], found["labels"]) == (4, 8, 2)
    assert found["label_names"] == ["animal", "drink"]
    assert set(found["written_by"]) == {"vicinal", "numpy", "scikit-learn", "python"}
    assert found["saved"].startswith("20")
    assert 0 < found["array_bytes"] < found["bytes"]
    assert sum(found["largest_arrays"].values()) <= found["array_bytes"]


def test_an_estimator_with_many_labels_and_array_parameters(run, sample, tmp_path):
    names = [f"label {number}" for number in range(200)]
    model = vicinal.LAMLkNN(1, n_clusters=2, centers=np.array([[0.0], [9.0]]))
    model.fit(np.arange(200.0)[:, None], np.eye(200, dtype=int), label_names=names)
    model.save(tmp_path / "m")
    found = facts(run, tmp_path / "m")
    assert (found["kind"], found["method"], found["labels"]) == ("estimator", "LAMLkNN", 200)
    assert found["label_names"] == names[:5]
    assert found["parameters"]["centers"] == "an array"
    assert (found["rows"], found["features"]) == (200, 1)


def test_the_class_of_a_sklearn_step_is_named(run, sample, tmp_path):
    model = vicinal.make_pipeline(StandardScaler(), vicinal.BRkNN(3)).fit(sample.X, sample.Y)
    model.save(tmp_path / "m")
    assert facts(run, tmp_path / "m")["steps"] == ["standardscaler: StandardScaler"]


def test_a_table_for_people(run, texts_model):
    code, out, _ = run("info", texts_model)
    assert code == 0
    for word in ("MLkNN", "smoothing=0.5", "animal, drink", "its checksum matches", "not read"):
        assert word in " ".join(out.split())


def test_arrays_are_read_on_request_only(run, texts_model):
    content = bytearray(texts_model.read_bytes())
    content[-1] ^= 1
    texts_model.write_bytes(content)
    assert facts(run, texts_model)["arrays_checked"] == "not read (see --verify)"
    code, out, err = run("info", texts_model, "--verify")
    assert (code, out) == (2, "")
    assert "damaged: the checksum of 'model." in " ".join(err.split())
    content[-1] ^= 1
    texts_model.write_bytes(content)
    assert facts(run, texts_model, "--verify")["arrays_checked"] == "all checksums match"


def test_what_is_no_model_is_one_line(run, tmp_path, texts_model):
    (tmp_path / "text").write_text("no model")
    content = bytearray(texts_model.read_bytes())
    content[100] ^= 1
    (tmp_path / "damaged").write_bytes(content)
    for path in (tmp_path, tmp_path / "text", tmp_path / "damaged", tmp_path / "nothing"):
        code, out, err = run("info", path)
        assert (code, out) == (2, "")
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    "model",
    [None, 3, [], {}, {"$part": 3}, {"$part": "methods.Pipeline"}, {"$part": "x", "state": 3},
     {"$part": "methods.Pipeline", "state": {"names": [1], "steps": [2]}},
     {"$part": "methods.MLkNN", "state": {"X": {"$csr": "x"}, "label_names": {"$texts": "many"}}},
     {"$part": "methods.MLkNN", "state": {"params": [], "X": {"$array": []}, "label_names": 3}}],
)  # fmt: skip
def test_forged_headers_show_what_they_say_and_nothing_fails(run, texts_model, model):
    edit_manifest(texts_model, lambda body: body.update(model=model))
    assert facts(run, texts_model)["header_checked"] == "its checksum matches"
    assert run("info", texts_model)[0] == 0
