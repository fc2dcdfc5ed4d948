"""The page of kept benchmark results: per suite a plot by version and a table of the last run."""

from pathlib import Path

from benchmarks.recording import Record, read_records
from generated_pages import DOCS, write_if_changed
from matplotlib.figure import Figure
from sphinx.application import Sphinx

INTRODUCTION = """# Benchmarks by version

Benchmark scripts keep what they measure (`benchmarks/results/`), with version, commit, processor
and libraries. Each plot shows the figures of one suite relative to the first run that was kept:
above 1 is better than then, whatever the unit.

"""


def progress(records: list[Record]) -> dict[str, list[float | None]]:
    """Return for each figure how much better every run is than the first that has it.

    A figure that is 0 in some run, such as a number of errors, has no ratio and is left out.
    """
    names = dict.fromkeys(one.what for record in records for one in record.measurements)
    found: dict[str, list[float | None]] = {}
    for name in names:
        runs = [next((m for m in r.measurements if m.what == name), None) for r in records]
        if any(run is not None and run.value == 0 for run in runs):
            continue
        first = next(run for run in runs if run is not None)
        found[name] = [
            None
            if run is None
            else (run.value / first.value if run.better == "high" else first.value / run.value)
            for run in runs
        ]
    return found


def draw(suite: str, records: list[Record], path: Path) -> None:
    """Draw the progress of a suite."""
    lines = progress(records)
    figure = Figure(figsize=(8, 3 + 0.18 * len(lines)), layout="constrained")  # room for the legend
    axes = figure.add_subplot()
    places = range(len(records))
    for name, values in lines.items():
        shown = [(at, value) for at, value in zip(places, values, strict=True) if value is not None]
        axes.plot(*zip(*shown, strict=True), "o-", label=name)
    axes.set_xticks(places, [record.label for record in records])
    axes.set(title=suite, ylabel="times as good as the first run", yscale="log")
    axes.grid(alpha=0.3)
    figure.legend(loc="outside lower center", fontsize=7)
    figure.savefig(path, metadata={"Date": None})


def table(record: Record) -> str:
    """Return the figures of a run as a table, and where they came from."""
    lines = ["| what | measured |", "|---|---|"]
    lines += [f"| {one.what} | {one.value:.4g} {one.unit} |" for one in record.measurements]
    origin = ", ".join(f"{name} {value}" for name, value in record.provenance.items() if value)
    return "\n".join([*lines, "", f"Measured with: {origin}."])


def write_page(app: Sphinx) -> None:
    """Write the page and its pictures."""
    folder = DOCS / "project"
    text = INTRODUCTION
    for suite, records in read_records().items():
        draw(suite, records, folder / f"benchmark-{suite}.svg")
        text += (
            f"## {suite}\n![Progress of {suite}](benchmark-{suite}.svg)\n\n{table(records[-1])}\n\n"
        )
    write_if_changed(folder / "measurements.md", text)


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx looks for it."""
    app.connect("builder-inited", write_page, priority=2)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
