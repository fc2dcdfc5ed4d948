"""Mutation tests: change one operator or number in the library, and see whether a test notices.

``make mutation`` takes a sample of the mutants of decision, metrics and scoring. One process
collects the tests of a package and runs them once, to learn which of them reach which line. Each
mutant gets a fork of that process, in which the changed function has its new code, and runs the
tests that reach the changed line, the quickest first. A change outside functions, or in a function
that only imports call, is made by an import instead, before anything is collected; the tests that
reach its file run first, then all others. No file is touched, and generated examples are the same
in every run.

A mutant is *killed* when a test fails, *survives* when none does, and *times out* when the tests
take far more processor time than without it. When a test fails, the same tests are run up to it
without the change: if one fails again, the run ends with an error. The score is killed / all: a
timeout does not count as killed. Survivors are listed as they are found, to be answered by a test
or to be recognised as equivalent. ``--record FILE`` keeps every outcome: a run that was interrupted
goes on where it stopped, and with ``--again`` the mutants that were not killed are tried once more.
"""

import argparse
import importlib
import math
import os
import random
import sys
from functools import partial
from pathlib import Path

from mutation.collecting import register_profile
from mutation.forks import answer_of, print_line
from mutation.mutants import ROOT, SOURCE, Mutant, mutants
from mutation.trials import Record, Run, new_counts, try_functions, try_imports

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
WARM_UP = ("numpy", "scipy.sparse", "scipy.stats", "sklearn.base", "pandas", "rich.progress")
"""Libraries that most tests need: loaded once, before the forks."""


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
    register_profile()
    record = Record(options.record and options.record.resolve())
    run = Run(options.jobs, options.seconds, record)
    for package in options.packages:
        every = chosen(package, options.sample or None, options.seed)
        every = [mutant for mutant in every if any(each in str(mutant) for each in options.only)]
        known = record.outcomes()
        kept = {"killed"} if options.again else {*new_counts()}
        left = [mutant for mutant in every if known.get(str(mutant)) not in kept]
        tests = options.tests or TESTS[package]
        found, counts = answer_of(partial(try_functions, package, tests, left, run))
        if found.failed:
            sys.exit(f"tests of {package} fail without any change: {', '.join(found.failed)}")
        outside = [mutant for mutant in left if not found.in_function(mutant)]
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
