"""Run missing results; a unit is one data set and seed of an experiment."""

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from multiprocessing import get_context
from time import process_time

from threadpoolctl import threadpool_limits

from vicinal._core.progress import progress
from vicinal._core.threads import thread_count, using_threads
from vicinal.results import Result
from vicinal_reproduction.results.stores import Stores
from vicinal_reproduction.sources import is_available, read
from vicinal_reproduction.specification import Experiment, Job, Paper
from vicinal_reproduction.specs.registry import find_experiment

Say = Callable[[str], None]

PROCESSOR = "processor"
"""The key, among a result's seconds, of its processor time over all threads."""


@dataclass(frozen=True)
class Unit:
    """A data set and a seed of an experiment, with the methods that are still missing.

    Contains only plain names, so that it can be sent to other processes.
    """

    experiment: str
    data: str
    seed: int
    methods: tuple[str, ...]
    quick: bool = False
    backend: str = "numpy"

    @property
    def label(self) -> str:
        """The name to display."""
        return f"{self.experiment}  {self.data}  seed {self.seed}"

    def run(self) -> Iterator[Result]:
        """Yield the results of the methods as they become available, with their times.

        :data:`PROCESSOR` is the processor time since the previous result, including work that
        methods share, so that the times of a unit add up to its total.
        """
        experiment = find_experiment(self.experiment)
        protocol = experiment.protocol.quick() if self.quick else experiment.protocol
        methods = {name: experiment.methods[name] for name in self.methods}
        began = process_time()
        job = Job(self.experiment, self.data, read(self.data), methods, self.seed, self.backend)
        for result in protocol.run(job):
            spent = {PROCESSOR: round(process_time() - began, 3)}
            yield replace(result, seconds={**result.seconds, **spent})
            began = process_time()


def units(
    papers: Iterable[Paper],
    stores: Stores,
    *,
    tables: tuple[str, ...] | None = None,
    quick: bool = False,
    backend: str = "numpy",
    only_data: str | None = None,
    only_method: str | None = None,
) -> list[Unit]:
    """List the units without a result in `stores`, cheap experiments first.

    Parameters
    ----------
    papers : iterable of Paper
    stores : Stores
    tables : tuple of str or None
        Only experiments needed for these tables (or figures).
    quick : bool
        One or two data sets and one seed of each experiment, with a shortened protocol.
    backend : {"numpy", "torch"}
        Backend of projection searches.
    only_data, only_method : str or None
        Only this data set, only this method.
    """
    wanted = [
        (each, stores.of(paper.name).keys())
        for paper in papers
        for each in wanted_experiments(paper, tables)
    ]
    found = []
    for experiment, done in sorted(wanted, key=lambda pair: pair[0].cost):
        few = experiment.quick_data or experiment.data[:1]
        every = experiment.data if only_data is not None or not quick else few
        for data in (each for each in every if only_data in (None, each)):
            for seed in experiment.seeds[:1] if quick else experiment.seeds:
                names = [name for name in experiment.methods if only_method in (None, name)]
                keys = {name: (experiment.name, data, name, seed) for name in names}
                missing = tuple(name for name, key in keys.items() if key not in done)
                if missing:
                    found.append(Unit(experiment.name, data, seed, missing, quick, backend))
    return found


def run_units(todo: Iterable[Unit], stores: Stores, *, jobs: int = 1, say: Say = print) -> int:
    """Run units, store each result immediately, and return how many were run.

    Units whose data is unavailable are reported and skipped. An interrupted run resumes where it
    stopped; only unfinished methods of the current unit are repeated.
    """
    waiting = list(todo)
    missing = sorted({unit.data for unit in waiting if not is_available(unit.data)})
    for name in missing:
        say(f"{name}: data not available locally, skipped")
    at_hand = [unit for unit in waiting if unit.data not in missing]
    run = _run_here if jobs == 1 else _run_in_processes
    for unit, result in progress(run(at_hand, jobs, say), "Reproducing"):
        stores.of(unit.experiment.partition("/")[0]).add(result)
    return len(at_hand)


def _run_here(todo: list[Unit], jobs: int, say: Say) -> Iterator[tuple[Unit, Result]]:
    """Run units one after the other."""
    for unit in todo:
        say(unit.label)
        for result in unit.run():
            yield unit, result


def _run_in_processes(todo: list[Unit], jobs: int, say: Say) -> Iterator[tuple[Unit, Result]]:
    """Run several units at a time, each in a process with its share of the cores.

    The most expensive units run first, so that none of them is left for a single process at the
    end.
    """
    threads = max(1, thread_count() // jobs)
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = {pool.submit(_finished, unit, threads): unit for unit in reversed(todo)}
        for future in as_completed(running):
            unit = running[future]
            say(unit.label)
            for result in future.result():
                yield unit, result


def _finished(unit: Unit, threads: int) -> list[Result]:
    """Run a complete unit with a number of threads."""
    with using_threads(threads), threadpool_limits(threads):
        return list(unit.run())


def wanted_experiments(paper: Paper, tables: tuple[str, ...] | None) -> list[Experiment]:
    """Return the experiments that fill the given tables, or all."""
    if tables is None:
        return list(paper.experiments)
    named = {name for table in paper.tables if table.name in tables for name in table.experiments}
    named |= {name for order in paper.orders if order.table in tables for name in order.experiments}
    named |= {curve.experiment for curve in paper.curves if curve.figure in tables}
    return [each for each in paper.experiments if each.name in named]
