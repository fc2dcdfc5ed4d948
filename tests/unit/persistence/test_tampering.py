"""A folder that is not what was saved is refused before anything of it is used."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import vicinal
from vicinal._base.errors import ModelFormatError
from vicinal.estimators.pipeline import named_pipeline

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

    def vouch(body: dict[str, Any]) -> None:
        body["arrays"][name].update(
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


@pytest.mark.parametrize("part", ["os.system", "estimators.Unheard", 3, None])
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
    "labels of 2": lambda m: replace_array(
        m, "model.scoring.Y.data", load(m, "scoring.Y.data") * 2
    ),
    "label too high": lambda m: replace_array(
        m, "model.scoring.Y.indices", load(m, "scoring.Y.indices") + 5
    ),
}


def load(folder: Path, name: str) -> np.ndarray:
    return np.load(folder / f"model.{name}.npy")


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
