"""Past memory and past one machine: time, memory and identity of the answers.

``python -m benchmarks.scale`` runs small sizes; ``--rows 1780000 --features 1600000`` the size of
Wiki-LSHTC, ``--growth 250000 500000 1000000 2000000`` how times grow. Every case runs in a process
of its own and compares its answers with those of the index in memory.
"""

import argparse
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.recording import Measurement, record
from benchmarks.scale_cases import group_of
from benchmarks.scale_plot import draw_growth
from benchmarks.scale_rows import draw, queries

CASES = ("build", "limited", "memory", "cluster", "group")
"""All but the last run by default: a control group needs a system that lets us make one."""


def in_process(case: str, folder: Path, args: argparse.Namespace) -> dict[str, Any]:
    """Run a case in a process of its own, so that memory is its own."""
    options = json.dumps(vars(args))
    command = [sys.executable, "-m", "benchmarks.scale_cases", case, str(folder), options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)
    result: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    if case == "group":
        group_of(folder).rmdir()
    print(case, result, file=sys.stderr, flush=True)
    return result


def all_cases(folder: Path, args: argparse.Namespace, names: list[str]) -> dict[str, Any]:
    """Run cases at one size."""
    results: dict[str, dict[str, Any]] = {name: in_process(name, folder, args) for name in names}
    for name in {"limited", "group"} & results.keys() if "memory" in results else ():
        files = (folder.parent / f"{name}.npz", folder.parent / "memory.npz")
        with np.load(files[0]) as a, np.load(files[1]) as b:
            same = all(np.array_equal(a[part], b[part]) for part in ("ids", "values"))
        ratio = results[name]["seconds"] / results["memory"]["seconds"]
        results[name] |= {"identical": same, "times the seconds in memory": ratio}
    return results


def growth(sizes: list[int], args: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    """Return the times at several numbers of rows, and the exponents by which they grow."""
    found: dict[str, list[float]] = {"build": [], "memory": [], "limited": []}
    for rows in sizes:
        args.rows = rows
        with tempfile.TemporaryDirectory(dir=scratch) as parent:
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
    parser.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES[:-1]))
    parser.add_argument("--growth", nargs="+", type=int, help="numbers of rows to compare")
    parser.add_argument("--plot", type=Path, help="file for the plot of --growth")
    parser.add_argument("--draw", action="store_true", help="only draw the rows, for later runs")
    parser.add_argument("--scratch", type=Path, default=Path(tempfile.gettempdir()))
    args = parser.parse_args()
    sizes, names, only_draw = args.growth, args.cases, args.draw
    plot, scratch = args.plot, args.scratch
    for key in ("growth", "cases", "draw", "plot", "scratch"):
        delattr(args, key)
    draw(max(sizes or [args.rows]), args.features, args.size)
    if only_draw:
        return
    results: dict[str, Any]
    if sizes:
        results = growth(sizes, args, scratch)
        figures = measurements({"exponent": results["exponents"]}, "growth")
        if plot:
            draw_growth(results, plot)
    else:
        with tempfile.TemporaryDirectory(dir=scratch) as parent:
            _save_queries(Path(parent), args)
            results = all_cases(Path(parent) / "index", args, names)
        figures = measurements(results, f"{args.rows:,} rows")
    print(json.dumps(results, indent=1))
    record("scale", figures)


if __name__ == "__main__":
    main()
