"""Mutation tests: change one operator or number in the library, and see whether a test notices.

``make mutation`` takes a sample of the mutants of decision, metrics and scoring. One process
collects the tests of a package and runs them once, to learn which of them reach which line. Each
mutant gets a fork of that process, in which the changed function has its new code, and runs the
tests that reach the changed line, the quickest first. A change outside functions is made by an
import instead, before anything is collected. No file is touched, and generated examples are the
same in every run.

A mutant is *killed* when a test fails, *survives* when none does, and *times out* when the tests
take far more processor time than without it. The score is killed / all: a timeout does not count
as killed. Survivors are listed as they are found, to be answered by a test or to be recognised as
equivalent. ``--record FILE`` keeps every outcome: a run that was interrupted goes on where it
stopped, and with ``--again`` the mutants that were not killed are tried once more.
"""

import argparse
import gc
import importlib
import itertools
import math
import os
import random
import resource
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from multiprocessing import Pipe
from pathlib import Path
from typing import Generic, Literal, TypeVar, cast

import coverage
import hypothesis
import pytest

from mutation.mutants import (
    ROOT,
    SOURCE,
    Mutant,
    change_at_import,
    change_functions,
    live_functions,
    mutants,
)

TESTS = {
    "decision": (
        "src/vicinal/decision",
        "tests/unit/decision",
        "tests/unit/estimators/test_calibration.py",
        "tests/property/test_decision_rules.py",
        "tests/property/test_threshold_blocks.py",
    ),
    "metrics": (
        "src/vicinal/metrics",
        "tests/unit/metrics",
        "tests/oracle/test_metrics_sklearn.py",
        "tests/property/test_metric_blocks.py",
        "tests/property/test_metrics_bipartition.py",
        "tests/property/test_metrics_first_labels.py",
        "tests/property/test_metrics_ranking.py",
    ),
    "scoring": (
        "src/vicinal/scoring",
        "tests/unit/scoring",
        "tests/unit/estimators/test_blend.py",
        "tests/unit/estimators/test_explain.py",
        "tests/unit/estimators/test_lcif_family.py",
        "tests/unit/estimators/test_many_labels.py",
        "tests/unit/estimators/test_methods.py",
        "tests/unit/estimators/test_sample_weights.py",
        "tests/oracle",
        "tests/property/test_explanations.py",
        "tests/property/test_row_order.py",
        "tests/property/test_sample_weights.py",
    ),
}
"""The tests that guard each package, its examples among them."""
OPTIONS = (
    *("-q", "-s", "--tb=no", "--assert=plain", "-n", "0", "--timeout=0", "-p", "no:cacheprovider"),
    *("-m", "not slow and not data", "--hypothesis-profile=mutation"),
)
WARM_UP = ("numpy", "scipy.sparse", "scipy.stats", "sklearn.base", "pandas", "rich.progress")
"""Libraries that most tests need: loaded once, before the forks."""
MOST_MEMORY = 6 * 2**30
SURVIVED, KILLED, BROKEN = 0, 1, 3
Outcome = Literal["killed", "survived", "timed out"]
Counts = dict[Outcome, int]
Answer = TypeVar("Answer")
TERMINAL = os.dup(1)


@dataclass
class Reached:
    """What the tests do without any change: who reaches which line, and how long each takes."""

    seconds: dict[str, float] = field(default_factory=dict)
    """Processor seconds of each test, by its name."""
    lines: dict[str, dict[int, set[str]]] = field(default_factory=dict)
    """The tests that reach each line of each file."""
    failed: list[str] = field(default_factory=list)

    def tests(self, mutant: Mutant, most: float) -> list[str]:
        """Return tests that reach a change and take no more than so many seconds together.

        Where all would take more, the quickest of each file. Those of a file stay together, so that
        what they share is made once; files and tests that take less time come first.
        """
        lines = self.lines.get(str(mutant.path), {})
        if not mutant.in_function:
            reaching = set().union(*lines.values())
        else:
            reaching = set().union(*(lines.get(line, ()) for line in mutant.lines))
        files: dict[str, list[str]] = {}
        for name in sorted(reaching, key=self.seconds.__getitem__):
            files.setdefault(name.partition("::")[0], []).append(name)
        rounds = itertools.zip_longest(*files.values())
        in_turn = [name for each in rounds for name in each if name is not None]
        total = itertools.accumulate(self.seconds[name] for name in in_turn)
        kept = {name for name, seconds in zip(in_turn, total, strict=True) if seconds <= most}
        shorter = [[name for name in names if name in kept] for names in files.values()]
        shorter.sort(key=lambda names: sum(self.seconds[name] for name in names))
        return list(itertools.chain.from_iterable(shorter))


