"""The report of a comparison: one HTML page from stored results."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from vicinal._base.errors import InvalidArgumentError
from vicinal.comparison import Ranking, rank_methods
from vicinal.comparison.ranking import marks_of
from vicinal.comparison.tables import one_experiment
from vicinal.metrics import metric_info
from vicinal.report.compared.curves import Curve, curves_section, k_curves
from vicinal.report.compared.every_metric import every_metric_section
from vicinal.report.compared.labels import labels_section
from vicinal.report.compared.metric import metric_section
from vicinal.report.compared.origin import origin_section
from vicinal.report.compared.summary import lead, summary_section
from vicinal.report.compared.times import times_section
from vicinal.report.compared.words import counted
from vicinal.report.page import Page
from vicinal.report.reported import OwnCell, ReportedCell, reported_section, same_name
from vicinal.results import Result

SHOWN = (
    "hamming-loss",
    "subset-accuracy",
    "example-f1",
    "micro-f1",
    "macro-f1",
    "one-error",
    "ranking-loss",
    "average-precision",
)
"""Metrics that have their own section by default."""


def comparison_report(
    results: Iterable[Result],
    path: str | os.PathLike[str],
    *,
    metrics: Sequence[str] | None = None,
    alpha: float = 0.05,
    reported: Iterable[ReportedCell] = (),
    curves: Iterable[Curve] = (),
    title: str | None = None,
) -> Path:
    """Write the report of a comparison as one self-contained HTML file.

    Parameters
    ----------
    results : iterable of Result
        Results of one experiment, e.g. from :func:`vicinal.comparison.run_comparison` or a store.
    path : path
        Output file. The same results give the same bytes.
    metrics : sequence of str or None
        Metrics with tables, tests and a diagram; the first determines the order of methods. None
        for the default metrics. All other metrics are in a collapsed table.
    alpha : float
        Significance level.
    reported : iterable of vicinal.report.reported.ReportedCell
        Published figures; those that the results also have are shown next to them.
    curves : iterable of vicinal.report.compared.curves.Curve
        Additional curves over k, e.g. from tuning; curves in the results are always drawn.
    title : str or None

    Returns
    -------
    Path

    Examples
    --------
    >>> import tempfile
    >>> values = {"A": (0.2, 0.25), "B": (0.5, 0.75)}
    >>> results = [Result("e", "yeast", name, {"one-error": v}) for name, v in values.items()]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = comparison_report(results, f"{folder}/report.html", title="A and B").read_text()
    >>> "<h1>A and B</h1>" in page
    True
    """
    page = comparison_page(
        results, metrics=metrics, alpha=alpha, reported=reported, curves=curves, title=title
    )
    return page.write(path)


def comparison_page(
    results: Iterable[Result],
    *,
    metrics: Sequence[str] | None = None,
    alpha: float = 0.05,
    reported: Iterable[ReportedCell] = (),
    curves: Iterable[Curve] = (),
    title: str | None = None,
) -> Page:
    """Return the page that :func:`comparison_report` writes."""
    kept = one_experiment(results)
    rankings = _rankings(kept, metrics, alpha)
    main = next(iter(rankings.values()))
    drawn = [*k_curves(kept, main.metric), *curves]
    sections = [
        summary_section(rankings),
        *(metric_section(found) for found in rankings.values()),
        curves_section(drawn),
        labels_section(kept, main.methods),
        reported_section(reported, _own_cells(kept)),
        every_metric_section(kept, main.methods),
        times_section(kept, main.methods),
        origin_section(kept, main.methods),
    ]
    said = f"{counted(len(main.methods), 'method')} on {counted(len(main.data), 'data set')}"
    return Page(
        title=title or said,
        lead=lead(kept, main),
        sections=[section for section in sections if section is not None],
        footer="Made by vicinal.",
    )


def _rankings(
    results: Sequence[Result], metrics: Sequence[str] | None, alpha: float
) -> dict[str, Ranking]:
    """Return the ranking of the methods for each metric to be shown."""
    measured = {name for result in results for name in result.values}
    asked = list(SHOWN) if metrics is None else [metric_info(name).name for name in metrics]
    names = [name for name in dict.fromkeys(asked) if metrics is not None or name in measured]
    if not names:  # none of the default metrics
        names = sorted(name for name in measured if metric_info(name).better != "none")
    for name in names or ["none"]:
        if name not in measured:
            known = ", ".join(sorted(measured)) or "none"
            raise InvalidArgumentError("metrics", f"metrics of the results ({known})", repr(name))
    return {name: rank_methods(results, name, alpha) for name in names}


def _own_cells(results: Sequence[Result]) -> dict[tuple[str, str, str], OwnCell]:
    """Return all means of the results, keyed like the papers' cells."""
    cells = {}
    for metric in {name for result in results for name in result.values}:
        for (data, method), mark in marks_of(results, metric).items():
            cells[data, same_name(method), metric] = OwnCell(mark.mean, mark.deviation)
    return cells
