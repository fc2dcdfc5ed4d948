"""Past memory and past one machine: time, memory and identity of the answers.

``python -m benchmarks.scale`` runs small sizes; ``--rows 1780000 --features 1600000`` the size of
Wiki-LSHTC, ``--growth 250000 500000 1000000 2000000`` how times grow. Every case runs in a process
of its own and compares its answers with those of the index in memory.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.recording import Measurement, record
from benchmarks.scale_plot import draw_growth
from benchmarks.scale_rows import chunks, draw, queries
from vicinal.graph import NeighborGraph
from vicinal.index import InvertedIndex, SegmentedIndex

K = 30


class PeakMemory:
    """The most anonymous memory of this process, looked at 50 times per second."""

    def __init__(self) -> None:
        self.mb = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "PeakMemory":
        """Begin to watch."""
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        """Stop watching."""
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.02):
            for line in Path("/proc/self/status").read_text().splitlines():
                if line.startswith("RssAnon:"):
                    self.mb = max(self.mb, int(line.split()[1]) / 1000)


def build_case(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Build a folder from a stream: rows and postings."""
    _limit(args)
    shape = args.rows, args.features, args.size
    began = time.perf_counter()
    with PeakMemory() as peak:
        SegmentedIndex.build(chunks(*shape), folder, max_memory=args.max_memory_mb * 10**6)
        seconds = time.perf_counter() - began
    files = [file for file in folder.rglob("*") if file.is_file()]
    stored = sum(f.stat().st_size for f in files if f.name.startswith("postings"))
    return {
        "seconds": seconds,
        "peak anonymous MB": peak.mb,
        "disk GB": sum(f.stat().st_size for f in files) / 1e9,
        "postings on disk GB": stored / 1e9,
    }


def query_case(folder: Path, args: argparse.Namespace, kind: str) -> dict[str, Any]:
    """Answer the queries from a folder within a limit, or from memory."""
    if kind == "limited":
        _limit(args)
    asked = sparse.load_npz(folder.parent / "queries.npz")
    with PeakMemory() as peak:
        began = time.perf_counter()
        index: Any = SegmentedIndex.open(
            folder, max_memory=args.max_memory_mb * 10**6, verify=args.verify
        )
        if kind == "memory":
            index = InvertedIndex(index.X)
        opened = time.perf_counter() - began
        times = []
        for _ in range(args.repeats):
            began = time.perf_counter()
            graph = index.query(asked, K)
            times.append(time.perf_counter() - began)
    np.savez(folder.parent / f"{kind}.npz", ids=graph.ids, values=graph.values)
    best = min(times)
    return {
        "seconds to open or build": opened,
        "first seconds": times[0],
        "seconds": best,
        "ms per query": 1000 * best / args.queries,
        "peak anonymous MB": peak.mb,
        "MB of postings in memory": index.nbytes / 1e6,
    }


