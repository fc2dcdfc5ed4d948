"""The option ``--processes`` of the test suite, ``tests/support/processes.py``."""

import re
import signal
import sys
from pathlib import Path

import pytest

SUPPORT = Path(__file__).parents[1] / "support"
SUITE = """
import os
from pathlib import Path
import pytest

FOLDER = Path(__file__).parent

@pytest.fixture(scope="session")
def owner():
    with open(FOLDER / f"owner-{os.getpid()}", "w") as file:
        yield file
        file.write("closed")

@pytest.mark.parametrize("number", range(100))
def test_many(number, owner, tmp_path):
    (FOLDER / f"ran-{number}").touch(exist_ok=False)
    print("said by", number)
    assert number != 57, f"number {number}"
    if number == 58:
        pytest.skip("not today")
"""
DYING = """
import os, signal, warnings

def test_before(): pass
def test_dies(): os.kill(os.getpid(), signal.SIGKILL)
def test_between(): pass
def test_leaves(): os._exit(3)
def test_warns(): warnings.warn("mind the gap")
def test_after(): pass
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")


@pytest.fixture
def run_suite(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch):
    """Run a suite in a folder of its own with three processes; return what pytest said."""
    monkeypatch.setenv("PYTHONPATH", str(SUPPORT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # schemathesis takes seconds

    def run(*options: str, **files: str) -> pytest.RunResult:
        pytester.makepyfile(**files)
        plugins = ("-p", "processes", "-p", "pytest_timeout", "-p", "no:cacheprovider")
        return pytester.runpytest_subprocess(*plugins, "--processes", "3", *options)

    return run


def test_every_test_runs_once_and_fixtures_end(run_suite, pytester: pytest.Pytester) -> None:
    result = run_suite(test_suite=SUITE)
    result.assert_outcomes(passed=98, failed=1, skipped=1)
    assert result.ret == 1
    assert "said by 57" in result.stdout.str()  # what only this test wrote
    assert "said by 56" not in result.stdout.str()
    assert {path.name for path in pytester.path.glob("ran-*")} == {f"ran-{n}" for n in range(100)}
    owners = list(pytester.path.glob("owner-*"))
    assert len(owners) == 3  # 40, 40 and 20 tests
    assert {path.read_text() for path in owners} == {"closed"}


def test_a_process_that_dies_fails_its_test_only(run_suite) -> None:
    result = run_suite("-rA", test_dying=DYING, test_suite="def test_other(): pass")
    result.assert_outcomes(passed=5, failed=2, warnings=1)
    said = result.stdout.str()
    assert "the process of this test ended by SIGKILL" in said
    assert "the process of this test ended by exit code 3" in said
    assert "mind the gap" in said
    failed = re.findall(r"^FAILED \S+::(\w+)", said, flags=re.MULTILINE)
    assert sorted(failed) == ["test_dies", "test_leaves"]


def test_the_first_failure_or_an_interrupt_stops_the_others(run_suite) -> None:
    waits = "import time\ndef test_waits(): time.sleep(60)"
    result = run_suite("-x", test_fails="def test_fails(): assert 0", test_waits=waits)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    assert result.duration < 30
    interrupts = f"import os\ndef test_interrupts(): os.kill(os.getppid(), {int(signal.SIGINT)})"
    result = run_suite(test_fails=interrupts, test_waits=waits)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    assert result.duration < 30


def test_processes_of_joblib_end_with_those_of_the_tests(run_suite) -> None:
    test = """
import joblib, os
def test_{0}():
    numbers = joblib.Parallel(n_jobs=2, backend="loky")(joblib.delayed(os.getpid)() for _ in "ab")
    open("{0}", "w").write(str(numbers[0]))
"""
    result = run_suite(test_one=test.format("one"), test_other=test.format("other"))
    result.assert_outcomes(passed=2)
    assert result.ret == 0
    for name in ("one", "other"):
        assert not Path("/proc", Path(name).read_text()).exists()


def test_a_test_that_takes_too_long_is_named(run_suite) -> None:
    waits = "import time\ndef test_waits(): time.sleep(60)\ndef test_after(): pass"
    result = run_suite("--timeout", "0.5", test_waits=waits, test_other="def test_other(): pass")
    result.assert_outcomes(passed=2, failed=1)
    assert "Timeout" in result.stdout.str()
