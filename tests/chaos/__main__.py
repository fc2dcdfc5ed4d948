"""Run the scenarios for some minutes: ``python -m tests.chaos --minutes 3``."""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.chaos.scenarios import SCENARIOS
from tests.chaos.setting import answers, child, ended

MOST_SECONDS = 120
"""A round that takes longer hangs."""


def main() -> None:
    """Run round after round until the time is up, then print how many of each held."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--minutes", type=float, default=3.0, help="time to spend (default: 3)")
    parser.add_argument("--first", type=int, default=None, help="first round (default: the time)")
    parser.add_argument("--only", metavar="SCENARIO:ROUND", help="run this round")
    parser.add_argument("--scenario", action="append", choices=SCENARIOS, help="only these")
    options = parser.parse_args()
    answers()
    if options.only:
        name, number = options.only.split(":")
        print(run_round(name, int(number)) or "held")
        return
    first = int(time.time()) if options.first is None else options.first
    names = options.scenario or list(SCENARIOS)
    sys.exit(1 if chaos(options.minutes * 60, first, names) else 0)


def chaos(seconds: float, first: int, names: Sequence[str]) -> list[str]:
    """Return the faults, after a table of what held."""
    held: Counter[str] = Counter()
    faults: list[str] = []
    start, number = time.monotonic(), first
    while time.monotonic() - start < seconds:
        for name in names:
            fault = run_round(name, number)
            held[name] += fault is None
            faults += [] if fault is None else [f"{name}:{number} {fault}"]
        number += 1
    print(f"{'scenario':<16} {'held':>7} {'faults':>7}   rounds from {first}")
    for name in names:
        n_faults = sum(fault.startswith(f"{name}:") for fault in faults)
        print(f"{name:<16} {held[name]:>7,} {n_faults:>7}")
    for fault in faults:
        print(f"FAULT {fault}")
    return faults


def run_round(name: str, number: int) -> str | None:
    """Run a scenario in a child; return what went wrong, None if all held."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    folder.chmod(0o755)

    def work() -> None:
        try:
            SCENARIOS[name](random.Random(f"{name}:{number}"), folder)
        except (Exception, KeyboardInterrupt):
            traceback.print_exc()
            raise

    try:
        status = ended(child(work), MOST_SECONDS)
    finally:
        for place in (folder, *folder.glob("*/")):
            place.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
    if status is None:
        return f"hung for {MOST_SECONDS} seconds"
    if os.WIFSIGNALED(status):
        return f"ended by signal {os.WTERMSIG(status)}"
    return f"raised (status {status}, see above)" if status else None


if __name__ == "__main__":
    main()
