"""The papers' partial orders of methods, compared with those of our results."""

from collections.abc import Mapping
from dataclasses import dataclass

from vicinal.comparison import paired_order
from vicinal_reproduction.figures.cells import Figures
from vicinal_reproduction.figures.reported import reported_wins
from vicinal_reproduction.specification import Order, Paper

Pair = tuple[str, str, str]
"""Metric, winner, loser."""


@dataclass(frozen=True)
class OrderAgreement:
    """Which pairs of a partial order are reproduced.

    Parameters
    ----------
    agreed : tuple of (metric, winner, loser)
        In the paper and in our results.
    missing : tuple
        In the paper, not significant in our results.
    reversed : tuple
        In the paper, the other way round in our results.
    further : tuple
        In our results, not in the paper.
    not_run : tuple
        In the paper, but one of the methods has no results.
    """

    agreed: tuple[Pair, ...]
    missing: tuple[Pair, ...]
    reversed: tuple[Pair, ...]
    further: tuple[Pair, ...]
    not_run: tuple[Pair, ...]


def compare_order(paper: Paper, order: Order, figures: Figures) -> OrderAgreement:
    """Compare the paper's order with ours, using the same paired t-test."""
    theirs = {
        (win.metric, win.winner, win.loser)
        for win in reported_wins()
        if (win.paper, win.table) == (paper.name, order.table)
    }
    tables = {metric: _samples(order, figures, metric) for metric in order.metrics}
    ours = _wins({metric: table for metric, table in tables.items() if len(table) > 1})
    known = {metric: set(table) for metric, table in tables.items()}
    run = {pair for pair in theirs if {pair[1], pair[2]} <= known[pair[0]]}
    turned = {pair for pair in run if (pair[0], pair[2], pair[1]) in ours}
    return OrderAgreement(
        agreed=tuple(sorted(run & ours)),
        missing=tuple(sorted(run - ours - turned)),
        reversed=tuple(sorted(turned)),
        further=tuple(
            sorted(pair for pair in ours - theirs if (pair[0], pair[2], pair[1]) not in turned)
        ),
        not_run=tuple(sorted(theirs - run)),
    )


def _wins(tables: Mapping[str, Mapping[str, list[float]]]) -> set[Pair]:
    """Return the significant pairs of all metrics."""
    if not tables:
        return set()
    return {(win.metric, win.winner, win.loser) for win in paired_order(tables).wins}


def _samples(order: Order, figures: Figures, metric: str) -> dict[str, list[float]]:
    """Return each method's values: folds of the first seed, or one value per data set.

    Only the first seed, because folds of different seeds share rows and are not independent.
    """
    found: dict[str, list[float]] = {}
    for experiment in order.experiments:
        methods = {each.method for each in figures.results if each.experiment == experiment}
        for method in sorted(methods):
            parts = [figures.values(experiment, data, method, metric) for data in order.members]
            if all(parts) and " k=" not in method:
                found[method] = [value for part in parts for value in part[0]]
    return found