def _limit(args: argparse.Namespace) -> None:
    """Let the system refuse more memory than the limit."""
    if args.limit_mb:
        limit = args.limit_mb * 10**6
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def cluster_case(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Compare two local workers of one thread with one process of two threads."""
    from distributed import Client, LocalCluster

    from vicinal.cluster import ClusterIndex

    asked: Any = sparse.load_npz(folder.parent / "queries.npz")
    alone = SegmentedIndex.open(folder, max_memory=4 * 10**9, n_jobs=2, verify=False)
    wanted, seconds = _timed(alone, asked, args.repeats)
    options: dict[str, Any] = {"processes": True, "memory_limit": 0, "dashboard_address": None}
    with LocalCluster(2, threads_per_worker=1, **options) as local, Client(local) as client:
        index = ClusterIndex(client, folder, max_memory=2 * 10**9)
        found, workers = _timed(index, asked, args.repeats)
    same = np.array_equal(found.ids, wanted.ids) and np.array_equal(found.values, wanted.values)
    return {
        "one process, seconds": seconds,
        "two workers, seconds": workers,
        "ratio": workers / seconds,
        "identical": same,
    }


def _timed(index: Any, asked: Any, repeats: int) -> tuple[NeighborGraph, float]:
    """Return the answer and the best time, after one search to warm up.

    Queries come in another order each time: Dask answers the same tasks from memory.
    """
    graph: NeighborGraph = index.query(asked, K)
    times = []
    for repeat in range(repeats):
        order = np.random.default_rng(repeat).permutation(asked.shape[0])
        other = asked[order]
        began = time.perf_counter()
        again = index.query(other, K)
        times.append(time.perf_counter() - began)
        if not np.array_equal(again.ids, graph.ids[order]):
            raise SystemExit("the answers depend on the order of the queries")
    return graph, min(times)


CASES = {
    "build": build_case,
    "limited": lambda folder, args: query_case(folder, args, "limited"),
    "memory": lambda folder, args: query_case(folder, args, "memory"),
    "cluster": cluster_case,
}


def in_process(case: str, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Run a case in a process of its own, so that memory is its own."""
    options = [
        f"--{key.replace('_', '-')}={value}"
        for key, value in vars(args).items()
        if not isinstance(value, bool)
    ]
    command = [sys.executable, "-m", "benchmarks.scale", "--case", case, "--folder", str(folder)]
    command += options + ([] if args.verify else ["--no-verify"])
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(case, result, file=sys.stderr, flush=True)
    return result


def all_cases(folder: Path, args: argparse.Namespace, names: list[str]) -> dict[str, Any]:
    """Run cases at one size."""
    results: dict[str, dict[str, Any]] = {name: in_process(name, folder, args) for name in names}
    if {"limited", "memory"} <= results.keys():
        files = (folder.parent / "limited.npz", folder.parent / "memory.npz")
        with np.load(files[0]) as a, np.load(files[1]) as b:
            same = all(np.array_equal(a[name], b[name]) for name in ("ids", "values"))
        ratio = results["limited"]["seconds"] / results["memory"]["seconds"]
        results["limited"] |= {"identical": same, "times the seconds in memory": ratio}
    return results


def growth(sizes: list[int], args: argparse.Namespace) -> dict[str, Any]:
    """Return the times at several numbers of rows, and the exponents by which they grow."""
    found: dict[str, list[float]] = {"build": [], "memory": [], "limited": []}
    for rows in sizes:
        args.rows = rows
        with tempfile.TemporaryDirectory(dir=args.scratch) as parent:
            _save_queries(Path(parent), args)
            for case, times in found.items():
                times.append(in_process(case, Path(parent) / "index", args)["seconds"])
    logs = [math.log(rows) for rows in sizes]
    slopes = {case: float(np.polyfit(logs, np.log(times), 1)[0]) for case, times in found.items()}
    return {"rows": sizes, "seconds": found, "exponents": slopes}


def _save_queries(parent: Path, args: argparse.Namespace) -> None:
    asked = queries(args.queries, args.features, args.size)
    sparse.save_npz(parent / "queries.npz", asked, compressed=False)


UNITS = {"GB": "GB", "MB": "MB", "ms per query": "ms per query", "second": "s"}


def measurements(results: dict[str, dict[str, Any]], size: str) -> list[Measurement]:
    """Return the figures of a run as they are kept."""
    kept = []
    for case, figures in results.items():
        for name, value in figures.items():
            if isinstance(value, float) and value > 0:
                unit = next((unit for part, unit in UNITS.items() if part in name), "×")
                kept.append(Measurement(f"{size}, {case}: {name}", value, unit))
    return kept


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=400_000)
    parser.add_argument("--size", type=float, default=40.0, help="mean entries per row")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--limit-mb", type=int, default=512, help="RLIMIT_DATA; 0 for none")
    parser.add_argument("--max-memory-mb", type=int, default=200, help="of postings")
    parser.add_argument("--no-verify", dest="verify", action="store_false", help="no checksums")
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--growth", nargs="+", type=int, help="numbers of rows to compare")
    parser.add_argument("--plot", type=Path, help="file for the plot of --growth")
    parser.add_argument("--draw", action="store_true", help="only draw the rows, for later runs")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    case, folder, sizes, names = args.case, args.folder, args.growth, args.cases
    only_draw, plot = args.draw, args.plot
    for key in ("case", "folder", "growth", "cases", "draw", "plot"):
        delattr(args, key)
    if case:
        print(json.dumps(CASES[case](folder, args)))
        return
    draw(max(sizes or [args.rows]), args.features, args.size)
    if only_draw:
        return
    results: dict[str, Any]
    if sizes:
        results = growth(sizes, args)
        figures = measurements({"exponent": results["exponents"]}, "growth")
        if plot:
            draw_growth(results, plot)
    else:
        with tempfile.TemporaryDirectory(dir=args.scratch) as parent:
            _save_queries(Path(parent), args)
            results = all_cases(Path(parent) / "index", args, names)
        figures = measurements(results, f"{args.rows:,} rows")
    print(json.dumps(results, indent=1))
    record("scale", figures)


if __name__ == "__main__":
    main()