def forked(action: Callable[[], int]) -> int:
    """Run an action in a fork that says nothing but its own errors; return its process id."""
    child = os.fork()
    if child == 0:
        code = BROKEN
        try:
            silent = os.open(os.devnull, os.O_WRONLY)
            os.dup2(silent, 1)
            os.dup2(silent, 2)
            code = action()
        finally:
            if code == BROKEN:
                print_line(traceback.format_exc())
            os._exit(code)
    return child


def answer_of(action: Callable[[], Answer]) -> Answer:
    """Run an action in a fork, and return what it returns."""
    reader, writer = Pipe(duplex=False)

    def send() -> int:
        writer.send(action())
        return 0

    child = forked(send)
    writer.close()
    answer: Answer = reader.recv()
    os.waitpid(child, 0)
    return answer


def run_item(item: pytest.Item, following: pytest.Item | None = None) -> bool:
    """Run a test, with fixtures that only the following one may share; tell whether it passed."""
    failed = item.session.testsfailed
    item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
    return item.session.testsfailed == failed


def reach(items: Sequence[pytest.Item], package: str) -> Reached:
    """Run every test once, and note which lines of a package it reaches."""
    found = Reached()
    watch = coverage.Coverage(
        data_file=None, config_file=False, include=[f"{SOURCE}/vicinal/{package}/*"]
    )
    watch.start()
    for item in items:
        watch.switch_context(item.nodeid)
        began = time.process_time()
        if not run_item(item):
            found.failed.append(item.nodeid)
        found.seconds[item.nodeid] = time.process_time() - began
    watch.stop()
    data = watch.get_data()
    for file in data.measured_files():
        by_line = data.contexts_by_lineno(file)
        found.lines[file] = {line: {*names} - {""} for line, names in by_line.items()}
    return found


def tests_notice(items: Sequence[pytest.Item], limit: float) -> int:
    """Run tests until one fails, for that many processor seconds at most."""
    resource.setrlimit(resource.RLIMIT_CPU, (int(limit) + 1, int(limit) + 1))
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_MEMORY, MOST_MEMORY))
    passed = all(
        run_item(item, after) for item, after in itertools.pairwise([*items, None]) if item
    )
    return SURVIVED if passed else KILLED


class _Loop(Generic[Answer]):
    """A plugin that hands the collected tests to a function, in place of running them."""

    def __init__(self, use: Callable[[Sequence[pytest.Item]], Answer]) -> None:
        self.use = use
        self.answers: list[Answer] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:  # some file cannot be imported
            return True
        try:
            self.answers.append(self.use(session.items))
        finally:
            if not self.answers:  # pytest would keep the error to itself
                print_line(traceback.format_exc())
        return True


def collected(
    tests: Sequence[str], use: Callable[[Sequence[pytest.Item]], Answer]
) -> Answer | None:
    """Collect tests, hand them to a function and return its answer; None if one is broken."""
    loop: _Loop[Answer] = _Loop(use)
    pytest.main([*OPTIONS, *tests], plugins=[loop])
    return loop.answers[0] if loop.answers else None


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


@dataclass(frozen=True)
class Trial:
    """A mutant, what tries it in a fork, and the processor seconds that this may take."""

    mutant: Mutant
    action: Callable[[], int]
    limit: float


def new_counts() -> Counts:
    """Return counts of outcomes, all 0."""
    return {"killed": 0, "survived": 0, "timed out": 0}


def print_line(text: str) -> None:
    """Print a line where the program printed when it began: forks that say nothing call it too."""
    os.write(TERMINAL, f"{text}\n".encode())


def outcome_of(status: int) -> Outcome:
    """Say what the end of a fork means."""
    code = os.waitstatus_to_exitcode(status)
    if code == BROKEN:
        raise RuntimeError("the tests could not be run")
    if code in (-signal.SIGXCPU, -signal.SIGKILL):
        return "timed out"
    return "survived" if code == SURVIVED else "killed"


def try_all(trials: Iterator[Trial], run: Run) -> Counts:
    """Try mutants, some at a time; list those that are not killed."""
    counts = new_counts()
    running: dict[int, tuple[Trial, float]] = {}
    while True:
        for trial in itertools.islice(trials, run.jobs - len(running)):
            # A busy machine or a deadlock: processor time is what counts, up to a point.
            running[forked(trial.action)] = trial, time.monotonic() + 10 * trial.limit
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
            counts[outcome] += 1
            run.record.add(trial.mutant, outcome)
            if outcome != "killed":
                print_line(f"{outcome}: {trial.mutant}")
            if (tried := sum(counts.values())) % 50 == 0:
                print_line(f"  {tried} tried, {counts['killed']} killed")


def limit_of(found: Reached, tests: Sequence[str]) -> float:
    """Return the processor seconds that tests may take."""
    return 3 * sum(found.seconds[name] for name in tests) + 10


