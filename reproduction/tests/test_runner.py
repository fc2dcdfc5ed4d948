"""Units: what is missing is run, what is there is not, absent data are named."""

from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

import pytest

import vicinal_reproduction.runner as runner
from vicinal._core.threads import thread_count
from vicinal.datasets import Dataset
from vicinal.results import Result
from vicinal_reproduction.results.stores import Stores
from vicinal_reproduction.specification import Experiment, Method, Paper
from vicinal_reproduction.specs.registry import PAPERS, find_experiment


@dataclass
class Recorder:
    """A protocol that writes down what it was asked, and may break off."""

    asked: list
    breaks_after: int | None = None

    def quick(self) -> "Recorder":
        return self

    def run(self, job):
        for at, name in enumerate(job.methods):
            if at == self.breaks_after:
                raise KeyboardInterrupt
            self.asked.append((job.data, name, job.seed))
            yield Result(job.experiment, job.data, name, {"hamming-loss": (0.5,)}, seed=job.seed)


@pytest.fixture
def recorder() -> Recorder:
    return Recorder([])


@pytest.fixture
def paper(monkeypatch: pytest.MonkeyPatch, recorder: Recorder, small: Dataset) -> Paper:
    methods = {name: Method(lambda seed: None) for name in ("a", "b")}
    one = Experiment("test/one", "", ("here", "gone"), methods, recorder, seeds=(1, 2))
    monkeypatch.setattr(runner, "find_experiment", lambda name: one)
    monkeypatch.setattr(runner, "read", lambda name: small)
    monkeypatch.setattr(runner, "is_available", lambda name: name != "gone")
    return Paper("test", "", (one,), ())


def test_unavailable_data_is_reported_and_skipped(paper, recorder, tmp_path: Path):
    said: list[str] = []
    stores = Stores(tmp_path)
    assert runner.run_units(runner.units([paper], stores), stores, say=said.append) == 2
    assert said[0] == "gone: data not available locally, skipped"
    assert {data for data, _, _ in recorder.asked} == {"here"}


def test_an_interrupted_run_resumes_where_it_stopped(paper, recorder, tmp_path: Path):
    stores = Stores(tmp_path)
    recorder.breaks_after = 1
    with pytest.raises(KeyboardInterrupt):
        runner.run_units(runner.units([paper], stores), stores, say=lambda _: None)
    assert recorder.asked == [("here", "a", 1)]
    recorder.breaks_after = None
    runner.run_units(runner.units([paper], stores), stores, say=lambda _: None)
    assert recorder.asked[1:] == [("here", "b", 1), ("here", "a", 2), ("here", "b", 2)]
    assert [unit.data for unit in runner.units([paper], stores)] == ["gone", "gone"]


def test_quick_takes_one_data_set_and_one_seed(paper, tmp_path: Path):
    quick = runner.units([paper], Stores(tmp_path), quick=True)
    assert [(unit.data, unit.seed, unit.quick) for unit in quick] == [("here", 1, True)]


def test_a_table_asks_for_its_own_experiments_only(tmp_path: Path):
    zhang = PAPERS["zhang2007"]
    asked = {unit.experiment for unit in runner.units([zhang], Stores(tmp_path), tables=("1",))}
    assert asked == {"zhang2007/folds"}
    asked = {unit.experiment for unit in runner.units([zhang], Stores(tmp_path), tables=("15",))}
    assert asked == {"zhang2007/yahoo", "zhang2007/yahoo-rivals"}


def test_cheap_experiments_come_first(tmp_path: Path):
    found = runner.units(PAPERS.values(), Stores(tmp_path))
    costs = [find_experiment(unit.experiment).cost for unit in found]
    assert costs == sorted(costs)


def test_an_unknown_experiment_is_refused():
    with pytest.raises(ValueError, match="expected the name of an experiment"):
        find_experiment("zhang2007/nothing")


def test_results_record_processor_time(paper, tmp_path: Path, monkeypatch):
    ticks = iter([1.0, 3.5, 4.0, 4.25])
    monkeypatch.setattr(runner, "process_time", lambda: next(ticks, 5.0))
    unit = runner.Unit("test/one", "here", 1, ("a", "b"))
    first, second = unit.run()
    assert first.seconds == {"processor": 2.5}
    assert second.seconds == {"processor": 0.25}


@dataclass
class Surroundings:
    """A protocol that yields what a job finds: its backend, and how many threads it may use."""

    def quick(self) -> "Surroundings":
        return self

    def run(self, job):
        found = {"threads": (thread_count(),), job.backend: (1.0,)}
        yield Result(job.experiment, job.data, "a", found, seed=job.seed)


def test_a_process_of_several_uses_its_share_of_the_cores(paper, monkeypatch):
    one = Experiment("test/one", "", ("here",), {"a": Method(lambda seed: None)}, Surroundings())
    monkeypatch.setattr(runner, "find_experiment", lambda name: one)
    (result,) = runner._finished(runner.Unit("test/one", "here", 1, ("a",)), threads=3)
    assert result.values["threads"] == (3,)


def test_the_backend_reaches_the_job(paper, monkeypatch, tmp_path: Path):
    one = Experiment("test/one", "", ("here",), {"a": Method(lambda seed: None)}, Surroundings())
    monkeypatch.setattr(runner, "find_experiment", lambda name: one)
    stores = Stores(tmp_path)
    whole = Paper("test", "", (one,), ())
    runner.run_units(runner.units([whole], stores, backend="torch"), stores, say=lambda _: None)
    assert all("torch" in result.values for result in stores.of("test").read())
    assert len(stores.of("test").read()) == 3


def test_of_several_at_a_time_the_dearest_begins_first(paper, monkeypatch):
    begun = []

    class Pool:
        def __init__(self, *args, **kwargs):
            pass

        def __enter__(self):
            return self

        def __exit__(self, *args):
            pass

        def submit(self, call, unit, threads):
            begun.append((unit.data, threads))
            future = Future()
            future.set_result([])
            return future

    monkeypatch.setattr(runner, "ProcessPoolExecutor", Pool)
    monkeypatch.setattr(runner, "thread_count", lambda: 5)
    todo = [runner.Unit("test/one", data, 1, ("a",)) for data in ("cheap", "dear")]
    assert list(runner._run_in_processes(todo, 2, lambda _: None)) == []
    assert begun == [("dear", 2), ("cheap", 2)]
