"""The page of kept benchmark results: per suite a table, and a small plot of each figure by run."""

import textwrap
from dataclasses import dataclass
from pathlib import Path

from benchmarks.recording import Measurement, Record, read_records
from generated_pages import DOCS, write_if_changed
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx.application import Sphinx

INTRODUCTION = """# Benchmarks by version

Benchmark scripts keep what they measure (`benchmarks/results/`), with version, commit, processor
and libraries. A table has the newest value of every figure and how much better or worse it is than
in the first run that was kept; figures of several runs are plotted, each from 0.

"""
COLUMNS = 3
"""Plots side by side."""


@dataclass(frozen=True)
class History:
    """The values of one figure, oldest first, each with the run it comes from."""

    what: str
    runs: list[tuple[Record, Measurement]]

    @property
    def values(self) -> list[float]:
        """The values alone."""
        return [measurement.value for _, measurement in self.runs]

    @property
    def last(self) -> Measurement:
        """The newest value."""
        return self.runs[-1][1]

    @property
    def change(self) -> str:
        """Say how the newest value compares with the first; nothing where a ratio says nothing."""
        first, last = self.values[0], self.values[-1]
        if len(self.runs) < 2 or not first or not last:
            return ""
        ratio = last / first if self.last.better == "high" else first / last
        return f"{ratio:.2f} × better" if ratio >= 1 else f"{1 / ratio:.2f} × worse"


def histories(records: list[Record]) -> list[History]:
    """Return the history of every figure, in the order in which the figures came."""
    found: dict[str, History] = {}
    for record in records:
        for measurement in record.measurements:
            history = found.setdefault(measurement.what, History(measurement.what, []))
            history.runs.append((record, measurement))
    return list(found.values())


def draw_history(axes: Axes, history: History) -> None:
    """Draw one figure by run; the title has the newest value, the axis the first and last run."""
    values = history.values
    axes.plot(values, "o-", color="#0a7d91", markersize=4)
    title = textwrap.wrap(f"{history.what}: {said(history.last)}", 36)
    axes.set_title("\n".join(title), fontsize=7.5)
    axes.set(ylim=(0, 1.1 * max(values) or 1), xlim=(-0.3, len(values) - 0.7))
    ends = [history.runs[0][0].label, history.runs[-1][0].label]
    axes.set_xticks([0, len(values) - 1], ends)
    axes.tick_params(labelsize=7)
    axes.spines[["top", "right"]].set_visible(False)


def draw(shown: list[History], path: Path) -> None:
    """Draw the figures of a suite beside and below each other."""
    n_rows = -(-len(shown) // COLUMNS)
    figure = Figure(figsize=(8, 1.9 * n_rows), layout="constrained")
    places = figure.subplots(n_rows, COLUMNS, squeeze=False).ravel()
    for axes, history in zip(places, shown, strict=False):
        draw_history(axes, history)
    for axes in places[len(shown) :]:
        axes.set_visible(False)
    figure.savefig(path, metadata={"Date": None})


def said(one: Measurement) -> str:
    """Return a value with its unit, as people write it."""
    number = f"{one.value:,.0f}" if one.value >= 1000 else f"{one.value:.3g}"
    return f"{number} {one.unit}"


def table(suite: list[History]) -> str:
    """Return the newest value of each figure, and how it compares with the first."""
    lines = ["| what | measured | since the first run | runs |", "|---|---|---|---|"]
    lines += [
        f"| {one.what} | {said(one.last)} | {one.change} | {len(one.runs)} |" for one in suite
    ]
    return "\n".join(lines)


def section(suite: str, records: list[Record], folder: Path) -> str:
    """Return the section of a suite; its plots are written beside the page."""
    figures = histories(records)
    newest = records[-1].provenance.items()
    origin = ", ".join(f"{name} {value}" for name, value in newest if value)
    text = f"## {suite}\n{table(figures)}\n\nThe newest run: {origin}.\n\n"
    repeated = [one for one in figures if len(one.runs) > 1]
    if repeated:
        draw(repeated, folder / f"benchmark-{suite}.svg")
        text += f"![Figures of {suite} by run](benchmark-{suite}.svg)\n\n"
    return text


def write_page(app: Sphinx) -> None:
    """Write the page and its pictures."""
    folder = DOCS / "evidence"
    sections = [section(suite, records, folder) for suite, records in read_records().items()]
    write_if_changed(folder / "measurements.md", INTRODUCTION + "".join(sections))


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx looks for it."""
    app.connect("builder-inited", write_page, priority=2)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
