"""Rank methods by one metric and test whether they differ."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from vicinal._core.html import Cells, Tabular
from vicinal.comparison.friedman import FriedmanNemenyi, rank_tests
from vicinal.comparison.score_tables import (
    Better,
    Table,
    in_order,
    paired,
    rank_table,
    results_table,
)
from vicinal.metrics.catalogue import better_side
from vicinal.results import Result, deviation_of


@dataclass(frozen=True)
class Mark:
    """The mean of a method on a data set, over folds and seeds, and their standard deviation."""

    mean: float
    deviation: float | None = None


@dataclass(frozen=True, eq=False)
class Ranking(Tabular):
    """The methods by one metric.

    Parameters
    ----------
    metric : str
        Name of the metric.
    better : {"low", "high"}
        Which values are better.
    methods : tuple of str
        Best mean rank first; methods without one last.
    data : tuple of str
        Names of the data sets.
    marks : mapping of (data, method) to Mark
        Missing if there is no value.
    mean_ranks : mapping of method to float
        Over the samples on which all methods have a value; empty if there are none.
    samples : {"data sets", "folds"}
        What was ranked.
    table : Table
        The values that were ranked.
    tests : FriedmanNemenyi or None
        None if there are fewer than two samples or methods.
    left_out : tuple of str
        Data sets on which a method lacks the metric or has NaN.
    """

    metric: str
    better: Better
    methods: tuple[str, ...]
    data: tuple[str, ...]
    marks: Mapping[tuple[str, str], Mark]
    mean_ranks: Mapping[str, float]
    samples: str
    table: Table
    tests: FriedmanNemenyi | None
    left_out: tuple[str, ...]

    def __repr__(self) -> str:
        """Summarise the ranking in one line."""
        return f"Ranking({self.metric}; {', '.join(self.methods)}; over {self.samples})"

    def cells(self) -> Cells:
        """Return the mean of each data set and method, and the mean ranks."""
        marks = self.marks
        rows: list[list[object]] = [
            [d, *(marks[d, m].mean if (d, m) in marks else None for m in self.methods)]
            for d in self.data
        ]
        ranks = [self.mean_ranks.get(method) for method in self.methods]
        return Cells(["data set", *self.methods], [*rows, ["mean rank", *ranks]])

    @property
    def differ(self) -> bool:
        """Whether Friedman's test finds a significant difference."""
        return self.tests is not None and self.tests.rejected

    def groups_of(self, method: str) -> str:
        """Return the letters of a method's groups.

        Methods that share a group letter cannot be told apart at this significance level (Nemenyi).
        Empty for a method that differs from all others, and if Friedman's test finds no difference.
        """
        if self.tests is None or not self.differ:
            return ""
        at = [g for g, group in enumerate(self.tests.groups) if method in group]
        return " ".join(_letter(each) for each in at)


def rank_methods(results: Iterable[Result], metric: str, alpha: float = 0.05) -> Ranking:
    """Order methods by a metric, and test whether they differ.

    Parameters
    ----------
    results : iterable of Result
        Of one experiment.
    metric : str
        Name of the metric.
    alpha : float
        Significance level.

    Examples
    --------
    >>> losses = {"A": (0.1, 0.2, 0.1), "B": (0.2, 0.3, 0.3)}
    >>> results = [Result("compare", "yeast", m, {"hamming-loss": v}) for m, v in losses.items()]
    >>> found = rank_methods(results, "hamming-loss")
    >>> found.methods, dict(found.mean_ranks), found.samples
    (('A', 'B'), {'A': 1.0, 'B': 2.0}, 'folds')
    """
    kept = paired(results)
    side = better_side(metric)
    methods, data = in_order(r.method for r in kept), in_order(r.data for r in kept)
    marks = marks_of(kept, metric)
    table = results_table(kept, metric, missing="drop")
    ranks = _mean_ranks(table, side)
    is_testable = min(table.values.shape) >= 2
    return Ranking(
        metric=metric,
        better=side,
        methods=tuple(sorted(methods, key=lambda name: ranks.get(name, math.inf))),
        data=tuple(data),
        marks=marks,
        mean_ranks=ranks,
        samples="data sets" if len(data) > 1 else "folds",
        table=table,
        tests=rank_tests(table, alpha, better=side) if is_testable else None,
        left_out=tuple(d for d in data if any((d, method) not in marks for method in methods)),
    )


def marks_of(results: Iterable[Result], metric: str) -> dict[tuple[str, str], Mark]:
    """Return mean and deviation of each (data set, method) without NaN values."""
    values: dict[tuple[str, str], list[float]] = {}
    for result in results:
        values.setdefault((result.data, result.method), []).extend(result.values.get(metric, ()))
    return {
        key: Mark(math.fsum(each) / len(each), deviation_of(each))
        for key, each in values.items()
        if each and not any(math.isnan(value) for value in each)
    }


def _mean_ranks(table: Table, better: Better) -> dict[str, float]:
    """Return the mean rank of each method, best first; a single sample or method is enough."""
    if not table.values.size:
        return {}
    if len(table.methods) == 1:
        return {table.methods[0]: 1.0}
    # Ranks need no second sample, but the tests that share the reader do: give it the row twice.
    values = table.values if len(table.values) > 1 else table.values.repeat(2, axis=0)
    means = rank_table(Table(values, table.methods), better).values.mean(axis=0)
    ranked = zip(table.methods, means.tolist(), strict=True)
    return dict(sorted(ranked, key=lambda item: item[1]))


def _letter(at: int) -> str:
    """Return a, b, …, z, aa, ab, and so on."""
    return (_letter(at // 26 - 1) if at >= 26 else "") + chr(ord("a") + at % 26)
