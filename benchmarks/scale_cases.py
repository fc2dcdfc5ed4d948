"""The cases of :mod:`benchmarks.scale`, each run in a process of its own.

Imports little, because every library takes memory that counts against the limit.
"""

import argparse
import json
import os
import resource
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.scale_rows import chunks
from vicinal.graph import NeighborGraph
from vicinal.index import InvertedIndex, SegmentedIndex

K = 30
GROUPS = Path("/sys/fs/cgroup/memory")


class PeakMemory:
    """The most anonymous memory of a process, looked at 50 times per second."""

    def __init__(self, process: int | str = "self") -> None:
        self.mb = 0.0
        self._status = Path(f"/proc/{process}/status")
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
            for line in self._status.read_text().splitlines():
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
    if kind == "group":
        _join_group(folder, args)
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


def group_of(folder: Path) -> Path:
    """Return the control group of the case that searches a folder."""
    return GROUPS / f"vicinal-{folder.parent.name}"


def _join_group(folder: Path, args: argparse.Namespace) -> None:
    """Enter a control group (version 1) that limits all memory, page cache included.

    The files are dropped from the page cache first, because what others have read is theirs.
    """
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb") as stream:
                os.posix_fadvise(stream.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    group = group_of(folder)
    group.mkdir()
    (group / "memory.limit_in_bytes").write_text(str(args.limit_mb * 10**6))
    (group / "cgroup.procs").write_text(str(os.getpid()))


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
    "group": lambda folder, args: query_case(folder, args, "group"),
    "memory": lambda folder, args: query_case(folder, args, "memory"),
    "cluster": cluster_case,
}


def main() -> None:
    """Run one case: its name, the folder of the index and the options as JSON."""
    case, folder, options = sys.argv[1:]
    args = argparse.Namespace(**json.loads(options))
    print(json.dumps(CASES[case](Path(folder), args)))


if __name__ == "__main__":
    main()
