"""Search against its alternatives: one process, medians, ratios, neighbours compared.

``python -m benchmarks.index`` runs small cases; ``--full`` those of the published table;
``--data NAME…`` data sets of the catalogue or ``.npz`` files.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeAlias

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.index_data import Case, catalogued, generated
from benchmarks.index_peers import (
    Found,
    agreement,
    brute_cosine,
    brute_dense,
    faiss_flat,
    sparse_dot_topn,
)
from vicinal._base.threads import thread_count
from vicinal.index import DenseIndex, InvertedIndex

K = 30
SKLEARN_ROWS = 200_000
SKLEARN_QUERIES = 200


@dataclass(frozen=True)
class Line:
    """One line of the table: times in milliseconds a query, memory in MB."""

    case: str
    queries: int
    ours: float
    peers: dict[str, float]
    agreement: float
    build: float
    index_mb: float
    csr_mb: float
    peak_mb: float


Clock: TypeAlias = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}


def timed(search: Callable[[], Found], repeats: int, clock: Clock) -> tuple[float, Found]:
    """Return the median time of several runs after one to warm up, and the last answer."""
    found = search()
    times = []
    for _ in range(repeats):
        start = clock()
        found = search()
        times.append(clock() - start)
    return median(times), found


def reset_peak() -> None:
    """Forget the largest memory so far, where the system can."""
    path = Path("/proc/self/clear_refs")
    if path.exists():
        path.write_text("5")


def memory_mb(field: str) -> float:
    """Return VmHWM (largest) or VmRSS (now) of this process; 0 where the system does not say."""
    path = Path("/proc/self/status")
    lines = path.read_text().splitlines() if path.exists() else []
    return sum(float(line.split()[1]) / 1024 for line in lines if line.startswith(field))


def sparse_line(case: Case, repeats: int, clock: Clock, *, with_sklearn: bool) -> Line:
    """Measure one sparse case."""
    threads = thread_count()
    n_queries = case.queries.shape[0]
    reset_peak()
    before = memory_mb("VmRSS")
    start = time.perf_counter()
    index = InvertedIndex(case.rows, "cosine")
    build = time.perf_counter() - start

    def ours() -> Found:
        graph = index.query(case.queries, K)
        return graph.ids, graph.values

    seconds, found = timed(ours, repeats, clock)
    peak = memory_mb("VmHWM") - before
    peers = {}
    peer_seconds, peer_found = timed(sparse_dot_topn(case, K, threads), repeats, clock)
    peers["sparse_dot_topn"] = peer_seconds / n_queries * 1e3
    if with_sklearn:
        few = Case(case.name, case.rows, case.queries[:SKLEARN_QUERIES])
        brute, _ = timed(brute_cosine(few, K, threads), 1, clock)
        peers["scikit-learn"] = brute / few.queries.shape[0] * 1e3
    entries = case.rows.nnz
    return Line(
        case.name,
        n_queries,
        seconds / n_queries * 1e3,
        peers,
        agreement(found, peer_found),
        build,
        index.nbytes / 1e6,
        (entries * 8 + case.rows.shape[0] * 4) / 1e6,
        peak,
    )


def self_line(case: Case, repeats: int, clock: Clock) -> tuple[float, float]:
    """Return milliseconds a row of the self-graph and of querying all rows."""
    index = InvertedIndex(case.rows, "cosine")

    def as_queries() -> Found:
        graph = index.query(case.rows, K)
        return graph.ids, graph.values

    def as_self() -> Found:
        graph = index.query_self(K)
        return graph.ids, graph.values

    n = case.rows.shape[0]
    own, all_rows = (timed(search, repeats, clock)[0] for search in (as_self, as_queries))
    return own / n * 1e3, all_rows / n * 1e3


def single_line(case: Case) -> tuple[float, float]:
    """Return the median and the 99th percentile of single queries in milliseconds."""
    index = InvertedIndex(case.rows, "cosine")
    times = []
    for i in range(min(500, case.queries.shape[0])):
        query = case.queries[[i]]
        start = time.perf_counter()
        index.query(query, K)
        times.append((time.perf_counter() - start) * 1e3)
    return float(np.median(times)), float(np.percentile(times, 99))


def dense_line(n_rows: int, n_features: int, repeats: int, clock: Clock) -> Line:
    """Measure the self-graph of dense rows, clustered as real data are."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(50, n_features))
    rows = centers[rng.integers(0, 50, n_rows)] + rng.normal(size=(n_rows, n_features))
    rows = rows.astype(np.float32)
    start = time.perf_counter()
    index = DenseIndex(rows, "euclidean")
    build = time.perf_counter() - start

    def ours() -> Found:
        graph = index.query(rows, K)
        return graph.ids, graph.values

    reset_peak()
    before = memory_mb("VmRSS")
    seconds, found = timed(ours, repeats, clock)
    peak = memory_mb("VmHWM") - before
    sklearn_search, faiss_search = brute_dense(rows, K), faiss_flat(rows, K, thread_count())
    peers = {
        "scikit-learn": timed(lambda: sklearn_search(rows), repeats, clock)[0] / n_rows * 1e3,
        "faiss flat": timed(lambda: faiss_search(rows), repeats, clock)[0] / n_rows * 1e3,
    }
    name = f"dense {n_rows // 1000}k × {n_features}, euclidean"
    share = agreement(found, faiss_search(rows), tolerance=1e-4)
    mb = rows.nbytes / 1e6
    return Line(name, n_rows, seconds / n_rows * 1e3, peers, share, build, mb, mb, peak)


