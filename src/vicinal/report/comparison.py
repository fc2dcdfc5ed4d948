"""The report of a comparison: one HTML page from stored results.

Input: results of one experiment. Output: blocks of :mod:`vicinal.report`. One file per section.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from vicinal._core.html import clean
from vicinal.comparison import (
    FriedmanNemenyi,
    Ranking,
    corrected_t_test,
    mean_differences,
    paired_order,
    rank_methods,
    wilcoxon_holm,
)
from vicinal.comparison.diagram import rank_figure
from vicinal.comparison.method_ranking import marks_of
from vicinal.comparison.score_tables import one_experiment
from vicinal.errors import InvalidArgumentError
from vicinal.metrics import metric_info
from vicinal.metrics.catalogue import in_table_order, is_declared
from vicinal.report.comparison_details import (
    Curve,
    counted,
    curves_section,
    k_curves,
    labels_section,
    listed,
    metric_form,
    metric_title,
    origin_section,
    probability,
    times_section,
)
from vicinal.report.page import Block, Details, Facts, Page, Paragraph, PlotFigure, Section
from vicinal.report.reported import ReportedCell, reported_section, same_name
from vicinal.report.sortable_table import Cell, Column, DataTable, Row, mark_best
from vicinal.results import Result

NAMED = 6
"""Maximum number of methods that a sentence names; more are counted."""


def conclusion(tests: FriedmanNemenyi | None) -> str:
    """State what Friedman's and Nemenyi's tests show, without contradiction between the two."""
    if tests is None:
        return "A test requires at least two samples and two methods."
    if tests.least_p >= tests.alpha:
        return (
            f"{tests.n_samples} samples of {len(tests.mean_ranks)} methods are too few for a test "
            f"at α = {tests.alpha:g}: even if all samples agreed, p would be {tests.least_p:.2g}."
        )
    p = probability(tests.p_f)
    if not tests.rejected:
        return f"Friedman's test cannot tell the methods apart ({p}, α = {tests.alpha:g})."
    return f"Friedman's test finds differences between the methods ({p}). {_nemenyi(tests)}"


def _nemenyi(tests: FriedmanNemenyi) -> str:
    """State which methods the best ones differ from."""
    ranks = tests.mean_ranks
    best = [name for name in ranks if ranks[name] == min(ranks.values())]
    rest = [name for name in ranks if name not in best]
    apart = [name for name in rest if tests.differ(best[0], name)]
    alike = [name for name in rest if name not in apart]
    differ = "differs" if len(best) == 1 else "differ"
    needed = tests.needed_samples
    if tests.n_samples < needed:
        return (
            f"Nemenyi's test, which shows which of them differ, needs at least {needed} samples "
            f"of {len(ranks)} methods; there are {tests.n_samples}."
        )
    if not apart:
        return "Nemenyi's test, which is weaker, cannot tell which methods differ."
    if not alike:
        return f"By Nemenyi's test, {named(best)} {differ} from every other method."
    return (
        f"By Nemenyi's test, {named(best)} {differ} from {named(apart)} and cannot be told apart "
        f"from {named(alike)}: with {tests.n_samples} samples, mean ranks must differ by "
        f"{tests.critical_difference:.2f}."
    )


def named(methods: Sequence[str]) -> str:
    """List methods, or state their number if there are many."""
    return listed(methods) if len(methods) <= NAMED else counted(len(methods), "method")


PROTOCOLS = {"split": "the published split"}


def lead(results: Sequence[Result], main: Ranking) -> list[Block]:
    """Return an outline of the comparison and its result by the first metric."""
    return [Paragraph(verdict(main)), Facts(_facts(results, main))]


def verdict(found: Ranking) -> str:
    """State the best methods by a metric, and which others differ significantly from them."""
    if not found.mean_ranks:
        return f"Methods are not ranked: no data set has {found.metric} for every method."
    rank = min(found.mean_ranks.values())
    leaders = [name for name in found.methods if found.mean_ranks.get(name) == rank]
    over = counted(len(found.table.values), found.samples.removesuffix("s"))
    if len(found.methods) == 1:
        return f"The {found.metric} of {leaders[0]}, mean over {over}."
    ranks = "ranks" if len(leaders) == 1 else "rank"
    said = f"By {found.metric}, {named(leaders)} {ranks} best (mean rank {rank:.2f} over {over})."
    return f"{said} {conclusion(found.tests)}{folds_warning(found)}"


def folds_warning(found: Ranking) -> str:
    """Return a warning where the samples of a test are folds of one data set."""
    tests = found.tests
    if found.samples != "folds" or tests is None or tests.least_p >= tests.alpha:
        return ""
    said = (
        " Caution: folds of one data set share training rows, so these probabilities are too small "
        "and hold for this data set only."
    )
    names = [name for name in found.methods if name in found.table.methods][:2]
    if len(names) < 2 or len(found.table.values) < 3:
        return said
    first, second = (found.table.values[:, found.table.methods.index(name)] for name in names)
    share = 1 / max(folds_of(found), 2)
    p = corrected_t_test(first, second, share, better=found.better).p
    return f"{said} By the corrected t-test, {names[0]} against {names[1]}: {probability(p)}."


def folds_of(found: Ranking) -> int:
    """Return the number of folds of one run of cross-validation."""
    runs = {sample.rpartition(", fold ")[0] for sample in found.table.samples}
    return len(found.table.values) // max(len(runs), 1)


def summary_section(rankings: Mapping[str, Ranking]) -> Section:
    """Return the mean rank of every method by every metric, and the order of wins."""
    main = next(iter(rankings.values()))
    columns = [
        Column("method"),
        Column("wins − losses", form="+d", better="high", note="paired t-tests, summed"),
        *(Column(metric_title(metric), ".2f", "low") for metric in rankings),
    ]
    level = next((found.tests.alpha for found in rankings.values() if found.tests), 0.05)
    tables = {m: found.table for m, found in rankings.items() if found.tests is not None}
    wins = paired_order(tables, level).scores if tables else {}
    ranks = {m: [found.mean_ranks.get(m) for found in rankings.values()] for m in main.methods}
    rows = [(method, Cell(wins.get(method)), *ranks[method]) for method in main.methods]
    text = (
        "Mean ranks: 1 is best, ties get the mean of their ranks; ↓ marks metrics for which lower "
        "values are better, ↑ higher. Wins − losses counts, over these metrics and all pairs of "
        f"methods, two-tailed paired t-tests over {main.samples} at α = {level:g}."
    )
    return Section("Ranks", [Paragraph(text), DataTable("Mean rank by metric", columns, rows)])


def _facts(results: Sequence[Result], main: Ranking) -> dict[str, str]:
    """Return the outline of the comparison."""
    experiment = results[0].experiment.partition("/")[2] or results[0].experiment
    seeds = sorted({result.seed for result in results if result.seed is not None})
    days = sorted({result.provenance.get("date", "") for result in results} - {""})
    facts = {
        "methods": listed(main.methods),
        "data sets": listed(main.data),
        "tested on": PROTOCOLS.get(experiment, f"{experiment}, stratified by label"),
    }
    if seeds:
        facts["seeds"] = ", ".join(map(str, seeds))
    if days:
        facts["run"] = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    return facts


def metric_section(found: Ranking) -> Section:
    """Return the section of one metric."""
    blocks: list[Block] = [metric_table(found)]
    if found.left_out:
        said = f"Ranks exclude {listed(found.left_out)}, where some methods have no value."
        blocks.append(Paragraph(said))
    if found.tests is not None:
        blocks += [Paragraph(_friedman(found.tests)), _diagram(found, found.tests), _pairs(found)]
    return Section(metric_title(found.metric), blocks)


def metric_table(found: Ranking) -> DataTable:
    """Return data sets × methods, best method first, the best value of each data set in bold."""
    form = metric_form(found.metric)
    rows: list[Row] = []
    for data in found.data:
        marks = [found.marks.get((data, method)) for method in found.methods]
        cells = [Cell(None) if m is None else Cell(m.mean, spread=m.deviation) for m in marks]
        rows.append([data, *mark_best(cells, found.better, form)])
    means = [found.mean_ranks.get(method) for method in found.methods]
    ranks: Row = ["mean rank", *(Cell(m, text=None if m is None else f"{m:.2f}") for m in means)]
    groups: Row = ["group", *(found.groups_of(method) for method in found.methods)]
    several = any(mark.deviation is not None for mark in found.marks.values())
    what = "mean ± standard deviation over folds" if several else "value"
    return DataTable(
        caption=f"{metric_title(found.metric)}: {what}, methods by mean rank",
        columns=[Column("data set"), *(Column(method, form) for method in found.methods)],
        rows=rows,
        footer=[ranks, groups] if found.differ else [ranks],
    )


def _friedman(tests: FriedmanNemenyi) -> str:
    """Return the result of the tests as text."""
    figures = (
        f"Over {tests.n_samples} samples, χ² = {tests.chi2:.2f} and F = {tests.f:.2f} "
        f"({probability(tests.p_f)}). "
    )
    if not tests.rejected:
        return figures + conclusion(tests)
    apart = f"{tests.critical_difference:.2f}"
    return figures + (
        f"{conclusion(tests)} Methods differ if their mean ranks are at least {apart} apart "
        f"(α = {tests.alpha:g}); methods that share a group letter cannot be told apart."
    )


def _diagram(found: Ranking, tests: FriedmanNemenyi) -> PlotFigure:
    """Return the critical difference diagram."""
    ranks = ", ".join(f"{method} {rank:.2f}" for method, rank in tests.mean_ranks.items())
    alike = "; ".join(listed(group) for group in tests.groups) or "none"
    drawn = replace(
        tests,
        mean_ranks={clean(method): rank for method, rank in tests.mean_ranks.items()},
        groups=tuple(tuple(map(clean, group)) for group in tests.groups),
    )
    joins = "a bar joins methods that cannot be told apart"
    caption = f"Mean ranks by {found.metric}, best at the left; {joins}"
    caution = "" if tests.rejected else " (not meaningful, as Friedman's test finds no difference)"
    return PlotFigure(
        rank_figure(drawn),
        f"{caption}{caution}.",
        f"Mean ranks by {found.metric}: {ranks}. Groups that cannot be told apart: {alike}.",
    )


def _pairs(found: Ranking) -> Details:
    """Return a table of all pairs: mean difference, Wilcoxon's test, Holm's correction."""
    alpha = found.tests.alpha if found.tests is not None else 0.05
    tests = wilcoxon_holm(found.table, alpha, better=found.better)
    sizes = mean_differences(found.table)
    form = "+" + metric_form(found.metric).replace("3f", "4f")
    columns: Sequence[Column] = [
        Column("first"),
        Column("second"),
        Column("mean difference", form, note="first − second"),
        Column("from", form, note="bootstrap, 95 %"),
        Column("to", form, note="bootstrap, 95 %"),
        Column("p", ".4f", note="Wilcoxon's signed ranks, two-tailed"),
        Column("p, Holm", ".4f", note="corrected for all pairs"),
        Column("better"),
    ]
    rows = [
        (t.first, t.second, s.mean, s.low, s.high, t.p, t.p_holm, t.winner or "–")
        for t, s in zip(tests, sizes, strict=True)
    ]
    caption = f"Pairs by {found.metric}: differences with their intervals, and signed ranks"
    return Details("Every pair of methods", [DataTable(caption, columns, rows)])


def every_metric_section(results: Sequence[Result], methods: Sequence[str]) -> Section:
    """Return a table of metrics × methods for each data set."""
    names = [info.name for info in in_table_order(map(metric_info, _measured(results)))]
    marks = {name: marks_of(results, name) for name in names}
    tables = []
    for data in dict.fromkeys(result.data for result in results):
        rows: list[Row] = []
        for name in names:
            found = [marks[name].get((data, method)) for method in methods]
            cells = [Cell(None) if mark is None else Cell(mark.mean) for mark in found]
            side = metric_info(name).better
            marked = cells if side == "none" else mark_best(cells, side, ".4f")
            rows.append([metric_title(name), *marked])
        columns = [Column("metric"), *(Column(method, ".4f") for method in methods)]
        table = DataTable(f"Every metric on {data}, means over folds", columns, rows)
        tables.append(Details(data, [table]))
    return Section("Every metric", tables)


SHOWN = (
    "hamming-loss", "subset-accuracy", "example-f1", "micro-f1", "macro-f1",
    "one-error", "ranking-loss", "average-precision",
)  # fmt: skip
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
        Results of one experiment, e.g. from :func:`vicinal.compare` or a store.
    path : path
        Output file. The same results give the same bytes.
    metrics : sequence of str or None
        Metrics with tables, tests and a diagram; the first determines the order of methods. None
        for the default metrics. All other metrics are in a collapsed table.
    alpha : float
        Significance level.
    reported : iterable of vicinal.report.reported.ReportedCell
        Published figures; those that the results also have are shown next to them.
    curves : iterable of vicinal.report.comparison_details.Curve
        Additional curves over k, e.g. from tuning; curves in the results are always drawn.
    title : str or None
        Title, if any.

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
    own = {
        (data, same_name(method), metric): mark
        for metric in {name for result in kept for name in result.values}
        for (data, method), mark in marks_of(kept, metric).items()
    }
    sections = [
        summary_section(rankings),
        *(metric_section(found) for found in rankings.values()),
        curves_section(drawn),
        labels_section(kept, main.methods),
        reported_section(reported, own),
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
    measured = _measured(results)
    asked = list(SHOWN) if metrics is None else [metric_info(name).name for name in metrics]
    names = [name for name in dict.fromkeys(asked) if metrics is not None or name in measured]
    if not names:  # none of the default metrics
        names = sorted(name for name in measured if metric_info(name).better != "none")
    for name in names or ["none"]:
        if name not in measured:
            known = ", ".join(sorted(measured)) or "none"
            raise InvalidArgumentError("metrics", f"metrics of the results ({known})", repr(name))
    return {name: rank_methods(results, name, alpha) for name in names}


def _measured(results: Sequence[Result]) -> set[str]:
    """Return the metrics of the results, except own ones whose module has not been imported."""
    return {name for result in results for name in result.values if is_declared(name)}
