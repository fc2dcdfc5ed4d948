"""Duration of a full run, estimated from the times of the stored results.

Results record their processor time. Older results only have wall-clock times of their steps; the
search, which the methods of a unit share, is then counted once.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from vicinal.results import Result
from vicinal_reproduction.runner import PROCESSOR
from vicinal_reproduction.specification import RIVAL, Experiment, Paper

SHARED = "search"
"""The step that is included in every result of a unit."""

TWIN = "-best"
"""Suffix of an experiment whose results come from the same run as another's."""


@dataclass(frozen=True)
class Seconds:
    """Seconds, and how reliable they are.

    Parameters
    ----------
    all : float
    by_clock : float
        How many of them are wall-clock instead of processor seconds.
    guessed : float
        How many are estimates for seeds that were not run.
    """

    all: float = 0.0
    by_clock: float = 0.0
    guessed: float = 0.0

    def __add__(self, other: "Seconds") -> "Seconds":
        """Add up."""
        return Seconds(
            self.all + other.all, self.by_clock + other.by_clock, self.guessed + other.guessed
        )


@dataclass(frozen=True)
class Spent:
    """The duration of a full run of a paper.

    Parameters
    ----------
    tables, rivals, aside : Seconds
        For the tables and figures, for the baselines in them, and for the variants.
    without : tuple of (experiment, data)
        Experiments that were not run or have no recorded time.
    """

    tables: Seconds = Seconds()
    rivals: Seconds = Seconds()
    aside: Seconds = Seconds()
    without: tuple[tuple[str, str], ...] = ()

    @property
    def total(self) -> Seconds:
        """All of it."""
        return self.tables + self.rivals + self.aside


def spent(paper: Paper, results: Iterable[Result], available: Iterable[str]) -> Spent:
    """Return how long all experiments of a paper take on the available data."""
    units, shown, names = _units(results), _shown(paper), set(available)
    found, without = defaultdict[str, Seconds](Seconds), list[tuple[str, str]]()
    for experiment in paper.experiments:
        for data in experiment.data:
            times = list(units.get((experiment.name, data), {}).values())
            if times:
                found[_kind(paper, experiment, shown)] += _of_every_seed(times, experiment)
            elif data in names:
                without.append((experiment.name, data))
    return Spent(**found, without=tuple(without))


def _of_every_seed(times: list[tuple[float, float]], experiment: Experiment) -> Seconds:
    """Return the time of all seeds, estimated from the recorded ones."""
    worked, clocked = map(float, np.mean(times, axis=0))
    seeds = len(experiment.seeds)
    missing = max(seeds - len(times), 0)
    return Seconds((worked + clocked) * seeds, clocked * seeds, (worked + clocked) * missing)


def _kind(paper: Paper, experiment: Experiment, shown: set[str]) -> str:
    """Return the purpose of an experiment."""
    if experiment.name not in shown:
        return "aside"
    own = [name for name in experiment.methods if paper.kind(name) != RIVAL]
    return "tables" if own else "rivals"


def _shown(paper: Paper) -> set[str]:
    """Return the experiments that fill a table or a figure."""
    named = {name for table in paper.tables for name in table.experiments}
    named |= {name for order in paper.orders for name in order.experiments}
    named |= {name for test in paper.rank_tests for name in test.experiments}
    return named | {curve.experiment for curve in paper.curves}


def _units(
    results: Iterable[Result],
) -> Mapping[tuple[str, str], Mapping[int | None, tuple[float, float]]]:
    """Return, by experiment and data, the seconds of each seed: the processor's, and a clock's."""
    grouped = defaultdict[tuple[str, str], dict[int | None, list[Result]]](dict)
    for result in results:
        place = result.experiment.removesuffix(TWIN), result.data
        grouped[place].setdefault(result.seed, []).append(result)
    timed = {
        place: {seed: _seconds(each) for seed, each in seeds.items()}
        for place, seeds in grouped.items()
    }
    return {
        place: {seed: each for seed, each in seeds.items() if sum(each) > 0}
        for place, seeds in timed.items()
    }


def _seconds(results: Iterable[Result]) -> tuple[float, float]:
    """Return the processor seconds of a unit, and wall-clock seconds for results without them."""
    worked, clocked, shared = 0.0, 0.0, 0.0
    for result in results:
        if PROCESSOR in result.seconds:
            worked += result.seconds[PROCESSOR]
        elif not result.experiment.endswith(TWIN):
            shared = max(shared, result.seconds.get(SHARED, 0.0))
            steps = sum(each for step, each in result.seconds.items() if step != SHARED)
            clocked += steps or sum(result.values.get("seconds", ()))
    return worked, clocked + shared
