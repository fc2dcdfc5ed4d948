"""Compare the search with other libraries: medians, ratios, memory, and the neighbours found.

``python -m benchmarks.index`` runs small cases; ``--full`` larger ones; ``--data NAME…`` data sets
of the catalogue or ``.npz`` files; ``--rows N --features M`` generated rows of another size.
``--sampled`` queries with some of the rows themselves, each left out; ``--single`` one row a call.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.index_data import KINDS, Case, catalogued, generated
from benchmarks.index_peers import (
    FaissFlat,
    SparseDotTopn,
    agreement,
    brute_cosine,
    brute_dense,
    load_peers,
)
from benchmarks.index_runs import (
    CLOCKS,
    Clock,
    LeftOut,
    OurGraph,
    OurSearch,
    Run,
    call_ms,
    measured,
    timed,
)
from benchmarks.recording import Measurement, record
from vicinal._core.threads import thread_count
from vicinal.index import DenseIndex, InvertedIndex

K = 30
SINGLE_CALLS = 10_000
SKLEARN_ROWS = 200_000
SKLEARN_QUERIES = 200


@dataclass(frozen=True)
class Line:
    """One line of the table; `index_mb` and `rows_mb` are the bytes of the index and of X."""

    case: str
    queries: int
    ours: Run
    peers: dict[str, Run]
    agreement: float
    index_mb: float
    rows_mb: float


def sparse_line(case: Case, k: int, repeats: int, clock: Clock, *, with_sklearn: bool) -> Line:
    """Measure one sparse case."""
    threads = thread_count()
    n_queries = case.queries.shape[0]
    ours, found, search = measured(lambda: prepared(case, k), n_queries, repeats, clock)
    most = k if case.places is None else k + 1
    peer, peer_found, _ = measured(
        partial(SparseDotTopn, case, most, threads), n_queries, repeats, clock
    )
    if case.places is not None:
        peer_found[0][peer_found[0] == case.places[:, np.newaxis]] = -1
    peers = {"sparse_dot_topn": peer}
    if with_sklearn:
        few = Case(case.name, case.rows, case.queries[:SKLEARN_QUERIES])
        brute = partial(brute_cosine, few, k, threads)
        peers["scikit-learn"], _, _ = measured(brute, few.queries.shape[0], 1, clock)
    return Line(
        f"{case.name}, k = {k}",
        n_queries,
        ours,
        peers,
        agreement(found, peer_found),
        search.index.nbytes / 1e6,
        (case.rows.nnz * 8 + case.rows.shape[0] * 4) / 1e6,
    )


def prepared(case: Case, k: int) -> OurSearch | LeftOut:
    """Return our search of a case."""
    if case.places is not None:
        return LeftOut(InvertedIndex(case.rows, "cosine"), case.rows, case.places, k)
    return OurSearch(InvertedIndex(case.rows, "cosine"), case.queries, k)


def self_line(case: Case, repeats: int, clock: Clock) -> tuple[float, float]:
    """Return milliseconds per row of the self-graph and of querying all rows."""
    index = InvertedIndex(case.rows, "cosine")

    searches = (OurGraph(index, K), OurSearch(index, case.rows, K))
    n = case.rows.shape[0]
    own, all_rows = (timed(search, repeats, clock)[0] for search in searches)
    return own / n * 1e3, all_rows / n * 1e3


def single_line(case: Case, k: int, calls: int) -> str:
    """Return the median and late percentiles of single queries in milliseconds."""
    index = InvertedIndex(case.rows, "cosine")
    queries = [case.queries[[i]] for i in range(min(calls, case.queries.shape[0]))]
    times = call_ms(lambda query: index.query(query, k), queries, calls)
    middle, late, latest = np.quantile(times, (0.5, 0.99, 0.999))
    return f"{middle:.3f} ms, p99 {late:.3f} ms, p99.9 {latest:.3f} ms: {latest / middle:.1f} ×"


def dense_line(n_rows: int, n_features: int, repeats: int, clock: Clock) -> Line:
    """Measure the self-graph of dense rows, clustered as real data are."""
    rng = np.random.default_rng(0)
    centers = rng.normal(size=(50, n_features))
    rows = centers[rng.integers(0, 50, n_rows)] + rng.normal(size=(n_rows, n_features))
    rows = rows.astype(np.float32)
    ours, found, search = measured(
        lambda: OurSearch(DenseIndex(rows, "euclidean"), rows, K), n_rows, repeats, clock
    )
    brute, _, _ = measured(partial(brute_dense, rows, K), n_rows, repeats, clock)
    flat = partial(FaissFlat, rows, K, thread_count())
    faiss, faiss_found, _ = measured(flat, n_rows, repeats, clock)
    return Line(
        f"dense {n_rows // 1000}k × {n_features}, euclidean",
        n_rows,
        ours,
        {"scikit-learn": brute, "faiss flat": faiss},
        agreement(found, faiss_found, tolerance=1e-4),
        search.index.nbytes / 1e6,
        rows.nbytes / 1e6,
    )


def show(lines: Sequence[Line]) -> None:
    """Print the table, a line for each library; memory as growth to build + growth to search."""
    table = Table("case", "queries", "library", "ms/query", "ratio", "peak MB", "build s", "same")
    for name in ("index MB", "X MB"):
        table.add_column(name, justify="right")
    for line in lines:
        table.add_row(
            line.case,
            str(line.queries),
            "vicinal",
            *figures(line.ours, line.ours),
            f"{line.agreement:.4%}",
            f"{line.index_mb:.0f}",
            f"{line.rows_mb:.0f}",
        )
        for name, run in line.peers.items():
            table.add_row("", "", name, *figures(run, line.ours))
    Console(width=130).print(table)


def figures(run: Run, ours: Run) -> tuple[str, str, str, str]:
    """Return the cells of one library, its time against ours among them."""
    return f"{run.ms:.4f}", f"{run.ms / ours.ms:.1f}×", run.memory, f"{run.build:.2f}"


def kept(line: Line, clock: str) -> list[Measurement]:
    """Return the figures of a line that are kept: our time, and that of the others against it."""
    case = line.case
    return [
        Measurement(f"{case}, {clock} time", line.ours.ms, "ms per query"),
        *(
            Measurement(f"{name} against vicinal, {case}", run.ms / line.ours.ms, "×", "high")
            for name, run in line.peers.items()
        ),
    ]


def cases(arguments: argparse.Namespace) -> Iterator[Case]:
    """Yield the sparse cases asked for, each made when its turn comes."""
    n_queries, kinds = arguments.queries, arguments.kinds
    for name in arguments.data:
        for kind in kinds or ("binary", "tfidf", "weighted"):
            yield catalogued(name, n_queries or 4000, kind, sampled=arguments.sampled)
    if arguments.data:
        return
    sizes = [(100_000, 200_000), (500_000, 1_000_000)] if arguments.full else [(50_000, 100_000)]
    if arguments.rows:
        sizes = [(arguments.rows, arguments.features)]
    for n, m in sizes:
        for kind in kinds or ("binary", "uniform", "tfidf"):
            yield generated(n, m, n_queries or 2000, kind)


def extras(clock: Clock, *, full: bool) -> Line:
    """Print latency and the self-graph; return the line of the dense case."""
    large = (500_000, 1_000_000) if full else (50_000, 100_000)
    print(f"single query: {single_line(generated(*large, 500, 'binary'), K, 500)}")
    small = (100_000, 200_000) if full else (20_000, 50_000)
    own = self_line(generated(*small, 1, "binary"), 3, clock)
    print("ms per row, self-graph and all rows queried: {:.4f} {:.4f}".format(*own))
    return dense_line(*((40_000, 120) if full else (10_000, 120)), 3, clock)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the benchmarks asked for on the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="larger rows")
    parser.add_argument("--data", nargs="*", default=[], help="catalogue names or .npz files")
    parser.add_argument("--kinds", nargs="+", choices=KINDS, help="of values; default: all")
    parser.add_argument("--rows", type=int, help="of generated cases, with --features")
    parser.add_argument("--features", type=int, default=1_600_000)
    parser.add_argument("--queries", type=int)
    parser.add_argument("--k", type=int, default=K)
    parser.add_argument("--sampled", action="store_true", help="queries are rows that are left out")
    parser.add_argument("--single", action="store_true", help="one query a call, 10,000 calls")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--clock", choices=CLOCKS, default="wall", help="cpu: for a machine that is not idle"
    )
    arguments = parser.parse_args(argv)
    clock = CLOCKS[arguments.clock]
    load_peers()
    lines = []
    for case in cases(arguments):
        if arguments.single:
            print(f"{case.name}: {single_line(case, arguments.k, SINGLE_CALLS)}")
            continue
        small = case.rows.shape[0] <= SKLEARN_ROWS
        lines.append(sparse_line(case, arguments.k, arguments.repeats, clock, with_sklearn=small))
        show(lines[-1:])
    if not (arguments.data or arguments.rows):
        lines.append(extras(clock, full=arguments.full))
    show(lines)
    record("index", [one for line in lines for one in kept(line, arguments.clock)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