def try_functions(
    package: str, tests: Sequence[str], every: Sequence[Mutant], run: Run
) -> tuple[Reached, Counts]:
    """Try the changes inside functions; return what the tests reach, and the outcomes."""
    for path in sorted((SOURCE / "vicinal" / package).rglob("*.py")):
        importlib.import_module(".".join(path.relative_to(SOURCE).with_suffix("").parts))

    def use(items: Sequence[pytest.Item]) -> tuple[Reached, Counts]:
        found = answer_of(lambda: reach(items, package))
        if found.failed:
            return found, new_counts()
        by_name = {item.nodeid: item for item in items}
        functions = {path: live_functions(path) for path in {one.path for one in every}}
        gc.freeze()  # a collection in a fork would copy the memory that forks share

        def trial(mutant: Mutant) -> Trial:
            tests = found.tests(mutant, run.seconds)
            limit = limit_of(found, tests)

            def action() -> int:
                change_functions(mutant, functions[mutant.path])
                return tests_notice([by_name[name] for name in tests], limit)

            return Trial(mutant, action, limit)

        return found, try_all(map(trial, every), run)

    answer = collected(tests, use)
    if answer is None:
        raise RuntimeError(f"the tests of {package} cannot be collected")
    return answer


def try_imports(found: Reached, every: Sequence[Mutant], run: Run) -> Counts:
    """Try the changes that an import makes, in forks that have not imported the library."""

    def trial(mutant: Mutant) -> Trial:
        tests = found.tests(mutant, run.seconds)
        limit = limit_of(found, tests)

        def use(items: Sequence[pytest.Item]) -> int:
            # A changed constant may change the parameters of tests, and so what they are called.
            order = {name.partition("[")[0]: place for place, name in enumerate(tests)}
            chosen = [item for item in items if item.nodeid.partition("[")[0] in order]
            chosen.sort(key=lambda item: order[item.nodeid.partition("[")[0]])
            return tests_notice(chosen, limit)

        def action() -> int:
            change_at_import(mutant)
            outcome = collected(sorted({name.partition("::")[0] for name in tests}), use)
            return KILLED if outcome is None else outcome

        return Trial(mutant, action, limit + 30)

    return try_all(map(trial, every), run)


def chosen(package: str, sample: int | None, seed: int) -> list[Mutant]:
    """Return mutants of a package, all or a random sample."""
    paths = sorted((SOURCE / "vicinal" / package).rglob("*.py"))
    every = [mutant for path in paths for mutant in mutants(path)]
    if sample is None or sample >= len(every):
        return every
    return random.Random(seed).sample(every, sample)


def main() -> int:
    """Try mutants, list those that no test noticed, and print the score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="*", default=list(TESTS), help=f"of {', '.join(TESTS)}")
    parser.add_argument("--sample", type=int, default=50, help="mutants per package; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="mutants that are tried at a time")
    parser.add_argument(
        "--only", nargs="+", default=[""], help="mutants whose line holds such text"
    )
    parser.add_argument(
        "--seconds", type=float, default=math.inf, help="processor time of tests per mutant"
    )
    parser.add_argument("--tests", nargs="+", help="paths of tests; the package's by default")
    parser.add_argument("--record", type=Path, help="file of outcomes: what it holds is not tried")
    parser.add_argument(
        "--again", action="store_true", help="try what the record holds and no test killed"
    )
    options = parser.parse_args()
    os.chdir(ROOT)
    os.environ["OPENBLAS_NUM_THREADS"] = "1"  # set before NumPy is loaded, because of the forks
    for library in WARM_UP:
        importlib.import_module(library)
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile(
        "mutation", deadline=None, database=None, derandomize=True, phases=phases
    )
    record = Record(options.record and options.record.resolve())
    run = Run(options.jobs, options.seconds, record)
    for package in options.packages:
        every = chosen(package, options.sample or None, options.seed)
        every = [mutant for mutant in every if any(each in str(mutant) for each in options.only)]
        known = record.outcomes()
        kept = {"killed"} if options.again else {*new_counts()}
        left = [mutant for mutant in every if known.get(str(mutant)) not in kept]
        inside = [mutant for mutant in left if mutant.in_function]
        outside = [mutant for mutant in left if not mutant.in_function]
        tests = options.tests or TESTS[package]
        found, counts = answer_of(partial(try_functions, package, tests, inside, run))
        if found.failed:
            sys.exit(f"tests of {package} fail without any change: {', '.join(found.failed)}")
        for outcome, count in try_imports(found, outside, run).items():
            counts[outcome] += count
        for mutant in {*map(str, every)} - {*map(str, left)}:
            counts[known[mutant]] += 1
        said = ", ".join(f"{count} {outcome}" for outcome, count in counts.items())
        score = counts["killed"] / max(len(every), 1)
        print_line(f"{package}: {len(every)} mutants: {said}; score {score:.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
