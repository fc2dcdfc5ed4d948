"""The exact index compared with an approximate one, nmslib's HNSW: time and recall.

``python -m benchmarks.index_approximate PYTHON [NAME…]`` runs :mod:`benchmarks.index_hnsw` with the
interpreter of an environment that has nmslib, on data sets of the catalogue (tf-idf).
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import sparse

from benchmarks.index_data import Case, catalogued
from benchmarks.index_peers import Found
from benchmarks.index_runs import OurSearch, measured
from vicinal._core.threads import thread_count
from vicinal.index import InvertedIndex

K = 30
SIZES = (30, 100, 400)


def recall(ours: Found, theirs: Found, tolerance: float = 2e-5) -> float:
    """Share of the k nearest that the peer found; a row as near as our last one counts."""
    there = theirs[0] >= 0
    same = (theirs[0][:, :, np.newaxis] == ours[0][:, np.newaxis, :]).any(axis=2)
    tied = theirs[1] >= ours[1][:, -1:] - tolerance
    return float((there & (same | tied)).sum() / (ours[0] >= 0).sum())


def rows_of(case: Case, python: str) -> list[tuple[str, ...]]:
    """Measure both sides; return the lines of the table."""
    n_queries, threads = case.queries.shape[0], thread_count()
    run, found, _ = measured(
        lambda: OurSearch(InvertedIndex(case.rows, "cosine"), case.queries, K),
        n_queries,
        3,
        time.perf_counter,
    )
    lines: list[tuple[str, ...]] = [
        (case.name, "vicinal", f"{run.ms:.4f}", f"{run.build:.2f}", "1")
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        sparse.save_npz(folder / "rows.npz", sparse.csr_matrix(case.rows))
        sparse.save_npz(folder / "queries.npz", sparse.csr_matrix(case.queries))
        script = Path(__file__).with_name("index_hnsw.py")
        command = [python, str(script), name, *map(str, (K, threads, *SIZES))]
        subprocess.run(command, check=True)
        times = json.loads((folder / "times.json").read_text())
        for size in SIZES:
            theirs = np.load(folder / f"ids-{size}.npy"), np.load(folder / f"values-{size}.npy")
            ms = times["search"][str(size)] / n_queries * 1e3
            share = f"{recall(found, theirs):.4f}"
            label = f"nmslib HNSW, efSearch {size}"
            lines.append(("", label, f"{ms:.4f}", f"{times['build']:.2f}", share))
    return lines


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("python", help="an interpreter that can import nmslib")
    parser.add_argument("data", nargs="*", help="catalogue names or .npz files")
    arguments = parser.parse_args(argv)
    table = Table("case", "library", "ms/query", "build s", f"recall@{K}")
    for name in arguments.data or ["debtags"]:
        for line in rows_of(catalogued(name, 4000, "weighted"), arguments.python):
            table.add_row(*line)
    Console(width=120).print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
