"""What is in the store is not run again, unless it is of other data, settings or version."""

import importlib
import json
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import vicinal
from vicinal.datasets import Dataset
from vicinal.decision import CardinalityThreshold, LabelThresholds
from vicinal.methods import LAMLkNN, MLkNN
from vicinal.results import ResultStore, digest_of, plain, source_hash
from vicinal.selection import runner

pytestmark = pytest.mark.native


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.random((30, 3))
    return Dataset(
        X, (X[:, :2] > 0.5).astype(int), feature_names=tuple("abc"), label_names=("x", "y")
    )


@pytest.fixture
def ran(monkeypatch):
    """The methods that were run, one entry a fold."""
    names = []
    original = runner.measure_fits

    def counted(grid, *rest, **more):
        names.append(grid.method)
        return original(grid, *rest, **more)

    monkeypatch.setattr(runner, "measure_fits", counted)
    return names


@pytest.fixture
def compare(data, tmp_path):
    def call(methods=None, given=data, **more):
        store = tmp_path / "results.jsonl"
        methods = {"a": MLkNN(3), "b": MLkNN(5)} if methods is None else methods
        return vicinal.compare({"d": given}, methods, **{"folds": 3, "store": store, **more})

    return call


def test_a_second_run_gives_the_same_results_and_runs_nothing(compare, ran, tmp_path):
    first = compare()
    assert ran == ["a", "b"] * 3
    lines = (tmp_path / "results.jsonl").read_text()
    assert compare() == first
    assert ran == ["a", "b"] * 3
    assert (tmp_path / "results.jsonl").read_text() == lines
    assert ResultStore(tmp_path / "results.jsonl").read() == first


def test_only_what_is_missing_is_run(compare, ran):
    compare()
    ran.clear()
    compare({"a": MLkNN(3), "b": MLkNN(5), "c": "brknn"})
    assert ran == ["c"] * 3
    ran.clear()
    compare(seeds=(0, 1))
    assert ran == ["a", "b"] * 3


@pytest.mark.parametrize(
    ("change", "again"),
    [
        ({"methods": {"a": MLkNN(3), "b": MLkNN(4)}}, ["b"] * 3),
        ({"methods": {"a": MLkNN(3), "b": MLkNN(5, threshold=0.4)}}, ["b"] * 3),
        ({"methods": {"a": MLkNN(3, n_jobs=1), "b": MLkNN(5)}}, []),
        ({"preprocess": "none"}, ["a", "b"] * 3),
        ({"folds": 2}, ["a", "b"] * 2),
        ({"metrics": ["hamming-loss"]}, []),
        ({"metrics": ["precision@2"]}, ["a", "b"] * 3),
        ({"n_jobs": 1}, []),
    ],
)
def test_other_settings_are_run_again(compare, ran, change, again):
    compare()
    ran.clear()
    compare(**change)
    assert ran == again
    ran.clear()
    compare(**change)
    assert ran == []


def test_other_data_under_the_same_name_are_run_again(compare, ran, data):
    old = compare()
    ran.clear()
    changed = data.X.copy()
    changed[0, 0] += 1e-9
    new = compare(
        given=Dataset(
            changed, data.Y, feature_names=data.feature_names, label_names=data.label_names
        )
    )
    assert ran == ["a", "b"] * 3
    assert new[0].provenance["data"] != old[0].provenance["data"]


def test_results_of_another_version_are_run_again(compare, ran, tmp_path):
    compare()
    ran.clear()
    store = tmp_path / "results.jsonl"
    lines = [json.loads(line) for line in store.read_text().splitlines()]
    lines[0]["provenance"]["vicinal"] = "0.0.1"
    store.write_text("".join(json.dumps(line) + "\n" for line in lines))
    compare()
    assert ran == ["a"] * 3


def test_an_interrupted_run_resumes(compare, ran, monkeypatch):
    counted = runner.measure_fits

    def stopped(*arguments, **more):
        if len(ran) == 6:  # all folds of the first seed
            raise KeyboardInterrupt
        return counted(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "measure_fits", stopped)
        with pytest.raises(KeyboardInterrupt):
            compare(seeds=(0, 1))
    ran.clear()
    assert len(compare(seeds=(0, 1))) == 4
    assert ran == ["a", "b"] * 3


@pytest.mark.parametrize("trials", [1, 2, 3, 5])
def test_a_run_stopped_within_a_round_does_no_trial_twice(
    compare, ran, monkeypatch, tmp_path, trials
):
    whole = compare(store=None)
    ran.clear()
    counted = runner.measure_fits

    def stopped(*arguments, **more):
        if len(ran) == trials:
            raise KeyboardInterrupt
        return counted(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "measure_fits", stopped)
        with pytest.raises(KeyboardInterrupt):
            compare()
    assert not (tmp_path / "results.jsonl").exists()
    with (tmp_path / "results.jsonl.unfinished").open("ab") as file:
        file.write(b'{"work": "cut o')
    resumed = compare()
    assert ran == ["a", "b"] * 3
    for got, expected in zip(resumed, whole, strict=True):
        times = {"seconds": 0, "fold_seconds": 0}
        assert got.to_json() | times == expected.to_json() | times
        assert set(got.seconds) == set(expected.seconds)
    left = {file.name for file in tmp_path.iterdir() if file.suffix != ".lock"}
    assert left == {"results.jsonl"}


