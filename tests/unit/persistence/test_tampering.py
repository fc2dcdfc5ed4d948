"""A file that is not what was saved is refused before anything of it is used."""

import json
import os
import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from model_files import (
    edit_header,
    edit_manifest,
    metadata,
    parts_of,
    put_together,
    replace_array,
    stored_array,
    taken_apart,
    with_header,
)
from scipy import sparse
from sklearn.pipeline import Pipeline

import vicinal
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.methods.pipeline import named_pipeline
from vicinal.persistence import model_file
from vicinal.preprocess import MinMax, TextVectorizer

pytestmark = pytest.mark.native


@pytest.fixture(params=["brknn", "mlknn"])
def saved(request: pytest.FixtureRequest, sample: Any, make_method: Any, tmp_path: Path) -> Path:
    model = make_method(request.param, never_empty=True)
    model.fit(sparse.csr_array(sample.X), sample.Y).save(tmp_path / "m")
    return tmp_path / "m"


def refused(path: Path, match: str = ".", **options: Any) -> None:
    with pytest.raises(ModelFormatError, match=match) as caught:
        vicinal.load(path, **options)
    assert "\n" not in str(caught.value)


def test_helpers_leave_a_model_that_loads(saved: Path) -> None:
    edit_manifest(saved, lambda body: None)
    edit_header(saved, lambda header: None)
    replace_array(saved, "X.data", stored_array(saved, "X.data"))
    assert vicinal.load(saved).n_features_in_ == 6


def test_a_flipped_bit_anywhere(saved: Path) -> None:
    whole = saved.read_bytes()
    for at in range(0, len(whole), 5):
        broken = bytearray(whole)
        broken[at] ^= 1 << at % 8
        saved.write_bytes(broken)
        refused(saved)
    saved.write_bytes(whole)
    vicinal.load(saved)


def test_a_flipped_bit_of_the_header_is_found_without_reading_the_arrays(saved: Path) -> None:
    whole = saved.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    for at in range(8, 8 + length, 7):
        broken = bytearray(whole)
        broken[at] ^= 1 << at % 8
        saved.write_bytes(broken)
        refused(saved, verify=False)


def test_a_missing_cut_or_longer_file(saved: Path) -> None:
    whole = saved.read_bytes()
    for length in [0, 1, 7, 8, 9, 50, *range(100, len(whole), 97), len(whole) - 1]:
        saved.write_bytes(whole[:length])
        refused(saved, "cut short|not a model file", verify=False)
    saved.write_bytes(whole[:-1])
    refused(saved, r"damaged: cut short: .* \(use another copy, or train again\)$")
    saved.write_bytes(whole + b"x")
    refused(saved, "bytes behind its arrays", verify=False)
    saved.unlink()
    refused(saved, "expected a model file, found none")


def test_no_model_at_all(tmp_path: Path) -> None:
    refused(tmp_path / "nothing", "expected a model file, found none")
    refused(tmp_path, "expected a model file, got a folder")
    for content in (b"", b"{}", b"X" * 5000, bytes(5000), b"\x20" + bytes(7) + b"{" * 40):
        (tmp_path / "file").write_bytes(content)
        refused(tmp_path / "file")
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "found none")


def test_a_safetensors_file_of_another_program(tmp_path: Path) -> None:
    numpy = pytest.importorskip("safetensors.numpy")
    for about in (None, {"vicinal": "{}"}, {"sha256": "0" * 64, "saved": "", "vicinal": "{}"}):
        numpy.save_file({"weights": np.zeros(3)}, tmp_path / "m", metadata=about)
        refused(tmp_path / "m")


@pytest.mark.parametrize("number", [2, 0, "1", None, 1.0, True, 1.5])
def test_another_format_number(saved: Path, number: Any) -> None:
    edit_manifest(saved, lambda body: body.update(format=number))
    refused(saved, "expected format 1")


