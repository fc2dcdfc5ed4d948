"""The plot of how build and query times grow with the number of rows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from matplotlib import rc_context
from matplotlib.figure import Figure

NAMES = {
    "build": "build: rows and postings to disk",
    "memory": "10,000 queries, all in memory",
    "limited": "10,000 queries, from disk within 512 MB",
}


def draw_growth(results: Mapping[str, Any], path: Path) -> None:
    """Draw the times of :func:`benchmarks.scale.growth` with their exponents."""
    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.add_subplot()
    for case, times in results["seconds"].items():
        label = f"{NAMES[case]}: rows^{results['exponents'][case]:.2f}"
        axes.loglog(results["rows"], times, "o-", label=label)
    axes.set(xlabel="rows", ylabel="seconds", title="Rows of 41 entries, two cores")
    axes.set_xticks(results["rows"], [f"{rows / 1e6:g} M" for rows in results["rows"]], minor=False)
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    with rc_context({"svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
