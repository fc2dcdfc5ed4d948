"""What the tests of the library and of the reproduction share."""

import gc
import logging
import os
import sys
from collections.abc import Callable
from functools import cache

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import settings

# Speed is shown by benchmarks: a busy machine must not fail a test.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

SLOW_TO_START = ("tests/cluster/", "tests/service/test_server.py", "tests/browser/")
"""Tests that share something that takes seconds to start, and then mostly wait."""
FEW = 4
"""Up to this many processes, one runs all tests of ``SLOW_TO_START`` while the others compute."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Hand out tests by file, but those that mostly wait together."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class WaitingTogether(LoadFileScheduling):
        def _split_scope(self, nodeid):
            for start in SLOW_TO_START:
                if nodeid.startswith(start):
                    return SLOW_TO_START[0] if len(self.nodes) <= FEW else start
            return super()._split_scope(nodeid)

    return WaitingTogether(config, log)


@pytest.fixture(scope="session")
def commands():
    """Return what reads the signatures of all commands, once instead of at each call."""
    from typer.main import get_command

    return cache(get_command)


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], commands
) -> Callable[..., tuple[int, str, str]]:
    """Run the program with these words; return exit code, output and errors."""
    from vicinal.cli import main

    monkeypatch.setattr("typer.main.get_command", commands)

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["vicinal", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return call


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Let the garbage collector pass over what is imported and collected: it all stays."""
    gc.disable()
    result = yield
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()
    return result


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Look for examples only in files that hold some: to look for them takes an import."""
    found = yield
    if file_path.suffix == ".py" and b">>> " not in file_path.read_bytes():
        return [each for each in found if not isinstance(each, DoctestModule)]
    return found


@pytest.fixture(autouse=True)
def quick_disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Do not wait for the disk, except in tests marked ``durability``: each call takes 10 ms."""
    if request.node.get_closest_marker("durability") is None:
        monkeypatch.setattr(os, "fsync", os.fstat)


def pytest_configure():
    """Set the log level once instead of around every test: Python visits every logger each time."""
    logging.getLogger().setLevel(logging.INFO)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip a test marked ``data`` whose data set is not available."""
    from vicinal.errors import DataNotFoundError

    try:
        return (yield)
    except DataNotFoundError as error:
        if item.get_closest_marker("data") is None:
            raise
        pytest.skip(f"data set not available: {str(error).partition(':')[0]}")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Show no lines of an expected failure: to find them takes longer than the test."""
    if call.excinfo is not None and item.get_closest_marker("xfail") is not None:
        item.repr_failure = lambda error: str(error.value)
    return (yield)
