"""A folder that is not what was saved is refused before anything of it is used."""

import hashlib
import json
import resource
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline

import vicinal
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.methods.pipeline import named_pipeline
from vicinal.persistence import arrays, folder
from vicinal.preprocess import MinMax, TextVectorizer

pytestmark = pytest.mark.native


@pytest.fixture(params=["brknn", "mlknn"])
def saved(request: pytest.FixtureRequest, sample: Any, make_method: Any, tmp_path: Path) -> Path:
    model = make_method(request.param, never_empty=True)
    model.fit(sparse.csr_array(sample.X), sample.Y).save(tmp_path / "m")
    return tmp_path / "m"


def edit_manifest(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the manifest and make its checksum right again, as an attacker would."""
    file = folder / "manifest.json"
    body = json.loads(file.read_text().split("\n", 1)[1])
    change(body)
    text = json.dumps(body, ensure_ascii=False, indent=1)
    file.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}\n")


def replace_array(folder: Path, name: str, array: np.ndarray, *, pickled: bool = False) -> None:
    """Put another array in place of one, with size and checksum right."""
    file = folder / f"{name}.npy"
    np.save(file, array, allow_pickle=pickled)
    vouch_for(folder, file)


def vouch_for(folder: Path, file: Path) -> None:
    """Make size and checksum of an array's file right again."""

    def vouch(body: dict[str, Any]) -> None:
        body["arrays"][file.stem].update(
            bytes=file.stat().st_size, sha256=hashlib.sha256(file.read_bytes()).hexdigest()
        )

    edit_manifest(folder, vouch)


def refused(folder: Path, match: str = ".", **options: Any) -> None:
    with pytest.raises(ModelFormatError, match=match):
        vicinal.load(folder, **options)


def test_helpers_leave_a_model_that_loads(saved: Path) -> None:
    edit_manifest(saved, lambda body: None)
    name = "model.X.data"
    replace_array(saved, name, np.load(saved / f"{name}.npy"))
    assert vicinal.load(saved).n_features_in_ == 6


def test_a_flipped_byte_in_any_file(saved: Path) -> None:
    files = sorted(saved.iterdir())
    assert len(files) > 5
    for file in files:
        whole = file.read_bytes()
        for at in (0, len(whole) // 2, len(whole) - 2):
            broken = bytearray(whole)
            broken[at] ^= 0x10
            file.write_bytes(broken)
            refused(saved)
        file.write_bytes(whole)
    vicinal.load(saved)


def test_a_missing_cut_or_longer_file(saved: Path) -> None:
    for file in sorted(saved.iterdir()):
        whole = file.read_bytes()
        for broken in (None, b"", whole[: len(whole) // 2], whole[:-2]):
            file.unlink() if broken is None else file.write_bytes(broken)
            refused(saved)
            refused(saved, verify=False)
        file.write_bytes(whole + b"x")
        refused(saved)
        file.write_bytes(whole)


def test_no_model_at_all(tmp_path: Path) -> None:
    refused(tmp_path / "nothing", "found no manifest.json")
    refused(tmp_path, "found no manifest.json")
    (tmp_path / "manifest.json").write_text("{}")
    refused(tmp_path, "expected a checksum and JSON")


@pytest.mark.parametrize("number", [2, 0, "1", None, 1.5])
def test_another_format_number(saved: Path, number: Any) -> None:
    edit_manifest(saved, lambda body: body.update(format=number))
    refused(saved, "expected format 1")


@pytest.mark.parametrize("name", ["../x.npy", "/etc/passwd", "a/b.npy", "x.npy\n", "", 3, None])
def test_file_names_that_lead_elsewhere(saved: Path, name: Any) -> None:
    np.save(saved.parent / "x.npy", np.zeros(3))
    edit_manifest(saved, lambda body: body["arrays"]["model.X.data"].update(file=name))
    refused(saved, "without a file name")


@pytest.mark.parametrize("part", ["os.system", "methods.Unheard", 3, None])
def test_unknown_parts(saved: Path, part: Any) -> None:
    edit_manifest(saved, lambda body: body["model"].update({"$part": part}))
    refused(saved, "part")


def test_object_arrays_are_not_unpickled(saved: Path) -> None:
    bomb = np.array([print], dtype=object)
    replace_array(saved, "model.X.data", bomb, pickled=True)
    refused(saved, "not an array")


BAD_FEATURES: dict[str, Callable[[Path], None]] = {
    "NaN": lambda m: replace_array(m, "model.X.data", bad_data(m, np.nan)),
    "infinity": lambda m: replace_array(m, "model.X.data", bad_data(m, np.inf)),
    "complex": lambda m: replace_array(m, "model.X.data", load(m, "X.data").astype(complex)),
    "text": lambda m: replace_array(m, "model.X.data", load(m, "X.data").astype("U8")),
    "fewer values": lambda m: replace_array(m, "model.X.data", load(m, "X.data")[:-1]),
    "two-dimensional": lambda m: replace_array(m, "model.X.data", load(m, "X.data")[:, None]),
    "column too high": lambda m: replace_array(m, "model.X.indices", load(m, "X.indices") + 6),
    "negative column": lambda m: replace_array(m, "model.X.indices", load(m, "X.indices") - 1),
    "float columns": lambda m: replace_array(
        m, "model.X.indices", load(m, "X.indices").astype(float)
    ),
    "falling pointer": lambda m: replace_array(m, "model.X.indptr", load(m, "X.indptr")[::-1]),
    "pointer past the end": lambda m: replace_array(m, "model.X.indptr", load(m, "X.indptr") + 1),
    "short pointer": lambda m: replace_array(m, "model.X.indptr", load(m, "X.indptr")[:-1]),
    "pointer whose differences wrap": lambda m: replace_array(
        m, "model.X.indptr", wrapping(load(m, "X.indptr"))
    ),
    "label pointer whose differences wrap": lambda m: replace_array(
        m, "model.scoring.Y.indptr", wrapping(load(m, "scoring.Y.indptr"))
    ),
    "labels of 2": lambda m: replace_array(
        m, "model.scoring.Y.data", load(m, "scoring.Y.data") * 2
    ),
    "label too high": lambda m: replace_array(
        m, "model.scoring.Y.indices", load(m, "scoring.Y.indices") + 5
    ),
}


def load(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"model.{name}.npy")


def wrapping(indptr: np.ndarray) -> np.ndarray:
    """Return row starts that fall, though no difference of neighbours is negative."""
    broken = indptr.astype(np.int32)
    broken[3:5] = 1_500_000_000, -1_294_967_296
    return broken


def bad_data(folder: Path, value: float) -> np.ndarray:
    data = load(folder, "X.data").copy()
    data[3] = value
    return data


@pytest.mark.parametrize("what", BAD_FEATURES)
def test_arrays_that_do_not_fit(saved: Path, what: str) -> None:
    BAD_FEATURES[what](saved)
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


def test_nesting_without_end(saved: Path) -> None:
    file = saved / "manifest.json"
    text = "[" * 100_000
    file.write_text(f"{hashlib.sha256(text.encode()).hexdigest()}\n{text}")
    refused(saved)


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


def test_a_manifest_without_end_is_not_read(saved: Path) -> None:
    """Two gigabytes that take no room on disk: a hole in a file."""
    file = saved / "manifest.json"
    with file.open("r+b") as stream:
        stream.truncate(2**31)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    refused(saved, "expected a manifest of at most 268435456 bytes, got more")
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


START = b"{'descr': '<f8', 'fortran_order': False, 'shape': "


@pytest.mark.parametrize(
    "header",
    [
        START + b"(3",
        START + b"(" + b"9" * 3000 + b",)}",
        START + b"(-1,)}",
        START + b"(True,)}",
        START + b"3}",
        START + b"(1, 3, 2**70)}",
        b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (3,)}",
        b"{'descr': '|O', 'fortran_order': False, 'shape': (3,)}",
        b"{'descr': '|V8', 'fortran_order': False, 'shape': (3,)}",
        b"{'descr': '<f8', 'shape': (3,)}",
        b"(" * 5000,
        b"-" * 5000 + b"1",
        b"'" * 3,
        b"\xff\xfe",
        b"\0",
        b"",
    ],
)
def test_headers_of_arrays_that_are_none(saved: Path, header: bytes) -> None:
    file = saved / "model.X.data.npy"
    file.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(24))
    vouch_for(saved, file)
    refused(saved, "not an array")


@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", b"\x93NUMPY\x09\x00xxxx", b"x" * 100])
def test_files_without_a_header(saved: Path, content: bytes) -> None:
    file = saved / "model.X.data.npy"
    file.write_bytes(content)
    vouch_for(saved, file)
    refused(saved, "not an array")


@pytest.mark.parametrize("entry", [[], {"file": "model.X.data.npy"}, {"bytes": -1}, {"bytes": 1e9}])
def test_entries_of_arrays_that_say_too_little(saved: Path, entry: Any) -> None:
    whole = {"file": "model.X.data.npy", **entry} if isinstance(entry, dict) else entry
    edit_manifest(saved, lambda body: body["arrays"].update({"model.X.data": whole}))
    refused(saved)


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


@pytest.mark.parametrize("listed", [None, [], "model.X.data.npy"])
def test_a_manifest_that_lists_no_arrays(saved: Path, listed: Any) -> None:
    edit_manifest(saved, lambda body: body.update(arrays=listed))
    refused(saved, "the manifest lists no arrays")


def test_more_arrays_than_a_model_has(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrays, "MOST_ARRAYS", 3)
    refused(saved, "expected at most 3 arrays, got")


@pytest.mark.parametrize("model", [None, 3, ["a model"], {"name": "a model"}])
def test_a_manifest_without_a_model(saved: Path, model: Any) -> None:
    edit_manifest(saved, lambda body: body.update(model=model))
    refused(saved, "the manifest holds no model")


def test_row_ids_that_do_not_increase(saved: Path) -> None:
    ids = np.arange(50)
    for bad in (ids[::-1], np.where(ids == 3, 2, ids), ids - 1, ids + 1):
        replace_array(saved, "model.row_ids", bad.copy())
        refused(saved, "row_ids: expected increasing ids from 0 to 49")


def test_a_model_saved_before_its_threshold_had_an_age(saved: Path, sample: Any) -> None:
    edit_manifest(saved, lambda body: body["model"]["state"].pop("calibration"))
    assert vicinal.load(saved).predict(sample.X_test).shape == (20, 5)


def test_an_array_that_claims_another_size(saved: Path) -> None:
    file = saved / "model.X.data.npy"
    file.write_bytes(file.read_bytes() + bytes(8))
    vouch_for(saved, file)
    refused(saved, "not an array: shape .* in")


def test_an_error_of_python_while_a_part_is_built(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr(folder, "decode", fails)
    refused(saved, "OverflowError: too large")