@pytest.mark.parametrize("part", ["os.system", "estimators.Unheard", "persistence.x", 3, None])
def test_unknown_parts(saved: Path, part: Any) -> None:
    edit_manifest(saved, lambda body: body["model"].update({"$part": part}))
    refused(saved, "part")


def wrapping(indptr: np.ndarray) -> np.ndarray:
    """Return row starts that fall, though no difference of neighbours is negative."""
    broken = indptr.astype(np.int32)
    broken[3:5] = 1_500_000_000, -1_294_967_296
    return broken


BAD_FEATURES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "NaN": ("X.data", lambda a: np.where(np.arange(len(a)) == 3, np.nan, a)),
    "infinity": ("X.data", lambda a: np.where(np.arange(len(a)) == 3, np.inf, a)),
    "complex": ("X.data", lambda a: a.astype(complex)),
    "text": ("X.data", lambda a: a.astype("U8")),
    "fewer values": ("X.data", lambda a: a[:-1]),
    "two-dimensional": ("X.data", lambda a: a[:, None]),
    "column too high": ("X.indices", lambda a: a + 6),
    "negative column": ("X.indices", lambda a: a - 1),
    "float columns": ("X.indices", lambda a: a.astype(float)),
    "falling pointer": ("X.indptr", lambda a: a[::-1]),
    "pointer past the end": ("X.indptr", lambda a: a + 1),
    "short pointer": ("X.indptr", lambda a: a[:-1]),
    "pointer whose differences wrap": ("X.indptr", wrapping),
    "label pointer whose differences wrap": ("scoring.Y.indptr", wrapping),
    "labels of 2": ("scoring.Y.data", lambda a: a * 2),
    "label too high": ("scoring.Y.indices", lambda a: a + 5),
}


@pytest.mark.parametrize("what", BAD_FEATURES)
def test_arrays_that_do_not_fit(saved: Path, what: str) -> None:
    name, change = BAD_FEATURES[what]
    replace_array(saved, name, change(stored_array(saved, name)))
    refused(saved)
    refused(saved, verify=False)


def at(*keys: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    def find(body: dict[str, Any]) -> dict[str, Any]:
        for key in keys:
            body = body[key]
        return body

    return find


STATE, SCORING, DECISION = ("model", "state"), "scoring", "decision"
BAD_VALUES: list[tuple[tuple[str, ...], str, Any]] = [
    (STATE, "metric", "manhattan"),
    (STATE, "label_kind", "ragged"),
    (STATE, "label_dtype", "object"),
    (STATE, "label_dtype", 8),
    (STATE, "label_names", ["a", "b"]),
    (STATE, "label_names", "abcde"),
    (STATE, "label_names", [1, 2, 3, 4, 5]),
    (STATE, "feature_names", ["just one"]),
    (STATE, "params", {"no_such_parameter": 1}),
    (STATE, "params", []),
    (STATE, "X", None),
    (STATE, "X", {"$array": "not there"}),
    (STATE, "X", {"$csr": [50, -6]}),
    (STATE, "n_ids", 10**18),
    (STATE, "n_ids", 3),
    (STATE, "n_ids", {"$float": "Infinity"}),
    (STATE, "n_ids", {"$float": 3}),
    (STATE, "row_ids", {"$array": "model.scoring.Y.data"}),
    (STATE, "calibration", [1, 2]),
    (STATE, "calibration", [1, 2, -3]),
    (STATE, "calibration", [1, 2, 3.0]),
    (STATE, "X", {"$csr": [50]}),
    (STATE, "X", {"$csr": "50 6"}),
    (STATE, "scoring", None),
    (STATE, "scoring", {"$part": "decision.TopS", "state": {"s": 1}}),
    (STATE, "decision", 0.5),
    (STATE, "decision", {"$part": "decision.CardinalityThreshold", "state": {"method": "exact"}}),
    (STATE, "decision", {"$part": "decision.Threshold", "state": {"value": "high"}}),
    (STATE, "decision", {"$part": "decision.Threshold", "state": {"value": 1e999}}),
    (STATE, "decision", {"$part": "decision.Threshold", "state": {"unknown": 1}}),
    (STATE, "decision", {"$part": "decision.TopS", "state": {"s": -1}}),
    (STATE, "decision", {"$part": "decision.LabelThresholds", "state": {"values": [0.5]}}),
    ((*STATE, DECISION, "state"), "label_when_all_zero", 5),
    ((*STATE, DECISION, "state"), "label_when_all_zero", -1),
    ((*STATE, DECISION, "state"), "label_when_all_zero", 1.0),
    ((*STATE, SCORING, "state"), "k", 0),
    ((*STATE, SCORING, "state"), "k", -3),
    ((*STATE, SCORING, "state"), "k", "4"),
    ((*STATE, SCORING, "state"), "Y", None),
    ((*STATE, SCORING, "state", "Y"), "$csr", [50, 10**30]),
]


@pytest.mark.parametrize(("place", "key", "value"), BAD_VALUES)
def test_values_that_do_not_fit(saved: Path, place: tuple[str, ...], key: str, value: Any) -> None:
    edit_manifest(saved, lambda body: at(*place)(body).update({key: value}))
    refused(saved)


@pytest.mark.parametrize("key", ["params", "scoring", "decision", "X", "metric", "label_names"])
def test_values_that_are_missing(saved: Path, key: str) -> None:
    edit_manifest(saved, lambda body: body["model"]["state"].pop(key))
    refused(saved)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "[]", "3", '{"a":1,"a":1}'])
