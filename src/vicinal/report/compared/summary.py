"""The start of the report: an outline of the comparison, and mean ranks by method and metric."""

from collections.abc import Mapping, Sequence

from vicinal.comparison import Ranking, paired_order
from vicinal.report.blocks import Block, Facts, Paragraph, Section
from vicinal.report.cells import Cell
from vicinal.report.compared.conclusion import conclusion, named
from vicinal.report.compared.words import counted, listed, metric_title
from vicinal.report.table import Column, DataTable
from vicinal.results import Result

PROTOCOLS = {"split": "the published split"}


def lead(results: Sequence[Result], main: Ranking) -> list[Block]:
    """Return an outline of the comparison and its result by the first metric."""
    return [Paragraph(verdict(main)), Facts(_facts(results, main))]


def verdict(found: Ranking) -> str:
    """State the best methods by a metric, and which others differ significantly from them.

    Examples
    --------
    >>> from vicinal.comparison import rank_methods
    >>> losses = {"A": (0.1, 0.2, 0.1), "B": (0.2, 0.3, 0.3)}
    >>> results = [Result("compare", "yeast", m, {"hamming-loss": v}) for m, v in losses.items()]
    >>> verdict(rank_methods(results, "hamming-loss"))
    'By hamming-loss, A ranks best (mean rank 1.00 over 3 folds). 3 samples of 2 methods are too few
    for a test at α = 0.05: even if all samples agreed, p would be 0.25.'
    """
    if not found.mean_ranks:
        return f"Methods are not ranked: no data set has {found.metric} for every method."
    rank = min(found.mean_ranks.values())
    leaders = [name for name in found.methods if found.mean_ranks.get(name) == rank]
    over = counted(len(found.table.values), found.samples.removesuffix("s"))
    ranks = "ranks" if len(leaders) == 1 else "rank"
    said = f"By {found.metric}, {named(leaders)} {ranks} best (mean rank {rank:.2f} over {over})."
    return f"{said} {conclusion(found.tests)}"


def summary_section(rankings: Mapping[str, Ranking]) -> Section:
    """Return the mean rank of every method by every metric, and the order of wins."""
    main = next(iter(rankings.values()))
    columns = [
        Column("method"),
        Column("wins − losses", form="+d", better="high", note="paired t-tests, summed"),
        *(Column(metric_title(metric), ".2f", "low") for metric in rankings),
    ]
    wins = _wins(rankings)
    rows = [
        (
            method,
            Cell(wins.get(method)),
            *(found.mean_ranks.get(method) for found in rankings.values()),
        )
        for method in main.methods
    ]
    level = main.tests.alpha if main.tests else 0.05
    text = (
        "Mean ranks: 1 is best, ties get the mean of their ranks; ↓ marks metrics for which lower "
        "values are better, ↑ higher. Wins − losses counts, over these metrics and all pairs of "
        f"methods, two-tailed paired t-tests over {main.samples} at α = {level:g}."
    )
    return Section("Ranks", [Paragraph(text), DataTable("Mean rank by metric", columns, rows)])


def _wins(rankings: Mapping[str, Ranking]) -> Mapping[str, int]:
    """Return wins less losses of each method, over the metrics that can be tested."""
    tables = {m: found.table for m, found in rankings.items() if found.tests is not None}
    level = next((found.tests.alpha for found in rankings.values() if found.tests), 0.05)
    return paired_order(tables, level).scores if tables else {}


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
