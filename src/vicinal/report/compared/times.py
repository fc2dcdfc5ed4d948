"""Run times: the shared search and each method's own part."""

from collections.abc import Mapping, Sequence

from vicinal.report.blocks import Paragraph, Section
from vicinal.report.cells import Cell, Value
from vicinal.report.table import Column, DataTable
from vicinal.results import Result

TIMES_TEXT = (
    "Seconds over all folds and seeds, as measured on the machine named below. Methods with the "
    "same distance share one search per fold: its time is listed for each of them but was spent "
    "only once. Fit and predict times are each method's own."
)
OWN = ("fit", "predict")


def times_section(results: Sequence[Result], methods: Sequence[str]) -> Section:
    """Return the seconds of each method, in total and per data set."""
    data = list(dict.fromkeys(result.data for result in results))
    spent = {(d, m): _own_seconds(results, d, m) for d in data for m in methods}
    searched = {(d, m): _seconds(results, d, m, ("search",)) for d in data for m in methods}
    totals: dict[str, float] = {m: sum(spent[d, m] or 0.0 for d in data) for m in methods}
    order = sorted(methods, key=lambda method: totals[method])
    columns = [
        Column("method"),
        Column("search, shared", ".2f"),
        Column("fit + predict", ".2f", better="low"),
        *(Column(name, ".2f", better="low", group="fit + predict") for name in data),
    ]
    rows = [
        (
            method,
            _total(searched, data, method),
            totals[method],
            *(spent[name, method] for name in data),
        )
        for method in order
    ]
    table = DataTable("Seconds by method, fastest first", columns, rows)
    return Section("Times", [Paragraph(TIMES_TEXT), table])


def _total(
    seconds: Mapping[tuple[str, str], float | None], data: Sequence[str], method: str
) -> Value | Cell:
    """Return the sum over data sets; None for a method that uses no graph."""
    known = [each for name in data if (each := seconds[name, method]) is not None]
    return sum(known) if known else None


def _own_seconds(results: Sequence[Result], data: str, method: str) -> float | None:
    """Return the seconds of fit and predict."""
    return _seconds(results, data, method, OWN)


def _seconds(
    results: Sequence[Result], data: str, method: str, steps: Sequence[str]
) -> float | None:
    """Return the seconds of some steps of a method on a data set, over all seeds."""
    known = [
        result.seconds[step]
        for result in results
        if (result.data, result.method) == (data, method)
        for step in steps
        if step in result.seconds
    ]
    return sum(known) if known else None