def test_manifests_that_are_no_object(saved: Path, text: str) -> None:
    header, data = parts_of(saved.read_bytes())
    header["__metadata__"]["vicinal"] = text
    saved.write_bytes(with_header(header) + data)
    refused(saved, "its header is not JSON")


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "9" * 5000])
def test_numbers_that_json_does_not_have(saved: Path, number: str) -> None:
    manifest, arrays = taken_apart(saved.read_bytes())
    text = json.dumps({**manifest, "model": "here"}).replace('"here"', number)
    header, data = parts_of(put_together(manifest, arrays))
    header["__metadata__"]["vicinal"] = text
    saved.write_bytes(with_header(header) + data)
    refused(saved, "its header is not JSON")


def test_a_header_with_a_name_twice(saved: Path) -> None:
    header, data = parts_of(saved.read_bytes())
    text = json.dumps(header)
    again = json.dumps({"model.X.data": header["model.X.data"]})
    saved.write_bytes(with_header(text[:-1] + "," + again[1:]) + data)
    refused(saved, "its header is not JSON")


@pytest.fixture
def named(sample: Any, tmp_path: Path) -> Path:
    """A pipeline that knows its columns."""
    steps = [("estimator", vicinal.BRkNN(3).fit(sample.X, sample.Y))]
    vicinal.save(named_pipeline(steps, tuple("uvwxyz")), tmp_path / "named")
    return tmp_path / "named"


@pytest.mark.parametrize("columns", ["uvwxyz", ["u"], [1, 2, 3, 4, 5, 6], 6])
def test_columns_that_do_not_fit(named: Path, columns: Any) -> None:
    assert vicinal.load(named).columns_ == tuple("uvwxyz")
    edit_manifest(named, lambda body: body["model"]["state"].update(columns=columns))
    refused(named, "columns")


def test_a_pipeline_saved_before_columns_were_kept(named: Path, sample: Any) -> None:
    edit_manifest(named, lambda body: body["model"]["state"].pop("columns"))
    assert len(vicinal.load(named).predict(sample.X)) == len(sample.X)


def test_a_header_without_end_is_not_read(saved: Path) -> None:
    """Two gigabytes that take no room on disk: a hole in a file."""
    with saved.open("r+b") as stream:
        stream.truncate(2**31)
        stream.write((2**31 - 8).to_bytes(8, "little"))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(saved, "expected a header of at most 100000000 bytes, got 2147483640")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


