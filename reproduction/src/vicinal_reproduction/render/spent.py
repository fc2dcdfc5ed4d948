"""How long a full run takes, from the time that the stored results took.

Results say how long the processor worked for them. Those of before that was kept have the clock of
their steps instead: what the methods of a unit share, its search, is counted once.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from vicinal.results import Result
from vicinal_reproduction.runner import PROCESSOR
from vicinal_reproduction.specification import RIVAL, Experiment, Paper

SHARED = "search"
"""The step that every result of a unit repeats."""

TWIN = "-best"
"""Ends the name of an experiment whose results come from the same run as another's."""


@dataclass(frozen=True)
class Seconds:
    """Seconds, and how far they are to be trusted.

    Parameters
    ----------
    all : float
    by_clock : float
        How many of them were not taken from the processor but from a clock.
    guessed : float
        How many are of seeds not run, taken to last as long as those that were.
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
    """What a full run of a paper takes.

    Parameters
    ----------
    tables, rivals, aside : Seconds
        For the tables and figures, for the comparison methods in them, for side experiments.
    without : tuple of (experiment, data)
        What was not run at all, or of which no time is known.
    """

    tables: Seconds = Seconds()
    rivals: Seconds = Seconds()
    aside: Seconds = Seconds()
    without: tuple[tuple[str, str], ...] = ()

    @property
    def total(self) -> Seconds:
        """All of it."""
        return self.tables + self.rivals + self.aside


def spent(paper: Paper, results: Iterable[Result], at_hand: Iterable[str]) -> Spent:
    """Return how long all experiments of a paper take on the data at hand."""
    units, shown, names = _units(results), _shown(paper), set(at_hand)
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
    """Return what all seeds take, from what the processor and the clock say of some."""
    worked, clocked = map(float, np.mean(times, axis=0))
    seeds = len(experiment.seeds)
    missing = max(seeds - len(times), 0)
    return Seconds((worked + clocked) * seeds, clocked * seeds, (worked + clocked) * missing)


def _kind(paper: Paper, experiment: Experiment, shown: set[str]) -> str:
    """Tell what an experiment is for."""
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
    """Return what a unit took: the processor's seconds, and for results without them a clock's."""
    worked, clocked, shared = 0.0, 0.0, 0.0
    for result in results:
        if PROCESSOR in result.seconds:
            worked += result.seconds[PROCESSOR]
        elif not result.experiment.endswith(TWIN):
            shared = max(shared, result.seconds.get(SHARED, 0.0))
            steps = sum(each for step, each in result.seconds.items() if step != SHARED)
            clocked += steps or sum(result.values.get("seconds", ()))
    return worked, clocked + shared
