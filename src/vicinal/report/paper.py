"""Output for a paper: tables in LaTeX, and every fold as CSV or Parquet."""

import csv
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from vicinal._core.html import in_latex
from vicinal.comparison import Ranking, corrected_t_test, rank_methods
from vicinal.comparison.score_tables import paired
from vicinal.errors import InvalidArgumentError, optional_module
from vicinal.metrics import metric_info
from vicinal.metrics.catalogue import is_declared
from vicinal.results import Result

WORSE, BETTER = r"\(\bullet\)", r"\(\circ\)"
"""Marks of values that differ significantly from the best mean rank's: worse, better."""


SMALL = r"\footnotesize\setlength{\tabcolsep}{4pt}"
SMALLER = r"\scriptsize\setlength{\tabcolsep}{2pt}"
FEW = 4
"""Columns that fit a page in the larger size."""


def latex_table(
    results: Iterable[Result],
    metrics: Sequence[str],
    *,
    alpha: float = 0.05,
    names: Mapping[str, str] | None = None,
) -> str:
    """Return one LaTeX table per metric: mean ± standard deviation, best in bold, marks."""
    kept = list(results)
    return "\n\n".join(_table(kept, metric, alpha, dict(names or {})) for metric in metrics) + "\n"


def _table(results: Sequence[Result], metric: str, alpha: float, names: dict[str, str]) -> str:
    """Return the table of one metric."""
    found = rank_methods(results, metric, alpha)
    columns = [in_latex(names.get(method, method)) for method in found.methods]
    rows = [
        " & ".join([in_latex(names.get(data, data)), *_row(results, found, data, alpha)]) + r" \\"
        for data in found.data
    ]
    ranks = [f"{found.mean_ranks[m]:.2f}" if m in found.mean_ranks else "--" for m in found.methods]
    arrow = r"\(\downarrow\)" if found.better == "low" else r"\(\uparrow\)"
    reference = columns[0]
    caption = (
        f"{in_latex(names.get(metric, metric))} ({arrow}): mean \\(\\pm\\) standard deviation over "
        f"folds, best mean in bold. {WORSE}/{BETTER}: significantly worse/better than {reference} "
        f"(corrected t-test over folds, \\(\\alpha = {alpha:g}\\))."
    )
    lines = [
        r"\begin{table}",
        r"\centering",
        SMALL if len(columns) <= FEW else SMALLER,
        rf"\caption{{{caption}}}",
        rf"\label{{tab:{metric.replace('@', '-at-')}}}",
        rf"\begin{{tabular}}{{l{'l' * len(columns)}}}",
        r"\toprule",
        " & ".join(["data set", *columns]) + r" \\",
        r"\midrule",
        *rows,
        r"\midrule",
        " & ".join(["mean rank", *ranks]) + r" \\",
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def _row(results: Sequence[Result], found: Ranking, data: str, alpha: float) -> list[str]:
    """Return the cells of one data set."""
    marks = {method: found.marks.get((data, method)) for method in found.methods}
    shown = {m: f"{mark.mean:.3f}" for m, mark in marks.items() if mark is not None}
    if not shown:
        return ["--"] * len(found.methods)
    best = (min if found.better == "low" else max)(shown.values(), key=float)
    cells = []
    for method, mark in marks.items():
        if mark is None:
            cells.append("--")
            continue
        text = rf"\textbf{{{shown[method]}}}" if shown[method] == best else shown[method]
        spread = "" if mark.deviation is None else rf" \(\pm\) {mark.deviation:.3f}"
        cells.append(text + spread + _mark(results, found, data, method, alpha))
    return cells


def _mark(results: Sequence[Result], found: Ranking, data: str, method: str, alpha: float) -> str:
    """Return the mark of a value that differs from the first method's."""
    kept = [each for each in paired(results) if each.data == data]
    runs = [
        [each.values.get(found.metric, ()) for each in kept if each.method == name]
        for name in (found.methods[0], method)
    ]
    first, other = ([value for run in each for value in run] for each in runs)
    if method == found.methods[0] or len(first) < 2 or len(first) != len(other):
        return ""
    test = corrected_t_test(other, first, 1 / max(2, len(runs[0][0])), better=found.better)
    if not test.p < alpha:
        return ""
    return f" {BETTER if test.mean > 0 else WORSE}"


TIDY = ("data", "method", "name", "seed", "fold", "metric", "value", "better", "experiment")
"""Columns of the table with one line per fold and metric."""


def tidy_rows(
    results: Iterable[Result], names: Mapping[str, str] | None = None
) -> Iterator[tuple[Any, ...]]:
    """Yield one row per fold and metric, in the order of :data:`TIDY`."""
    shown = names or {}
    for each in results:
        for metric, values in each.values.items():
            better = metric_info(metric).better if is_declared(metric) else "none"
            for fold, value in enumerate(values, start=1):
                name = shown.get(each.method, each.method)
                facts = (each.data, each.method, name, each.seed, fold, metric, value, better)
                yield (*facts, each.experiment)


def write_csv(
    results: Iterable[Result], path: str | os.PathLike[str], names: Mapping[str, str] | None = None
) -> None:
    """Write one line per fold and metric."""
    with Path(path).open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([TIDY, *tidy_rows(results, names)])


def write_parquet(
    results: Iterable[Result], path: str | os.PathLike[str], names: Mapping[str, str] | None = None
) -> None:
    """Write one row per fold and metric as Parquet (pyarrow, extra ``frames``)."""
    arrow = optional_module("pyarrow", "frames")
    parquet = optional_module("pyarrow.parquet", "frames")
    rows = list(tidy_rows(results, names))
    columns = {name: [row[at] for row in rows] for at, name in enumerate(TIDY)}
    parquet.write_table(arrow.table(columns), path)


def parse_names(words: Sequence[str]) -> dict[str, str]:
    """Return display names from ``name=Name`` words, each of which may hold several by commas."""
    found = {}
    for word in (part for each in words for part in re.split(r",(?=[^,=]+=)", each)):
        name, equals, shown = word.partition("=")
        if not (name and equals and shown):
            raise InvalidArgumentError("--names", "name=Name", repr(word))
        found[name] = shown
    return found