BAD_ENTRIES: dict[str, dict[str, Any]] = {
    "another type": {"dtype": "F32"},
    "a type that is no number": {"dtype": "O"},
    "a type of safetensors that NumPy lacks": {"dtype": "BF16"},
    "a list as type": {"dtype": ["F64"]},
    "no type": {"dtype": None},
    "fewer rows": {"shape": [1]},
    "a negative size": {"shape": [-1]},
    "two negative sizes": {"shape": [-1, -5]},
    "a fraction": {"shape": [3.0]},
    "a truth value": {"shape": [True]},
    "sizes whose product wraps": {"shape": [2**32, 2**32]},
    "sizes beyond any integer": {"shape": [0, 10**30]},
    "many axes": {"shape": [1] * 9},
    "no list": {"shape": 5},
    "a negative place": {"data_offsets": [-8, 0]},
    "one place": {"data_offsets": [0]},
    "places in reverse": {"data_offsets": [8, 0]},
    "places as strings": {"data_offsets": ["0", "8"]},
    "places beyond the end": {"data_offsets": [10**12, 10**12 + 8]},
    "something besides": {"extra": 1},
}


@pytest.mark.parametrize("what", BAD_ENTRIES)
def test_entries_of_arrays_that_are_none(saved: Path, what: str) -> None:
    edit_header(saved, lambda header: header["model.X.data"].update(BAD_ENTRIES[what]))
    refused(saved)
    refused(saved, verify=False)


@pytest.mark.parametrize("entry", [[], None, "F64", {"dtype": "F64"}, {}])
def test_entries_of_arrays_that_say_too_little(saved: Path, entry: Any) -> None:
    edit_header(saved, lambda header: header.update({"model.X.data": entry}))
    refused(saved, "is not one of an array of numbers")


def test_arrays_that_overlap(saved: Path) -> None:
    def overlap(header: dict[str, Any]) -> None:
        header["model.X.data"]["data_offsets"] = header["model.row_ids"]["data_offsets"]
        header["model.X.data"]["shape"] = header["model.row_ids"]["shape"]

    edit_header(saved, overlap)
    refused(saved, "overlaps another array, or leaves a gap", verify=False)


def test_arrays_that_are_not_listed_leave_a_gap(saved: Path) -> None:
    edit_header(saved, lambda header: header.pop("model.X.data"))
    refused(saved, "leaves a gap|bytes behind", verify=False)


def test_an_array_that_is_not_aligned_is_read(saved: Path, sample: Any) -> None:
    """A file of another writer, valid all the same: nothing in it is assumed to be aligned."""
    expected = vicinal.load(saved).scores(sample.X_test).toarray()
    header, data = parts_of(saved.read_bytes())
    edit_header(saved, lambda header: None)
    saved.write_bytes(with_header(json.dumps(header) + " ") + data)
    for mmap in (True, False):
        got = vicinal.load(saved, mmap=mmap).scores(sample.X_test).toarray()
        np.testing.assert_array_equal(got, expected)


def test_parameters_beyond_reason(tmp_path: Path) -> None:
    vectorizer = TextVectorizer().fit(["a b", "b c"])
    estimator = vicinal.BRkNN(1).fit(vectorizer.transform(["a b", "b c"]), [[1], [0]])
    vicinal.save(Pipeline([("words", vectorizer), ("estimator", estimator)]), tmp_path / "m")

    def widen(body: dict[str, Any]) -> None:
        body["model"]["state"]["steps"][0]["state"]["ngram_range"] = [1, 10**9]

    edit_manifest(tmp_path / "m", widen)
    refused(tmp_path / "m", "ngram_range: expected n-grams of at most 100 words")