@pytest.mark.parametrize(
    "change",
    [
        {"methods": {"a": MLkNN(4)}},
        {"preprocess": "none"},
        {"folds": 2},
        {"metrics": ["hamming-loss", "precision@2"]},
        {"seeds": [1]},
    ],
)
def test_trials_of_another_run_are_not_taken_for_its_own(compare, ran, monkeypatch, change):
    counted = runner.measure_fits

    def stopped(*arguments, **more):
        if len(ran) == 2:
            raise KeyboardInterrupt
        return counted(*arguments, **more)

    methods = {"methods": {"a": MLkNN(3)}}
    with monkeypatch.context() as patch:
        patch.setattr(runner, "measure_fits", stopped)
        with pytest.raises(KeyboardInterrupt):
            compare(**methods)
    ran.clear()
    compare(**(methods | change))
    assert ran == ["a"] * change.get("folds", 3)


@pytest.mark.parametrize("line", ["{}", "[]", '{"work": ["k"], "metrics": 3}', "text"])
def test_a_damaged_trial_is_named(compare, tmp_path, line):
    (tmp_path / "results.jsonl.unfinished").write_text(line + "\n")
    with pytest.raises(ValueError, match="unfinished, line 1: expected a fold of a comparison"):
        compare()


def test_a_method_without_scores_is_not_run_again_for_ranking_metrics(compare, ran):
    class Quiet(BaseEstimator):
        def fit(self, X, Y):
            return self

        def predict(self, X):
            return np.zeros((X.shape[0], 2), dtype=int)

    compare({"quiet": Quiet()})
    ran.clear()
    compare({"quiet": Quiet()})
    assert ran == []


def test_settings_tell_parameters_apart_and_survive_json():
    one = plain(LAMLkNN(centers=np.zeros((2, 3))).get_params())
    two = plain(LAMLkNN(centers=np.full((2, 3), 1e-12)).get_params())
    assert one != two
    assert one == plain(LAMLkNN(centers=np.zeros((2, 3))).get_params())
    assert json.loads(json.dumps(one, allow_nan=False)) == one
    assert plain(float("nan")) == "nan"
    assert plain(CardinalityThreshold()) == plain(CardinalityThreshold())
    assert plain(object()) == plain(object())


@pytest.mark.parametrize(("place", "more"), [(2000, 0.5), (0, 1e-12)])
def test_rules_with_many_thresholds_have_different_digests(place, more):
    one, two = np.full(4000, 0.1), np.full(4000, 0.1)
    two[place] += more
    rules = LabelThresholds(one), LabelThresholds(two)
    assert plain(rules[0]) != plain(rules[1])
    assert plain(rules[0]) == plain(LabelThresholds(one.copy()))
    assert digest_of("threshold", rules[0]) != digest_of("threshold", rules[1])


def test_trials_are_reused_for_fewer_metrics(compare, ran, monkeypatch):
    counted = runner.measure_fits

    def stopped(*arguments, **more):
        if len(ran) == 2:
            raise KeyboardInterrupt
        return counted(*arguments, **more)

    with monkeypatch.context() as patch:
        patch.setattr(runner, "measure_fits", stopped)
        with pytest.raises(KeyboardInterrupt):
            compare({"a": MLkNN(3)})
    ran.clear()
    (found,) = compare({"a": MLkNN(3)}, metrics=["hamming-loss"])
    assert ran == ["a"]
    assert list(found.values) == ["hamming-loss"]


OWN_METHOD = """
import numpy as np
from sklearn.base import BaseEstimator
from helper_of_{name} import LABEL

class Constant(BaseEstimator):
    def fit(self, X, Y):
        self.n_labels_ = Y.shape[1]
        return self

    def predict(self, X):
        answer = np.zeros((X.shape[0], self.n_labels_), dtype=int)
        answer[:, LABEL] = {value}
        return answer
"""


@pytest.fixture
def own_method(tmp_path, monkeypatch):
    """Write a method of one's own and the module it imports, and return its class."""
    monkeypatch.syspath_prepend(tmp_path)
    name = "own_method_of_a_test"

    def write(value=1, label=0):
        (tmp_path / f"{name}.py").write_text(OWN_METHOD.format(name=name, value=value))
        (tmp_path / f"helper_of_{name}.py").write_text(f"LABEL = {label}\n")
        for module in (name, f"helper_of_{name}"):
            sys.modules.pop(module, None)
        importlib.invalidate_caches()
        return importlib.import_module(name).Constant

    yield write
    for module in (name, f"helper_of_{name}"):
        sys.modules.pop(module, None)


@pytest.mark.parametrize("change", [{"value": 0}, {"label": 1}])
def test_a_changed_method_is_run_again(compare, ran, own_method, change, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    (old,) = compare({"own": own_method()()})
    ran.clear()
    assert compare({"own": own_method()()}) == [old]
    assert ran == []
    (new,) = compare({"own": own_method(**change)()})
    assert ran == ["own"] * 3
    assert new.values["hamming-loss"] != old.values["hamming-loss"]
    assert new.provenance["source"] != old.provenance["source"]


def test_a_method_inside_a_pipeline_is_hashed_too(own_method):
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    one = make_pipeline(FunctionTransformer(), own_method()())
    before = source_hash(one)
    two = make_pipeline(FunctionTransformer(), own_method(value=0)())
    assert before != source_hash(two)
    assert source_hash(MLkNN(threshold=0.5)) == ""


def test_rerun_computes_everything_again(compare, ran):
    compare()
    ran.clear()
    compare(rerun=True)
    assert ran == ["a", "b"] * 3


def test_provenance_names_command_folds_and_seconds(compare, data):
    (first, _), (other, _) = compare(), compare(seeds=[1])
    assert first.provenance["command"]
    assert first.provenance["folds"] != other.provenance["folds"]
    assert {step: len(each) for step, each in first.fold_seconds.items()} == {
        "fit": 3,
        "predict": 3,
        "search": 3,
    }
    assert sum(first.fold_seconds["fit"]) == pytest.approx(first.seconds["fit"])
