"""Try mutants, each in a fork, to see which of them a test notices."""

import contextlib
import gc
import importlib
import itertools
import os
import resource
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, cast

import pytest

from mutation.collecting import collected, run_item
from mutation.forks import BROKEN, SharedNumber, answer_of, forked, print_line
from mutation.mutants import (
    SOURCE,
    Mutant,
    change_at_import,
    change_functions,
    live_functions,
    module_of,
)
from mutation.reached import Reached, reach

MOST_MEMORY = 6 * 2**30
SURVIVED, KILLED = 0, 1
Outcome = Literal["killed", "survived", "timed out"]
Counts = dict[Outcome, int]


@dataclass(frozen=True)
class Record:
    """The outcomes of earlier runs, in a file of lines as they are printed; None keeps nothing."""

    path: Path | None

    def outcomes(self) -> dict[str, Outcome]:
        """Return the last outcome of each mutant."""
        if self.path is None or not self.path.exists():
            return {}
        lines = self.path.read_text(encoding="utf-8").splitlines()
        return {
            name: cast(Outcome, outcome) for outcome, _, name in (x.partition(": ") for x in lines)
        }

    def add(self, mutant: Mutant, outcome: Outcome) -> None:
        """Keep an outcome, so that it stays if the run is interrupted."""
        if self.path is not None:
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{outcome}: {mutant}\n")


@dataclass(frozen=True)
class Run:
    """How mutants are tried."""

    jobs: int
    """Mutants that are tried at a time."""
    seconds: float
    """Processor seconds of tests per mutant, as they take without it."""
    record: Record


class Attempt(Protocol):
    """Runs tests in this process, with a change or without."""

    def __call__(self, mutant: Mutant | None, tests: Sequence[str], begun: SharedNumber) -> int:
        """Return KILLED if a test fails; `begun` is how many of the tests have begun."""


@dataclass(frozen=True)
class Trial:
    """A mutant, the tests that may notice it, and the processor seconds that they may take."""

    mutant: Mutant
    tests: tuple[str, ...]
    attempt: Attempt
    limit: float
    begun: SharedNumber = field(default_factory=SharedNumber)

    def start(self) -> int:
        """Run the tests with the change, in a fork; return its process id."""
        return forked(lambda: self.attempt(self.mutant, self.tests, self.begun))

    def check(self, n_tests: int) -> None:
        """Raise if some of the first tests fail without the change, too."""
        begun = SharedNumber()
        child = forked(lambda: self.attempt(None, self.tests[:n_tests], begun))
        if outcome_of(os.waitpid(child, 0)[1]) != "survived":
            tests = " ".join(self.tests[: begun.value])
            raise RuntimeError(f"tests fail without any change if run in this order: {tests}")


def new_counts() -> Counts:
    """Return counts of outcomes, all 0."""
    return {"killed": 0, "survived": 0, "timed out": 0}


def outcome_of(status: int) -> Outcome:
    """Say what the end of a fork means."""
    code = os.waitstatus_to_exitcode(status)
    if code == BROKEN:
        raise RuntimeError("the tests could not be run")
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "timed out"
    return "survived" if code == SURVIVED else "killed"


def try_all(trials: Iterable[Trial], run: Run) -> Counts:
    """Try mutants, some at a time; list those that are not killed."""
    waiting = iter(trials)
    counts = new_counts()
    running: dict[int, tuple[Trial, float]] = {}
    checked: dict[tuple[str, ...], int] = {}
    try:
        while True:
            for trial in itertools.islice(waiting, run.jobs - len(running)):
                # A busy machine or a deadlock: processor time is what counts, up to a point.
                running[trial.start()] = trial, time.monotonic() + 10 * trial.limit
            if not running:
                return counts
            time.sleep(0.01)
            for child, (trial, end) in list(running.items()):
                late = time.monotonic() > end
                if late:
                    os.kill(child, signal.SIGKILL)
                done, status = os.waitpid(child, 0 if late else os.WNOHANG)
                if not done:
                    continue
                del running[child]
                outcome = outcome_of(status)
                if outcome == "killed" and trial.begun.value > checked.get(trial.tests, -1):
                    trial.check(trial.begun.value)
                    checked[trial.tests] = trial.begun.value
                counts[outcome] += 1
                run.record.add(trial.mutant, outcome)
                if outcome != "killed":
                    print_line(f"{outcome}: {trial.mutant}")
                if (tried := sum(counts.values())) % 50 == 0:
                    print_line(f"  {tried} tried, {counts['killed']} killed")
    finally:
        for child in running:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def limit_of(found: Reached, tests: Sequence[str]) -> float:
    """Return the processor seconds that tests may take."""
    return 3 * sum(found.seconds[name] for name in tests) + 10


