"""The default model as rows grow: time and memory to fit, predict and learn, in memory or on disk.

``python -m benchmarks.scale_model --growth 50000 100000 250000`` prints times and exponents;
``--out-of-core --limit-mb 2000`` fits from a stream within a hard limit and compares the answers
with those of the model in memory. Rows have the shape of Wiki-LSHTC; labels do not depend on them.
Every case runs in a process of its own.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.recording import Measurement, record
from benchmarks.scale_cases import PeakMemory
from benchmarks.scale_rows import CHUNK, chunk, draw
from vicinal import Blend
from vicinal._core.arrays import Csr
from vicinal.datasets.generated import zipf_rows
from vicinal.index import SegmentedAlgorithm, SegmentedIndex

FEATURES, SIZE, LABELS, LABELS_PER_ROW = 1_600_000, 40.0, 325_056, 3.2
FIRST_TEST_CHUNK = 150
ONE_BY_ONE = 40
"""Rows that are learned, and predicted, one at a time."""


def labels(number: int) -> Csr:
    """Return the labels of a chunk of rows."""
    return zipf_rows(CHUNK, LABELS, 5000 + number, LABELS_PER_ROW)


def drawn(n_rows: int) -> Iterator[tuple[Csr, Csr]]:
    """Yield the first rows and their labels, chunk by chunk."""
    for number, start in enumerate(range(0, n_rows, CHUNK)):
        size = min(CHUNK, n_rows - start)
        yield chunk(number, FEATURES, SIZE)[:size], labels(number)[:size]


class Clock:
    """Seconds since it was made, by the clock and of all processors together."""

    def __init__(self) -> None:
        self._began = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        """Return both."""
        return time.perf_counter() - self._began[0], time.process_time() - self._began[1]


def fitted(args: argparse.Namespace, folder: Path) -> tuple[Blend, tuple[float, float]]:
    """Return the model, fitted on rows in memory or from a stream, and the seconds that it took."""
    Y = sparse.vstack([each for _, each in drawn(args.rows)], format="csr").astype(np.int32)
    if not args.out_of_core:
        X = sparse.vstack([each for each, _ in drawn(args.rows)], format="csr")
        for part in (X.data, X.indices, X.indptr):
            part.flags.writeable = False  # so that the model does not copy them
        clock = Clock()
        return Blend().fit(X, Y), clock.read()
    memory = args.max_memory_mb * 10**6
    stream = (each for each, _ in drawn(args.rows))
    clock = Clock()
    index = SegmentedIndex.build(stream, folder / "rows", max_memory=memory, postings=False)
    model = Blend(algorithm=SegmentedAlgorithm(memory, index, str(folder / "views")))
    return model.fit(index.X, Y), clock.read()


def case(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Fit, predict and learn at one size."""
    if args.limit_mb:
        limit = args.limit_mb * 10**6
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    asked = chunk(FIRST_TEST_CHUNK, FEATURES, SIZE)[: args.queries]
    with PeakMemory() as peak:
        model, fit = fitted(args, folder)
        clock = Clock()
        ids, scores = model.rank(asked, 5)
        rank = clock.read()
        one = _median(lambda i: model.rank(asked[i : i + 1], 5))
        np.savez(folder / "answers.npz", ids=ids, scores=scores)
        found = {
            "fit, s": fit[0],
            "fit, processor s": fit[1],
            "predict, ms per row": 1e3 * rank[0] / args.queries,
            "predict, processor ms per row": 1e3 * rank[1] / args.queries,
            "predict one row, ms": 1e3 * one,
        }
        known = labels(FIRST_TEST_CHUNK)
        clock = Clock()
        model.partial_fit(asked[-1:], known[-1:])  # the first makes room for more
        found["learn the first row, ms"] = 1e3 * clock.read()[0]
        learn = _median(lambda i: model.partial_fit(asked[i : i + 1], known[i : i + 1]))
        found["learn one row, ms"] = 1e3 * learn
        found["forget one row, ms"] = 1e3 * _median(lambda i: model.forget([i]))
    found["peak anonymous GB"] = peak.mb / 1e3
    if args.out_of_core:
        files = [file for file in folder.rglob("*") if file.is_file()]
        found["disk GB"] = sum(file.stat().st_size for file in files) / 1e9
    return found


def _median(call: Any) -> float:
    """Return the median seconds of a call for one row after another."""
    times = []
    for i in range(ONE_BY_ONE):
        began = time.perf_counter()
        call(i)
        times.append(time.perf_counter() - began)
    return float(np.median(times))


def in_process(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run a case in a process of its own, so that memory is its own."""
    folder.mkdir()
    options = json.dumps({**vars(args), "folder": str(folder)})
    line = [sys.executable, "-m", "benchmarks.scale_model", "--case", options]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(args.rows, found, file=sys.stderr, flush=True)
    return found


def grown(args: argparse.Namespace, sizes: list[int]) -> dict[str, Any]:
    """Return the figures at several numbers of rows, and the exponents by which they grow."""
    found = []
    for rows in sizes:
        args.rows = rows
        with tempfile.TemporaryDirectory(dir=args.scratch) as folder:
            found.append(in_process(args, Path(folder) / "case"))
    figures = {name: [each[name] for each in found] for name in found[0]}
    logs = np.log(sizes)
    slopes = {name: float(np.polyfit(logs, np.log(v), 1)[0]) for name, v in figures.items()}
    return {"rows": sizes, "figures": figures, "exponents": slopes if len(sizes) > 1 else {}}


def compared(args: argparse.Namespace) -> dict[str, Any]:
    """Return the figures in memory and from a stream, and whether the answers are the same."""
    with tempfile.TemporaryDirectory(dir=args.scratch) as folder:
        limit, args.limit_mb = args.limit_mb, 0
        args.out_of_core = False
        memory = in_process(args, Path(folder) / "memory")
        args.out_of_core, args.limit_mb = True, limit
        disk = in_process(args, Path(folder) / "disk")
        answers = [np.load(Path(folder) / case / "answers.npz") for case in ("memory", "disk")]
        same = all(np.array_equal(answers[0][name], answers[1][name]) for name in answers[0])
    return {"rows": args.rows, "in memory": memory, "from a stream": disk, "identical": same}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=50_000)
    parser.add_argument("--queries", type=int, default=2_000)
    parser.add_argument("--growth", nargs="+", type=int, help="numbers of rows to compare")
    parser.add_argument("--out-of-core", action="store_true", help="from a stream, and in memory")
    parser.add_argument("--limit-mb", type=int, default=0, help="RLIMIT_DATA; 0 for none")
    parser.add_argument("--max-memory-mb", type=int, default=200)
    parser.add_argument("--scratch", default=tempfile.gettempdir())
    parser.add_argument("--case", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        options = argparse.Namespace(**json.loads(args.case))
        print(json.dumps(case(options, Path(options.folder))))
        return
    sizes = args.growth
    draw(max(sizes or [args.rows]), FEATURES, SIZE)
    if args.out_of_core:
        results = compared(args)
        kept = {f"stream: {k}": v for k, v in results["from a stream"].items()}
        kept |= {f"memory: {k}": v for k, v in results["in memory"].items()}
    else:
        results = grown(args, sizes or [args.rows])
        kept = {name: values[-1] for name, values in results["figures"].items()}
    print(json.dumps(results, indent=1))
    name = f"default model, {args.rows:,} rows"
    record("scale-model", [Measurement(f"{name}, {what}", v, "") for what, v in kept.items()])


if __name__ == "__main__":
    main()
