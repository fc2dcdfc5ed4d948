"""The parts of a reproduction: experiments that produce results, and tables filled from them.

An experiment is run once for each data set and seed (a unit) and may fill several tables; a table
states which result belongs in which cell. Both are plain data.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeAlias

from vicinal.datasets import Dataset
from vicinal.results import Result

OWN, RIVAL = "own", "rival"

SEEDS = (1, 2, 3)
"""Fold seeds of cross-validated cells."""


@dataclass(frozen=True)
class Method:
    """A method as a paper ran it.

    Parameters
    ----------
    make : callable
        Takes a seed and returns the estimator.
    ks : tuple of int
        Numbers of neighbours tried (or averaged over); empty for a method that has none.
    grid : mapping of str to tuple
        Further parameters tried, with their values.
    """

    make: Callable[[int], Any]
    ks: tuple[int, ...] = ()
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)


Methods: TypeAlias = Mapping[str, Method]


@dataclass(frozen=True, eq=False)
class Job:
    """One unit: the methods of an experiment that are missing, on one data set, with one seed.

    `backend` selects where a projection search runs, as in :class:`vicinal.reduction.MLARP`.
    """

    experiment: str
    data: str
    dataset: Dataset
    methods: Methods
    seed: int
    backend: str = "numpy"


class RunsJobs(Protocol):
    """How an experiment is run: splitting, scaling, tuning and evaluation."""

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the result of each method as soon as it is available."""

    def quick(self) -> "RunsJobs":
        """Return a shortened version: fewer folds, fewer settings."""


@dataclass(frozen=True)
class Experiment:
    """An experiment to run.

    Parameters
    ----------
    name : str
        Name of its results: ``paper/experiment``.
    what : str
        One line for the reader.
    data : tuple of str
        Names as in the paper's tables.
    methods : mapping of str to Method
    protocol : RunsJobs
    seeds : tuple of int
    cost : int
        Cheap experiments (low) are run first.
    quick_data : tuple of str
        Data sets of a quick run; by default the first.
    """

    name: str
    what: str
    data: tuple[str, ...]
    methods: Methods
    protocol: RunsJobs
    seeds: tuple[int, ...] = SEEDS
    cost: int = 1
    quick_data: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """A table of a paper, and the results it is filled from.

    Parameters
    ----------
    name, title : str
    data, methods, metrics : tuple of str
        As in the paper. Cells are their product, except those the paper leaves empty.
    experiments : tuple of str
        Searched for results in this order.
    metric_of : mapping of str to str
        The paper's name of a metric and ours, if they differ.
    averages : mapping of str to tuple of str
        Rows that are means of other rows.
    stand_ins : mapping of str to str
        Synthetic data to show, without judging it, if a data set has no results.
    judged : tuple of str or None
        The methods whose cells are judged and counted; None for all.
    notes : tuple of str
        Remarks for the reader.
    """

    name: str
    title: str
    data: tuple[str, ...]
    methods: tuple[str, ...]
    metrics: tuple[str, ...]
    experiments: tuple[str, ...]
    metric_of: Mapping[str, str] = field(default_factory=dict)
    averages: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    judged: tuple[str, ...] | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Reason:
    """Why cells differ from the paper; the first reason whose patterns match a cell is used."""

    text: str
    table: str = "*"
    data: str = "*"
    method: str = "*"
    metric: str = "*"

    def fits(self, table: str, data: str, method: str, metric: str) -> bool:
        """Tell whether the reason applies to a cell."""
        pairs = ((table, self.table), (data, self.data), (method, self.method))
        return all(fnmatchcase(*pair) for pair in (*pairs, (metric, self.metric)))


@dataclass(frozen=True)
class Check:
    """A variant: the same tables filled from other results, to show the effect of a choice.

    Parameters
    ----------
    experiment : str
        The experiment with the other results.
    tables : tuple of str
    what : str
        What is different.
    listed : bool
        Whether every cell is shown, or only the counts of verdicts.
    counted : bool or None
        Whether the summary counts the paper's cells with this variant; None to count listed ones.
    also : tuple of str
        Experiments searched for results that `experiment` lacks.
    """

    experiment: str
    tables: tuple[str, ...]
    what: str
    listed: bool = False
    counted: bool | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Order:
    """A partial order of a paper, from paired tests over folds or data sets of `experiments`."""

    table: str
    data: str
    members: tuple[str, ...]
    experiments: tuple[str, ...]
    metrics: tuple[str, ...]


@dataclass(frozen=True)
class Curve:
    """A figure of a paper: a metric against a setting, kept as ``<metric> at <setting>=<value>``.

    Parameters
    ----------
    figure, title : str
    experiment : str
    data, methods : tuple of str
    metric, setting : str
    """

    figure: str
    title: str
    experiment: str
    data: tuple[str, ...]
    methods: tuple[str, ...]
    metric: str
    setting: str


@dataclass(frozen=True)
class RankTest:
    """A figure of mean ranks: Friedman's test and Nemenyi's critical difference.

    Parameters
    ----------
    figure, title : str
    experiments : tuple of str
        The first one with results of a method is used.
    data, methods : tuple of str
        Data sets without results of every method are omitted, and this is stated.
    metric : str
    alpha : float
    """

    figure: str
    title: str
    experiments: tuple[str, ...]
    data: tuple[str, ...]
    methods: tuple[str, ...]
    metric: str
    alpha: float


@dataclass(frozen=True)
class Paper:
    """Everything reproduced from a paper.

    Parameters
    ----------
    name, title : str
    experiments : tuple of Experiment
    tables : tuple of Table
    rivals : tuple of str
        Methods that the library's own are compared with.
    orders : tuple of Order
    curves : tuple of Curve
    rank_tests : tuple of RankTest
    checks : tuple of Check
    reasons : tuple of Reason
        Why cells are worse.
    better : tuple of Reason
        Why cells are better.
    notes : tuple of str
    derive : callable or None
        Derives further results from existing ones (``Figures``).
    """

    name: str
    title: str
    experiments: tuple[Experiment, ...]
    tables: tuple[Table, ...]
    rivals: tuple[str, ...] = ()
    orders: tuple[Order, ...] = ()
    curves: tuple[Curve, ...] = ()
    rank_tests: tuple[RankTest, ...] = ()
    checks: tuple[Check, ...] = ()
    reasons: tuple[Reason, ...] = ()
    better: tuple[Reason, ...] = ()
    notes: tuple[str, ...] = ()
    derive: Callable[[Any], list[Result]] | None = None

    def kind(self, method: str) -> str:
        """Return whether a method is the library's own or a baseline."""
        return RIVAL if method in self.rivals else OWN

    def table(self, name: str) -> Table | None:
        """Return a table by name."""
        return next((table for table in self.tables if table.name == name), None)
