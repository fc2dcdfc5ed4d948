"""Past memory and past one machine: time, memory and identity of the answers.

``python -m benchmarks.scale`` runs small sizes; ``--rows 1780000 --features 1600000`` the size of
Wiki-LSHTC. Every case compares its answers with those of the index in memory.
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
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal.datasets.generated import zipf_rows
from vicinal.graph import NeighborGraph
from vicinal.index import InvertedIndex, SegmentedIndex

K = 30
CHUNK = 50_000


def chunks(n_rows: int, n_features: int, mean_size: float) -> Iterator[Csr]:
    """Yield rows of Wiki-LSHTC's shape, drawn chunk by chunk."""
    for seed, start in enumerate(range(0, n_rows, CHUNK)):
        count = min(CHUNK, n_rows - start)
        yield zipf_rows(count, n_features, 100 + seed, mean_size).astype(np.float32)


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
    """Build a folder from a stream."""
    began = time.perf_counter()
    with PeakMemory() as peak:
        SegmentedIndex.build(chunks(args.rows, args.features, args.size), folder)
        seconds = time.perf_counter() - began
    queries = next(chunks(CHUNK, args.features, args.size))[: args.queries]
    sparse.save_npz(folder.parent / "queries.npz", queries, compressed=False)
    size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {
        "seconds": seconds,
        "peak anonymous MB": peak.mb,
        "disk GB": size / 1e9,
    }


def query_case(folder: Path, args: argparse.Namespace, kind: str) -> dict[str, Any]:
    """Answer the queries from a folder within a limit, or from memory."""
    if kind == "limited" and args.limit_mb:
        limit = args.limit_mb * 10**6
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    queries = sparse.load_npz(folder.parent / "queries.npz")
    with PeakMemory() as peak:
        began = time.perf_counter()
        index: Any = SegmentedIndex.open(folder, max_memory=args.max_memory_mb * 10**6)
        if kind == "memory":
            index = InvertedIndex(index.X)
        opened = time.perf_counter() - began
        times = []
        for _ in range(args.repeats):
            began = time.perf_counter()
            graph = index.query(queries, K)
            times.append(time.perf_counter() - began)
    np.savez(folder.parent / f"{kind}.npz", ids=graph.ids, values=graph.values)
    best = min(times)
    return {
        "seconds to open or build": opened,
        "first seconds": times[0],
        "seconds": best,
        "ms per query": 1000 * best / args.queries,
        "peak anonymous MB": peak.mb,
        "MB of postings kept": index.nbytes / 1e6,
    }


def cluster_case(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Compare two local workers of one thread with one process of two threads."""
    from distributed import Client, LocalCluster

    from vicinal.cluster import ClusterIndex

    queries: Any = sparse.load_npz(folder.parent / "queries.npz")
    alone = SegmentedIndex.open(folder, max_memory=4 * 10**9, n_jobs=2)
    wanted, seconds = _timed(alone, queries, args.repeats)
    options: dict[str, Any] = {"processes": True, "memory_limit": 0, "dashboard_address": None}
    with LocalCluster(2, threads_per_worker=1, **options) as local, Client(local) as client:
        index = ClusterIndex(client, folder, max_memory=2 * 10**9, block_queries=args.block)
        found, workers = _timed(index, queries, args.repeats)
    same = np.array_equal(found.ids, wanted.ids) and np.array_equal(found.values, wanted.values)
    return {
        "one process, seconds": seconds,
        "two workers, seconds": workers,
        "ratio": workers / seconds,
        "identical": same,
    }


def _timed(index: Any, queries: Any, repeats: int) -> tuple[NeighborGraph, float]:
    """Return the answer and the best time, postings being built before."""
    graph: NeighborGraph = index.query(queries, K)
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        graph = index.query(queries, K)
        times.append(time.perf_counter() - began)
    return graph, min(times)


CASES = {
    "build": build_case,
    "limited": lambda folder, args: query_case(folder, args, "limited"),
    "memory": lambda folder, args: query_case(folder, args, "memory"),
    "cluster": cluster_case,
}


def in_process(case: str, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Run a case in a process of its own, so that memory is its own."""
    options = [f"--{key.replace('_', '-')}={value}" for key, value in vars(args).items()]
    command = [sys.executable, "-m", "benchmarks.scale", "--case", case, "--folder", str(folder)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return result


def all_cases(folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Run every case at one size."""
    results: dict[str, dict[str, Any]] = {}
    for name in CASES:
        results[name] = in_process(name, folder, args)
        print(name, results[name], file=sys.stderr, flush=True)
    with np.load(folder.parent / "limited.npz") as a, np.load(folder.parent / "memory.npz") as b:
        same = all(np.array_equal(a[name], b[name]) for name in ("ids", "values"))
    ratio = results["limited"]["seconds"] / results["memory"]["seconds"]
    results["limited"] |= {"identical": same, "times the seconds in memory": ratio}
    return results


def growth(sizes: list[int], args: argparse.Namespace) -> dict[str, float]:
    """Return the exponents by which build and query time grow with the number of rows."""
    found: dict[str, list[float]] = {"build": [], "memory": [], "limited": []}
    for rows in sizes:
        args.rows = rows
        with tempfile.TemporaryDirectory() as parent:
            for case, times in found.items():
                times.append(in_process(case, Path(parent) / "index", args)["seconds"])
        print(rows, {case: round(times[-1], 2) for case, times in found.items()}, flush=True)
    logs = [math.log(rows) for rows in sizes]
    return {case: float(np.polyfit(logs, np.log(times), 1)[0]) for case, times in found.items()}


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--features", type=int, default=400_000)
    parser.add_argument("--size", type=float, default=42.0, help="mean entries per row")
    parser.add_argument("--queries", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--block", type=int, default=2_500, help="queries per cluster task")
    parser.add_argument("--limit-mb", type=int, default=512, help="RLIMIT_DATA; 0 for none")
    parser.add_argument("--max-memory-mb", type=int, default=200, help="of postings")
    parser.add_argument("--growth", nargs="+", type=int, help="numbers of rows to compare")
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--folder", type=Path)
    args = parser.parse_args()
    case, folder, sizes = args.case, args.folder, args.growth
    for key in ("case", "folder", "growth"):
        delattr(args, key)
    if case:
        print(json.dumps(CASES[case](folder, args)))
    elif sizes:
        print(json.dumps(growth(sizes, args), indent=1))
    else:
        with tempfile.TemporaryDirectory() as parent:
            print(json.dumps(all_cases(Path(parent) / "index", args), indent=1))


if __name__ == "__main__":
    main()
