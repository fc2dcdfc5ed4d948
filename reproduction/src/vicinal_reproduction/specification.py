"""What a reproduction is made of: experiments that give results, tables that are filled from them.

An experiment is run once for each data set and seed (a unit) and may fill several tables; a table
says which of its results stands in which cell. Both are plain data.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Protocol, TypeAlias

from vicinal.datasets import Dataset
from vicinal.results import Result

OWN, RIVAL = "own", "rival"

SEEDS = (1, 2, 3)
"""Of the folds, for cells that are cross-validated."""


@dataclass(frozen=True)
class Method:
    """A method as a paper ran it.

    Parameters
    ----------
    make : callable
        Returns the estimator; it takes the seed.
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

    `backend` is where a search for a projection is evaluated, as of
    :class:`vicinal.reduction.MLARP`.
    """

    experiment: str
    data: str
    dataset: Dataset
    methods: Methods
    seed: int
    backend: str = "numpy"


class RunsJobs(Protocol):
    """How an experiment is run: what is split, scaled, chosen and measured."""

    def run(self, job: Job) -> Iterator[Result]:
        """Yield the result of each method as it is known."""

    def quick(self) -> "RunsJobs":
        """Return the same with less of it: fewer folds, fewer settings."""


@dataclass(frozen=True)
class Experiment:
    """What is run.

    Parameters
    ----------
    name : str
        Of its results: ``paper/experiment``.
    what : str
        One line for the reader.
    data : tuple of str
        Names as the paper's tables have them.
    methods : mapping of str to Method
    protocol : RunsJobs
    seeds : tuple of int
    cost : int
        Cheap experiments (low) are run first.
    quick_data : tuple of str
        What a quick run looks at; the first data set unless given.
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
    """What is shown, and which results it is filled from.

    Parameters
    ----------
    name, title : str
    data, methods, metrics : tuple of str
        As the paper has them. Cells are their product, less those the paper leaves empty.
    experiments : tuple of str
        Results are looked for in the first, then in the next.
    metric_of : mapping of str to str
        The paper's name of a metric and ours, where they differ.
    averages : mapping of str to tuple of str
        Rows that are means of other rows.
    stand_ins : mapping of str to str
        Generated data shown, and not judged, where a data set has no results.
    judged : tuple of str or None
        The methods whose cells have a better side and are counted; None for all.
    notes : tuple of str
        What a reader must know.
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
    """Why cells come out otherwise; the first reason whose patterns fit a cell is given."""

    text: str
    table: str = "*"
    data: str = "*"
    method: str = "*"
    metric: str = "*"

    def fits(self, table: str, data: str, method: str, metric: str) -> bool:
        """Tell whether the reason is one for a cell."""
        pairs = ((table, self.table), (data, self.data), (method, self.method))
        return all(fnmatchcase(*pair) for pair in (*pairs, (metric, self.metric)))


@dataclass(frozen=True)
class Check:
    """A side experiment: the same tables, filled from other results, to see what a choice does.

    Parameters
    ----------
    experiment : str
        Where the other results are.
    tables : tuple of str
    what : str
        What is done otherwise.
    listed : bool
        Whether every cell is shown, or only how many came out how.
    counted : bool or None
        Whether the summary says how many of the paper's cells come out so; None for where they are
        listed.
    also : tuple of str
        Where to look for what `experiment` has not.
    """

    experiment: str
    tables: tuple[str, ...]
    what: str
    listed: bool = False
    counted: bool | None = None
    also: tuple[str, ...] = ()


@dataclass(frozen=True)
class Order:
    """A partial order of a paper, by paired tests over folds or data sets of `experiments`."""

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
        The first that has a method's results counts.
    data, methods : tuple of str
        Data without results of every method are left out, and said.
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
    """All that is reproduced of a paper.

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
    notes : tuple of str
    derive : callable or None
        Makes further results from those there are (``Figures``).
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
    notes: tuple[str, ...] = ()
    derive: Callable[[Any], list[Result]] | None = None

    def kind(self, method: str) -> str:
        """Tell whether a method is the library's own or one it is compared with."""
        return RIVAL if method in self.rivals else OWN

    def table(self, name: str) -> Table | None:
        """Return a table by name."""
        return next((table for table in self.tables if table.name == name), None)