def test_a_step_that_transforms_nothing(tmp_path: Path) -> None:
    X = [[0.0], [8.0]]
    model = Pipeline([("scale", MinMax()), ("estimator", vicinal.BRkNN(1))]).fit(X, [[1], [0]])
    vicinal.save(model, tmp_path / "m")
    rule = {"$part": "decision.TopS", "state": {"s": None}}
    edit_manifest(tmp_path / "m", lambda body: body["model"]["state"]["steps"].__setitem__(0, rule))
    refused(tmp_path / "m", "steps that transform rows")


@pytest.mark.parametrize("mmap", ["never", None, 2])
def test_an_option_that_is_none(saved: Path, mmap: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"^mmap: expected True, False or 'auto'"):
        vicinal.load(saved, mmap=mmap)


@pytest.mark.parametrize("listed", [None, [], "model.X.data"])
def test_a_manifest_that_lists_no_checksums(saved: Path, listed: Any) -> None:
    def change(header: dict[str, Any]) -> None:
        manifest = json.loads(header["__metadata__"]["vicinal"])
        header.update(metadata(json.dumps({**manifest, "sha256": listed})))

    edit_header(saved, change)
    refused(saved, "the header lists no checksums")
    assert vicinal.load(saved, verify=False).n_features_in_ == 6


def test_more_arrays_than_a_model_has(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_file, "MOST_ARRAYS", 3)
    refused(saved, "expected at most 3 arrays, got")


@pytest.mark.parametrize("model", [None, 3, ["a model"], {"name": "a model"}])
def test_a_manifest_without_a_model(saved: Path, model: Any) -> None:
    edit_manifest(saved, lambda body: body.update(model=model))
    refused(saved, "the header holds no model")


def test_row_ids_that_do_not_increase(saved: Path) -> None:
    ids = np.arange(50)
    for bad in (ids[::-1], np.where(ids == 3, 2, ids), ids - 1, ids + 1):
        replace_array(saved, "row_ids", bad.copy())
        refused(saved, "row_ids: expected increasing ids from 0 to 49")


def test_a_model_saved_before_its_threshold_had_an_age(saved: Path, sample: Any) -> None:
    edit_manifest(saved, lambda body: body["model"]["state"].pop("calibration"))
    assert vicinal.load(saved).predict(sample.X_test).shape == (20, 5)


def test_an_error_of_python_while_a_part_is_built(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr(model_file, "decode", fails)
    refused(saved, "OverflowError: too large")


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """A model with so many labels that their names are arrays."""
    Y = np.eye(200, dtype=int)
    names = [f"läbel {number}" * (number % 3) + str(number) for number in range(200)]
    model = vicinal.BRkNN(1).fit(np.arange(200.0)[:, None], Y, label_names=names)
    model.save(tmp_path / "many")
    assert list(vicinal.load(tmp_path / "many").label_names_) == names
    return tmp_path / "many"


BAD_NAMES: dict[str, tuple[str, Callable[[np.ndarray], np.ndarray]]] = {
    "falling ends": ("label_names.ends", lambda a: a[::-1]),
    "ends that wrap": ("label_names.ends", lambda a: np.where(a == a[3], -(2**63), a)),
    "ends beyond the bytes": ("label_names.ends", lambda a: a + 1),
    "too few ends": ("label_names.ends", lambda a: a[1:]),
    "small integers": ("label_names.ends", lambda a: a.astype(np.int32)),
    "fractions": ("label_names.ends", lambda a: a.astype(float)),
    "too few bytes": ("label_names.bytes", lambda a: a[:-1]),
    "half a character": ("label_names.bytes", lambda a: np.where(a == 0xC3, 0xFF, a).astype("u1")),
    "other bytes": ("label_names.bytes", lambda a: a.astype(np.int8)),
    "two axes": ("label_names.bytes", lambda a: a[None]),
}


@pytest.mark.parametrize("what", BAD_NAMES)
def test_names_that_do_not_fit_their_bytes(many: Path, what: str) -> None:
    name, change = BAD_NAMES[what]
    replace_array(many, name, change(stored_array(many, name)))
    refused(many, "a list of names")
