"""The plots of how times and memory grow with the number of rows."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from benchmarks.recording import read_records

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
    _save(figure, path)


PANELS = {
    "fit, processor s": ("training", "seconds of one core"),
    "predict, processor ms per row": ("a prediction", "ms of one core"),
    "learn one row, processor ms": ("learning a row", "ms of one core"),
    "peak anonymous GB": ("memory", "GB"),
}
"""Figures of the default model that are drawn: title and unit."""
PLACES = "in memory", "on disk"
RECORDED = re.compile(r"default model (in memory|on disk), ([\d,]+) rows: (.+)")


def draw_model_growth(path: Path) -> dict[str, dict[str, float]]:
    """Draw the last recorded figures of the default model; return the exponents of growth."""
    figure = Figure(figsize=(9, 6), layout="constrained")
    found = recorded()
    exponents: dict[str, dict[str, float]] = {}
    for axes, (what, (title, unit)) in zip(figure.subplots(2, 2).flat, PANELS.items(), strict=True):
        for place, marker in zip(PLACES, "os", strict=True):
            if len(found[what, place]) < 2:
                continue
            sizes, values = zip(*sorted(found[what, place].items()), strict=True)
            slope = float(np.polyfit(np.log(sizes), np.log(values), 1)[0])
            exponents.setdefault(title, {})[place] = slope
            axes.loglog(sizes, values, f"{marker}-", label=f"{place}: rows^{slope:.2f}")
        ticks = sorted(found[what, PLACES[0]] | found[what, PLACES[1]])
        axes.set(title=title, ylabel=unit, xlabel="rows")
        axes.set_xticks(ticks, [f"{rows / 1e6:.3g} M" for rows in ticks])
        axes.xaxis.set_minor_formatter(NullFormatter())
        low, high = axes.get_ylim()
        axes.set_ylim(low / 1.5, high * 1.5)
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3)
        axes.legend()
    _save(figure, path)
    return exponents


def recorded() -> dict[tuple[str, str], dict[int, float]]:
    """Return the last figure of each kind, place and number of rows."""
    found: dict[tuple[str, str], dict[int, float]] = {
        (what, place): {} for what in PANELS for place in PLACES
    }
    for run in read_records()["scale-model"]:
        for one in run.measurements:
            parts = RECORDED.fullmatch(one.what)
            if parts and (parts[3], parts[1]) in found:
                found[parts[3], parts[1]][int(parts[2].replace(",", ""))] = one.value
    return found


def _save(figure: Figure, path: Path) -> None:
    with rc_context({"svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})
