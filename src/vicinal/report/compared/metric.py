"""The section of one metric: table, tests, critical difference diagram."""

from collections.abc import Sequence
from dataclasses import replace

from vicinal._base.markup import clean
from vicinal.comparison import FriedmanNemenyi, Ranking, mean_differences, wilcoxon_holm
from vicinal.comparison.drawing import rank_figure
from vicinal.report.blocks import Block, Details, Paragraph, Section
from vicinal.report.cells import Cell, mark_best
from vicinal.report.compared.conclusion import conclusion
from vicinal.report.compared.words import listed, metric_form, metric_title, probability
from vicinal.report.figure import PlotFigure
from vicinal.report.table import Column, DataTable, Row


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
        cells = [_cell(found, data, method) for method in found.methods]
        rows.append([data, *mark_best(cells, found.better, form)])
    ranks: Row = ["mean rank", *(_rank(found, method) for method in found.methods)]
    groups: Row = ["group", *(found.groups_of(method) for method in found.methods)]
    several = any(mark.deviation is not None for mark in found.marks.values())
    what = "mean ± standard deviation over folds" if several else "value"
    return DataTable(
        caption=f"{metric_title(found.metric)}: {what}, methods by mean rank",
        columns=[Column("data set"), *(Column(method, form) for method in found.methods)],
        rows=rows,
        footer=[ranks, groups] if found.differ else [ranks],
    )


def _cell(found: Ranking, data: str, method: str) -> Cell:
    """Return mean and standard deviation, or an empty cell."""
    mark = found.marks.get((data, method))
    return Cell(None) if mark is None else Cell(mark.mean, spread=mark.deviation)


def _rank(found: Ranking, method: str) -> Cell:
    """Return a mean rank with two decimals."""
    rank = found.mean_ranks.get(method)
    return Cell(rank, text=None if rank is None else f"{rank:.2f}")


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
