"""Methods beside two busy loops: their seconds, against their seconds alone.

``python -m benchmarks.busy`` fits and predicts on the published split of scene from
``$VICINAL_DATA``. Threads that wait in a loop take the cores from the work that they wait for. This
shows only on a machine that has other work. The bar is meant for two cores: two busy loops then
leave half of the machine.
"""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import vicinal
from benchmarks.recording import Measurement, record
from vicinal.datasets import Dataset

MOST = 2.0
"""How much longer a fit or a prediction of the blend may take."""
BARRED = "Blend"
N_LOOPS = 2
SHORTEST = 0.02
"""Seconds below which a ratio is mostly the scheduler's: they are shown, not judged."""


@contextmanager
def busy(n_loops: int) -> Iterator[None]:
    """Run so many processes that do nothing but keep a core busy."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(n_loops)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def seconds(name: str, train: Dataset, test: Dataset, repeats: int) -> dict[str, list[float]]:
    """Return the shortest wall time of fit and predict, and the processor time of that run."""
    runs: dict[str, list[list[float]]] = {"fit": [], "predict": []}
    for _ in range(repeats):
        began = time.perf_counter(), time.process_time()
        model = getattr(vicinal, name)().fit(train.X, train.Y)
        fitted = time.perf_counter(), time.process_time()
        model.predict(test.X)
        ended = time.perf_counter(), time.process_time()
        runs["fit"].append([fitted[0] - began[0], fitted[1] - began[1]])
        runs["predict"].append([ended[0] - fitted[0], ended[1] - fitted[1]])
    return {step: min(taken) for step, taken in runs.items()}


def measure(data: str, names: list[str], repeats: int) -> Iterator[Measurement]:
    """Time each method alone and beside the loops."""
    train, test = vicinal.datasets.load(data).split()
    for name in names:
        alone = seconds(name, train, test, repeats)
        with busy(N_LOOPS):
            beside = seconds(name, train, test, repeats)
        for step in alone:
            (wall, spent), (longer, more) = alone[step], beside[step]
            print(
                f"{data}, {name}, {step}: {wall:.3f} s alone ({spent:.3f} s of processor time), "
                f"{longer:.3f} s ({more:.3f} s) beside {N_LOOPS} loops, {longer / wall:.2f} times",
                flush=True,
            )
            if wall >= SHORTEST:
                yield Measurement(f"beside loops, {data}, {name}, {step}", longer / wall, "times")


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("methods", nargs="*", default=[BARRED])
    parser.add_argument("--data", default="scene")
    parser.add_argument("--repeats", type=int, default=3)
    args = parser.parse_args()
    found = list(measure(args.data, args.methods, args.repeats))
    barred = [one for one in found if f", {BARRED}, " in one.what]
    for one in barred:
        print(f"bar {MOST} times, {one.what}: {'holds' if one.value <= MOST else 'MISSED'}")
    record("busy", found)
    if any(one.value > MOST for one in barred):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
