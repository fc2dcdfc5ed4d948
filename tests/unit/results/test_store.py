import json
import math

import pytest

from vicinal.results import Result, ResultStore


def result(method="mlknn", value=0.25, **more):
    return Result("compare", "yeast", method, {"hamming-loss": (value, 0.5)}, **more)


def test_results_survive_a_round_trip(tmp_path):
    store = ResultStore(tmp_path / "deep" / "results.jsonl")
    whole = result(
        settings={"n_neighbors": 5, "threshold": None},
        seed=3,
        seconds={"fit": 0.25},
        per_label={"f1": (0.1, 0.9)},
        note="é",
        provenance={"cpu": "x"},
        label_names=("red", "é"),
    )
    store.add(whole)
    store.add(result("brknn"))
    assert store.read() == [whole, result("brknn")]
    assert ResultStore(store.path).keys() == {whole.key, result("brknn").key}


def test_nan_survives_as_null(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.add(result(value=math.nan))
    assert "NaN" not in store.path.read_text()
    (found,) = store.read()
    assert math.isnan(found.values["hamming-loss"][0])
    assert found.values["hamming-loss"][1] == 0.5


def test_later_result_of_the_same_key_replaces(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    for each in (result(value=0.1), result("brknn"), result(value=0.2)):
        store.add(each)
    assert store.read() == [result(value=0.2), result("brknn")]


def test_seeds_are_kept_apart(tmp_path):
    store = ResultStore(tmp_path / "results.jsonl")
    store.add(result(seed=0))
    store.add(result(seed=1))
    assert len(store.read()) == 2


@pytest.mark.parametrize("kept", [0, 1])
def test_an_incomplete_line_is_skipped_then_removed(tmp_path, kept):
    store = ResultStore(tmp_path / "results.jsonl")
    for _ in range(kept):
        store.add(result())
    with store.path.open("ab") as file:
        file.write(b'{"experiment": "comp')
    assert store.read() == [result()] * kept
    store.add(result("brknn"))
    assert store.read() == [result()] * kept + [result("brknn")]


@pytest.mark.parametrize(
    "line",
    ["not json", "[1]", "{}", '{"experiment":"e","data":"d","method":"m","values":{"a":"b"}}'],
)
def test_damaged_line_is_named(tmp_path, line):
    store = ResultStore(tmp_path / "results.jsonl")
    store.add(result())
    with store.path.open("a") as file:
        file.write(line + "\n")
    with pytest.raises(ValueError, match=r"results\.jsonl, line 2: expected a result"):
        store.read()


def test_absent_file_is_empty(tmp_path):
    assert ResultStore(tmp_path / "none").read() == []


def test_mean_and_deviation():
    one = Result("e", "d", "m", {"a": (1.0, 2.0, 6.0), "b": (4.0,)})
    assert (one.mean("a"), one.mean("b"), one.deviation("b")) == (3.0, 4.0, 0.0)
    assert one.deviation("a") == pytest.approx(7**0.5, rel=1e-15)
    with pytest.raises(ValueError, match="metric: expected one of a, b, got 'c'"):
        one.mean("c")


def test_lines_are_compact():
    assert set(json.loads(json.dumps(result().to_json()))) == {
        "experiment",
        "data",
        "method",
        "values",
    }