def show(lines: Sequence[Line]) -> None:
    """Print the table."""
    table = Table("case", "queries", "ms/query", "peers (ms/query, ratio)", "same", "build s")
    for name in ("index MB", "CSR MB", "peak MB"):
        table.add_column(name, justify="right")
    for line in lines:
        peers = ", ".join(
            f"{name} {ms:.3f} ({ms / line.ours:.1f}×)" for name, ms in line.peers.items()
        )
        table.add_row(
            line.case,
            str(line.queries),
            f"{line.ours:.4f}",
            peers,
            f"{line.agreement:.4%}",
            f"{line.build:.2f}",
            f"{line.index_mb:.0f}",
            f"{line.csr_mb:.0f}",
            f"{line.peak_mb:.0f}",
        )
    Console(width=160).print(table)


def cases(arguments: argparse.Namespace) -> list[Case]:
    """Return the sparse cases asked for."""
    if arguments.data:
        return [
            catalogued(name, 4000, kind)
            for name in arguments.data
            for kind in ("binary", "weighted")
        ]
    sizes = [(100_000, 200_000), (500_000, 1_000_000)] if arguments.full else [(50_000, 100_000)]
    return [
        generated(n, m, 2000, kind) for n, m in sizes for kind in ("binary", "uniform", "tfidf")
    ]


def extras(clock: Clock, *, full: bool) -> Line:
    """Print latency and the self-graph; return the line of the dense case."""
    large = (500_000, 1_000_000) if full else (50_000, 100_000)
    alone = single_line(generated(*large, 500, "binary"))
    print("single query, median and p99 in ms: {:.3f} {:.3f}".format(*alone))
    small = (100_000, 200_000) if full else (20_000, 50_000)
    own = self_line(generated(*small, 1, "binary"), 3, clock)
    print("ms a row, self-graph and all rows queried: {:.4f} {:.4f}".format(*own))
    return dense_line(*((40_000, 120) if full else (10_000, 120)), 3, clock)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="the sizes of the published table")
    parser.add_argument("--data", nargs="*", default=[], help="catalogue names or .npz files")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="cpu: for a machine that is not at rest"
    )
    arguments = parser.parse_args(argv)
    clock = CLOCKS[arguments.clock]
    lines = []
    for case in cases(arguments):
        small = case.rows.shape[0] <= SKLEARN_ROWS
        lines.append(sparse_line(case, arguments.repeats, clock, with_sklearn=small))
        show(lines[-1:])
    if not arguments.data:
        lines.append(extras(clock, full=arguments.full))
    show(lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
