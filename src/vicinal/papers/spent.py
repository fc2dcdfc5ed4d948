"""How long a full run takes, from the time that the stored results took.

Results say how long the processor worked for them. Those of before that was kept have the clock of
their steps instead: what the methods of a unit share, its search, is counted once.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from vicinal.papers.runner import PROCESSOR
from vicinal.papers.spec import RIVAL, Experiment, Paper
from vicinal.results import Result

SHARED = "search"
"""The step that every result of a unit repeats."""

TWIN = "-best"
"""Ends the name of an experiment whose results come from the same run as another's."""


@dataclass(frozen=True)
class Spent:
    """Seconds that a full run takes, by what it is for.

    Parameters
    ----------
    tables, rivals, aside : float
        For the tables and figures, for the comparison methods in them, for side experiments.
    by_clock : float
        How much of it was not taken from the processor but from a clock.
    guessed : float
        How much of it is of seeds not run, taken to last as long as those that were.
    without : tuple of (experiment, data)
        What was not run at all, or of which no time is known.
    """

    tables: float = 0.0
    rivals: float = 0.0
    aside: float = 0.0
    by_clock: float = 0.0
    guessed: float = 0.0
    without: tuple[tuple[str, str], ...] = ()

    @property
    def total(self) -> float:
        """All of it."""
        return self.tables + self.rivals + self.aside


def spent(paper: Paper, results: Iterable[Result], at_hand: Iterable[str]) -> Spent:
    """Return how long all experiments of a paper take on the data at hand."""
    units = _units(results)
    shown = _shown(paper)
    names, found, without = set(at_hand), defaultdict[str, float](float), list[tuple[str, str]]()
    for experiment in paper.experiments:
        kind = _kind(paper, experiment, shown)
        for data in experiment.data:
            times = units.get((experiment.name, data), {})
            if times:
                mean = float(np.mean([sum(each) for each in times.values()]))
                found[kind] += mean * len(experiment.seeds)
                found["guessed"] += mean * max(len(experiment.seeds) - len(times), 0)
                clocked = float(np.mean([each[1] for each in times.values()]))
                found["by_clock"] += clocked * len(experiment.seeds)
            elif data in names:
                without.append((experiment.name, data))
    return Spent(**found, without=tuple(without))


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
