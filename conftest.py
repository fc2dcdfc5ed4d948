"""What the tests of the library and of the reproduction share."""

import sys
from collections.abc import Callable

import pytest
from hypothesis import settings

from vicinal.cli import main

# Speed is shown by benchmarks: a busy machine must not fail a test.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Run the program with these words; return exit code, output and errors."""

    def call(*words: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["vicinal", *map(str, words)])
        with pytest.raises(SystemExit) as stop:
            main()
        captured = capsys.readouterr()
        return int(stop.value.code or 0), captured.out, captured.err

    return call


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item):
    """Skip a test marked ``data`` whose data set is not available."""
    from vicinal._base.errors import DataNotFoundError

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
