"""Try random damage for some minutes: ``python -m tests.fuzz --minutes 5``."""

import argparse
import sys
import time
from pathlib import Path

from tests.fuzz.corpus import files, model_files
from tests.fuzz.targets import TARGETS
from tests.fuzz.worker import Counts, try_batch, try_one

SEEDS = Path(__file__).parent / "seeds.txt"
"""Inputs that once failed, one per line: ``target:number # what was wrong``."""


def main() -> None:
    """Try the kept seeds, then new numbers in turn over the targets until the time is up."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5.0, help="time to spend (default: 5)")
    parser.add_argument("--first", type=int, default=None, help="first number (default: the time)")
    parser.add_argument("--target", choices=sorted(TARGETS), action="append", help="default: all")
    parser.add_argument("--only", metavar="TARGET:NUMBER", help="try this input in this process")
    options = parser.parse_args()
    if options.only:
        name, number = options.only.split(":")
        print("taken" if try_one(name, int(number)) else "refused")
        return
    first = int(time.time()) * 1000 if options.first is None else options.first
    faults = fuzz(options.target or list(TARGETS), options.minutes * 60, first)
    sys.exit(1 if faults else 0)


def fuzz(names: list[str], seconds: float, first: int) -> list[str]:
    """Return the faults, after a table of what was tried."""
    files()
    model_files()
    counts = {name: Counts() for name in names}
    for line in SEEDS.read_text(encoding="utf-8").splitlines():
        name, _, number = line.split("#")[0].strip().partition(":")
        if name in counts:
            try_batch(name, int(number), counts[name], count=1)
    following = dict.fromkeys(names, first)
    start = time.monotonic()
    while time.monotonic() - start < seconds:
        for name in names:
            following[name] = try_batch(name, following[name], counts[name])
    print(f"{'target':<15} {'taken':>10} {'refused':>10} {'faults':>7}   from number {first}")
    for name, count in counts.items():
        print(f"{name:<15} {count.taken:>10,} {count.refused:>10,} {len(count.faults):>7}")
    faults = [fault for count in counts.values() for fault in count.faults]
    for fault in faults:
        print(f"FAULT {fault}   again with: python -m tests.fuzz --only {fault.split()[0]}")
    return faults


if __name__ == "__main__":
    main()
