"""The ranking of compared methods, as a table for people and as JSON."""

from collections.abc import Mapping, Sequence

from rich.markup import escape
from rich.table import Table

from vicinal.cli.output import out
from vicinal.comparison import Ranking
from vicinal.report.compared.summary import verdict
from vicinal.report.compared.words import metric_form, metric_title
from vicinal.results import Result

STEPS = ("search", "fit", "predict")


def ranking_table(found: Ranking, seconds: Mapping[str, Mapping[str, float]]) -> Table:
    """Return a table of data sets × methods by mean rank, with the best values in bold.

    If the terminal is too narrow for one column per method, methods are rows instead.
    """
    if sum(len(name) + 3 for name in ("mean rank", *found.methods)) > out.width:
        return _by_method(found, seconds)
    table = Table(title=metric_title(found.metric), title_justify="left")
    table.add_column("data set", no_wrap=True)
    for method in found.methods:
        table.add_column(escape(method), justify="right")
    for data in found.data:
        table.add_row(escape(data), *_values(found, data))
    table.add_section()
    ranks = (_shown(found.mean_ranks.get(method), ".2f") for method in found.methods)
    table.add_row("mean rank", *ranks)
    if found.differ:
        table.add_row("group", *(found.groups_of(method) for method in found.methods))
    own = (sum(seconds[method].get(step, 0.0) for step in STEPS[1:]) for method in found.methods)
    table.add_row("seconds", *(f"{each:.2f}" for each in own))
    return table


def _by_method(found: Ranking, seconds: Mapping[str, Mapping[str, float]]) -> Table:
    """Return a table of methods × data sets, for narrow terminals."""
    table = Table(title=metric_title(found.metric), title_justify="left")
    table.add_column("method", no_wrap=True)
    for name in (*found.data, "mean rank", *(["group"] if found.differ else []), "seconds"):
        table.add_column(escape(name), justify="right")
    columns = [_values(found, data) for data in found.data]
    for at, method in enumerate(found.methods):
        spent = sum(seconds[method].get(step, 0.0) for step in STEPS[1:])
        cells = [column[at] for column in columns]
        cells.append(_shown(found.mean_ranks.get(method), ".2f"))
        cells += [found.groups_of(method)] if found.differ else []
        table.add_row(escape(method), *cells, f"{spent:.2f}")
    return table


def conclusion(found: Ranking) -> str:
    """Return a sentence on what the table shows, with markup escaped."""
    notes = [verdict(found)]
    if found.left_out:
        notes.append(f"Left out because values are missing: {', '.join(found.left_out)}.")
    if found.differ:
        notes.append(
            "Methods that share a group letter cannot be told apart at this significance level."
        )
    return escape(" ".join(notes))


def spent_seconds(results: Sequence[Result]) -> dict[str, dict[str, float]]:
    """Return the total seconds of each method, by step."""
    spent: dict[str, dict[str, float]] = {}
    for result in results:
        of_method = spent.setdefault(result.method, {})
        for step, seconds in result.seconds.items():
            of_method[step] = of_method.get(step, 0.0) + seconds
    return spent


def ranking_json(found: Ranking, seconds: Mapping[str, Mapping[str, float]]) -> dict[str, object]:
    """Return the ranking as plain values."""
    tests = found.tests
    return {
        "metric": found.metric,
        "better": found.better,
        "values": {
            data: {
                method: mark.mean
                for method in found.methods
                if (mark := found.marks.get((data, method))) is not None
            }
            for data in found.data
        },
        "mean_ranks": dict(found.mean_ranks),
        "samples": found.samples,
        "p": None if tests is None else tests.p_f,
        "critical_difference": None if tests is None else tests.critical_difference,
        "groups": [] if tests is None else [list(group) for group in tests.groups],
        "left_out": list(found.left_out),
        "conclusion": verdict(found),
        "seconds": {method: dict(seconds[method]) for method in found.methods},
    }


def _values(found: Ranking, data: str) -> list[str]:
    """Return the cells of one data set, with the best values in bold."""
    form = metric_form(found.metric)
    marks = [found.marks.get((data, method)) for method in found.methods]
    means = [mark.mean for mark in marks if mark is not None]
    if not means:
        return ["–"] * len(marks)
    best = format(min(means) if found.better == "low" else max(means), form)
    texts = [_shown(None if mark is None else mark.mean, form) for mark in marks]
    return [f"[bold]{text}[/]" if text == best else text for text in texts]


def _shown(value: float | None, form: str) -> str:
    """Return a number, or a dash."""
    return "–" if value is None else format(value, form)