def tests_notice(
    items: Sequence[pytest.Item], limit: float, begins: Callable[[pytest.Item], None]
) -> int:
    """Run tests until one fails, for that many processor seconds at most."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    for item, following in itertools.zip_longest(items, items[1:]):
        begins(item)
        if not run_item(item, following):
            return KILLED
    return SURVIVED


def try_functions(
    package: str, tests: Sequence[str], every: Sequence[Mutant], run: Run
) -> tuple[Reached, Counts]:
    """Try the changes that tests reach in functions; return what the tests reach, and outcomes."""
    for path in sorted((SOURCE / "vicinal" / package).rglob("*.py")):
        importlib.import_module(module_of(path))

    def use(items: Sequence[pytest.Item]) -> tuple[Reached, Counts]:
        found = answer_of(lambda: reach(items, package))
        if found.failed:
            return found, new_counts()
        by_name = {item.nodeid: item for item in items}
        inside = [mutant for mutant in every if found.in_function(mutant)]
        functions = {path: live_functions(path) for path in {one.path for one in inside}}
        gc.freeze()  # a collection in a fork would copy the memory that forks share

        def trial(mutant: Mutant) -> Trial:
            tests = found.tests(mutant, run.seconds)
            limit = limit_of(found, tests)
            place = {name: at for at, name in enumerate(tests, 1)}

            def attempt(mutant: Mutant | None, tests: Sequence[str], begun: SharedNumber) -> int:
                def begins(item: pytest.Item) -> None:
                    begun.value = place[item.nodeid]

                if mutant is not None:
                    change_functions(mutant, functions[mutant.path])
                return tests_notice([by_name[name] for name in tests], limit, begins)

            return Trial(mutant, tuple(tests), attempt, limit)

        return found, try_all(map(trial, inside), run)

    answer = collected(tests, use)
    if answer is None:
        raise RuntimeError(f"the tests of {package} cannot be collected")
    return answer


def try_imports(found: Reached, every: Sequence[Mutant], run: Run) -> Counts:
    """Try the changes that an import makes, in forks that have not imported the library."""

    def trial(mutant: Mutant) -> Trial:
        tests = found.tests(mutant, run.seconds)
        limit = limit_of(found, tests)
        files = sorted({name.partition("::")[0] for name in tests})
        # A changed constant may change the parameters of tests, and so what they are called.
        place = {name.partition("[")[0]: at for at, name in enumerate(tests, 1)}

        def attempt(mutant: Mutant | None, tests: Sequence[str], begun: SharedNumber) -> int:
            def place_of(item: pytest.Item) -> int:
                return place[item.nodeid.partition("[")[0]]

            def begins(item: pytest.Item) -> None:
                begun.value = place_of(item)

            def use(items: Sequence[pytest.Item]) -> int:
                asked = {name.partition("[")[0] for name in tests}
                chosen = [item for item in items if item.nodeid.partition("[")[0] in asked]
                return tests_notice(sorted(chosen, key=place_of), limit, begins)

            if mutant is not None:
                change_at_import(mutant)
                # Before pytest imports it for doctests, which would make a second module of it.
                with contextlib.suppress(Exception):  # then no test can be collected
                    importlib.import_module(mutant.module)
            outcome = collected(files, use) if files else SURVIVED
            return KILLED if outcome is None else outcome

        return Trial(mutant, tuple(tests), attempt, limit + 30)

    return try_all(map(trial, every), run)
