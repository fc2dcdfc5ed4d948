"""The tool for mutation tests: what is changed, which tests run, what counts as killed."""

import doctest
import gc
import importlib
import os
import signal
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[2] / "tools"
# Python warns of forks beside threads; these forks start no thread and end at once.
pytestmark = pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")


@pytest.fixture
def tool(monkeypatch):
    monkeypatch.syspath_prepend(str(TOOLS))
    return lambda name: importlib.import_module(f"mutation.{name}")


@pytest.fixture
def written(tool, tmp_path, monkeypatch):
    """Return what writes a module, imports it and lists its mutants."""
    mutants = tool("mutants")
    monkeypatch.setattr(mutants, "ROOT", tmp_path)
    monkeypatch.setattr(mutants, "SOURCE", tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))

    def write(text):
        path = tmp_path / "changed_by_a_test.py"
        path.write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, path.stem, raising=False)
        importlib.invalidate_caches()
        return importlib.import_module(path.stem), mutants.mutants(path)

    yield write
    gc.freeze()  # as it was before the tool looked for functions


def test_examples_of_the_tool(tool):
    for name in ("forks", "mutants", "reached", "trials"):
        assert doctest.testmod(tool(name)).failed == 0


def test_a_changed_function_is_changed_for_whoever_holds_it(tool, written):
    module, found = written("LIMIT = 3\ndef is_low(x):\n    return x < LIMIT\n")
    assert [(each.change, each.in_function) for each in found] == [
        ("3 → 4", False),
        ("x < LIMIT → x <= LIMIT", True),
    ]
    held = module.is_low
    assert not held(3)
    tool("mutants").change_functions(found[1], tool("mutants").live_functions(found[1].path))
    assert held(3)


def test_equal_functions_on_one_line_are_told_apart(tool, written):
    module, found = written("PAIR = (lambda x: x + 1, lambda x: x + 1)\n")
    assert [each.change for each in found] == ["x + 1 → x - 1", "1 → 2"] * 2
    tool("mutants").change_functions(found[0], tool("mutants").live_functions(found[0].path))
    assert [function(1) for function in module.PAIR] == [0, 2]


@pytest.fixture
def reached(tool, written):
    """What three tests reach in a module: a constant, a function and one that imports call."""
    _, found = written("A = 1\ndef f(x):\n    return x + 2\ndef g():\n    return 5\nB = g()\n")
    lines = {str(found[0].path): {3: {"one.py::quick", "two.py::slow"}}}
    seconds = {"one.py::quick": 1.0, "two.py::slow": 5.0, "one.py::other": 0.5}
    by_change = {mutant.change: mutant for mutant in found}
    return tool("reached").Reached(seconds, lines), by_change


def test_a_function_is_tried_with_the_tests_that_reach_it(reached):
    found, mutants = reached
    assert found.in_function(mutants["x + 2 → x - 2"])
    assert found.tests(mutants["x + 2 → x - 2"], 9) == ["one.py::quick", "two.py::slow"]
    assert found.tests(mutants["x + 2 → x - 2"], 4) == ["one.py::quick"]


@pytest.mark.parametrize("change", ["1 → 2", "5 → 6"])
def test_what_an_import_computes_is_tried_with_every_test(reached, change):
    found, mutants = reached
    assert not found.in_function(mutants[change])
    every = ["one.py::quick", "two.py::slow", "one.py::other"]
    assert found.tests(mutants[change], 9) == every
    assert found.tests(mutants[change], 6) == every[:2]


def run_trials(tool, attempt, tests=("a", "b", "c"), n_trials=3):
    trials = tool("trials")
    each = [trials.Trial(name, tests, attempt, limit=10) for name in range(n_trials)]
    return trials.try_all(each, trials.Run(2, 1.0, trials.Record(None)))


def test_a_test_that_fails_only_with_the_change_kills(tool):
    """The tests up to the one that failed are run without the change, once for all mutants."""
    without_change = tool("forks").SharedNumber()

    def attempt(mutant, tests, begun):
        begun.value = 2
        if mutant is None:
            without_change.value += len(tests)
            return 0
        return 1

    assert run_trials(tool, attempt) == {"killed": 3, "survived": 0, "timed out": 0}
    assert without_change.value == 2


def test_a_test_that_fails_without_the_change_kills_nothing(tool):
    def attempt(mutant, tests, begun):
        begun.value = len(tests) - 1 if mutant else 1
        return 1

    with pytest.raises(RuntimeError, match=r"fail without any change if run in this order: a$"):
        run_trials(tool, attempt)


def test_how_a_fork_ends_is_its_outcome(tool, capfd):
    def attempt(mutant, tests, begun):
        if mutant == 0:
            os.kill(os.getpid(), signal.SIGXCPU)
        return int(mutant == 1)

    assert run_trials(tool, attempt) == {"killed": 1, "survived": 1, "timed out": 1}


def test_an_error_of_the_tool_is_no_kill(tool):
    def attempt(mutant, tests, begun):
        raise KeyError("an error of the tool")

    with pytest.raises(RuntimeError, match="the tests could not be run"):
        run_trials(tool, attempt)
