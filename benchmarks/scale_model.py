"""The default model as rows grow: time and memory to fit, predict and learn, in memory or on disk.

``python -m benchmarks.scale_model --growth 50000 100000 250000`` prints times and exponents;
``--out-of-core --limit-mb 2000`` fits from a stream within a hard limit and compares the answers
with those of the model in memory; ``--file ROWS --limit-mb 2000`` trains by the command line on a
file that ``benchmarks.scale_commands --draw`` wrote; ``--plot FILE`` draws what was recorded. Rows
have the shape of Wiki-LSHTC; labels do not depend on them. Every case runs in a process of its own.
"""

import argparse
import json
import os
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
from benchmarks.scale_plot import draw_model_growth
from benchmarks.scale_rows import CHUNK, chunk, draw
from vicinal import Blend, load
from vicinal._core.arrays import Csr
from vicinal.datasets.generated import zipf_rows
from vicinal.index import SegmentedAlgorithm, SegmentedIndex

FEATURES, SIZE, LABELS, LABELS_PER_ROW = 1_600_000, 40.0, 325_056, 3.2
FIRST_TEST_CHUNK = 250
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


def limit_data(args: argparse.Namespace) -> None:
    """Let the system refuse this process more memory than the limit."""
    if args.limit_mb:
        limit = args.limit_mb * 10**6
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def case(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Fit, predict and learn at one size."""
    limit_data(args)
    asked = chunk(FIRST_TEST_CHUNK, FEATURES, SIZE)[: args.queries]
    found: dict[str, float] = {}
    with PeakMemory() as peak:
        if args.file:
            clock = Clock()
            pipeline: Any = load(folder / "model")
            model: Blend = pipeline.steps[-1][1]
            found["load, s"] = clock.read()[0]
        else:
            model, fit = fitted(args, folder)
            found |= {"fit, s": fit[0], "fit, processor s": fit[1]}
        clock = Clock()
        ids, scores = model.rank(asked, 5)
        rank = clock.read()
        np.savez(folder / "answers.npz", ids=ids, scores=scores)
        found |= {
            "predict, ms per row": 1e3 * rank[0] / args.queries,
            "predict, processor ms per row": 1e3 * rank[1] / args.queries,
            **_each("predict one row", lambda i: model.rank(asked[i : i + 1], 5)),
        }
        known = labels(FIRST_TEST_CHUNK)
        clock = Clock()
        model.prepare()  # makes room for further rows, as the service does beside requests
        found["prepare, s"] = clock.read()[0]
        clock = Clock()
        model.partial_fit(asked[-1:], known[-1:])
        found["learn the first row, ms"] = 1e3 * clock.read()[0]
        found |= _each(
            "learn one row", lambda i: model.partial_fit(asked[i : i + 1], known[i : i + 1])
        )
        found |= _each("forget one row", lambda i: model.forget([i]))
    found["peak anonymous GB"] = peak.mb / 1e3
    if args.out_of_core or args.file:
        found["disk GB"] = disk_gb(folder)
    return found


def trained(args: argparse.Namespace, folder: Path) -> dict[str, float]:
    """Train by the command line on a file, out of core, within the limit; return what it took."""
    program = "from vicinal.cli import main; main()"
    options = ["--out-of-core", folder / "rows", "--max-memory", args.max_memory_mb / 1e3]
    words = ["train", args.file, *options, "-o", folder / "model", "--json"]
    line = [sys.executable, "-c", program, *map(str, words)]
    began = time.perf_counter()
    process = subprocess.Popen(line, stdout=sys.stderr, preexec_fn=lambda: limit_data(args))
    with PeakMemory(process.pid) as peak:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(1)
    return {
        "peak anonymous GB": peak.mb / 1e3,
        "fit, s": time.perf_counter() - began,
        "fit, processor s": usage.ru_utime + usage.ru_stime,
    }


def disk_gb(folder: Path) -> float:
    """Return the size of all files of a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e9


def _each(name: str, call: Any) -> dict[str, float]:
    """Return the median times of a call for one row after another."""
    times = []
    for i in range(ONE_BY_ONE):
        clock = Clock()
        call(i)
        times.append(clock.read())
    wall, processor = 1e3 * np.median(times, axis=0)
    return {f"{name}, ms": float(wall), f"{name}, processor ms": float(processor)}


def in_process(args: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Run a case in a process of its own, so that memory is its own."""
    folder.mkdir(exist_ok=True)
    options = json.dumps({**vars(args), "folder": str(folder)})
    line = [sys.executable, "-m", "benchmarks.scale_model", "--case", options]
    done = subprocess.run(line, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.returncode)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(args.rows, found, file=sys.stderr, flush=True)
    return found


def from_file(args: argparse.Namespace) -> dict[str, Any]:
    """Return the figures of a model that the command line trained out of core."""
    with tempfile.TemporaryDirectory(dir=args.scratch) as folder:
        took = trained(args, Path(folder))
        found = in_process(args, Path(folder))
    peak = "peak anonymous GB"
    return took | found | {peak: max(took[peak], found[peak])}


def in_memory(args: argparse.Namespace, sizes: list[int]) -> Iterator[dict[str, Any]]:
    """Yield the figures in memory at several numbers of rows."""
    for args.rows in sizes:
        with tempfile.TemporaryDirectory(dir=args.scratch) as folder:
            yield in_process(args, Path(folder) / "case")


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
    parser.add_argument("--file", help="training rows, for the command line")
    parser.add_argument("--plot", type=Path, help="draw what was recorded")
    parser.add_argument("--scratch", default=tempfile.gettempdir())
    parser.add_argument("--case", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.case:
        options = argparse.Namespace(**json.loads(args.case))
        print(json.dumps(case(options, Path(options.folder))))
        return
    plot, sizes = args.plot, args.growth or [args.rows]
    del args.plot
    if plot:
        print(json.dumps(draw_model_growth(plot), indent=1))
    elif args.file:
        with Path(args.file).open() as stream:
            args.rows = int(stream.readline().split()[0])
        keep("on disk", args.rows, from_file(args))
    elif args.out_of_core:
        draw(args.rows, FEATURES, SIZE)
        results = compared(args)
        print(json.dumps(results, indent=1))
        keep("in memory", args.rows, results["in memory"])
        keep("from a stream", args.rows, results["from a stream"])
    else:
        draw(max(sizes), FEATURES, SIZE)
        for figures in in_memory(args, sizes):
            keep("in memory", args.rows, figures)


def keep(where: str, rows: int, figures: dict[str, float]) -> None:
    """Print and record the figures of a model."""
    print(json.dumps({"rows": rows, where: figures}, indent=1), flush=True)
    name = f"default model {where}, {rows:,} rows"
    kept = [Measurement(f"{name}: {what}", v, what.split()[-1]) for what, v in figures.items()]
    record("scale-model", kept)


if __name__ == "__main__":
    main()
