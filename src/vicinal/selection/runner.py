"""Run tuning tasks (settings × folds) one at a time and store each result."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from vicinal._base.arrays import Float
from vicinal._base.progress import Advance, part, shown, unseen
from vicinal._base.threads import using_threads
from vicinal.estimators import LCIF, NeighborEstimator
from vicinal.estimators.fold import Fold
from vicinal.results.digest import digest_of
from vicinal.selection.fold_source import CurrentFold, Folds
from vicinal.selection.grid import Grid, Position, Search
from vicinal.selection.kept_values import KeptValues
from vicinal.selection.measure import measure_refits, measure_sweep
from vicinal.selection.measure_lcif import measure_lcif
from vicinal.selection.meter import Metrics
from vicinal.selection.sweeps import swept
from vicinal.selection.table import TuningTable


class Task(NamedTuple):
    """Settings of one method that share a search."""

    grid: Grid
    positions: list[Position]
    search: Search


class Runner:
    """Evaluates settings on every fold and stores the results.

    Parameters
    ----------
    folds : SharedFolds or PreparedFolds
    metrics : Metrics
    store : KeptValues
    n_jobs : int or None
    show : bool
        Whether to show a progress bar with the remaining time on a terminal.
    """

    def __init__(
        self, folds: Folds, metrics: Metrics, store: KeptValues, n_jobs: int | None, show: bool
    ) -> None:
        self._folds, self._metrics, self._store = folds, metrics, store
        self._n_jobs, self._show = n_jobs, show
        self._found: dict[str, dict[Position, dict[int, Float]]] = {}
        self.complete = True

    def run(self, work: Mapping[str, tuple[Grid, Sequence[Position]]], description: str) -> None:
        """Evaluate the settings that were not evaluated before; an interrupt stops early."""
        tasks = [task for grid, positions in work.values() for task in self._tasks(grid, positions)]
        pieces = [(fold, task) for fold in range(len(self._folds.splits)) for task in tasks]
        if not self.complete or not pieces:
            return
        try:
            current = CurrentFold(self._folds)
            total = sum(len(task.positions) for _, task in pieces)
            with shown(self._show), part(description, total) as advance:
                for number, task in pieces:
                    self._keep(task, number, self._values(task, number, current, advance))
        except KeyboardInterrupt:
            self.complete = False
            if not self._found:
                raise

    def known(self, method: str) -> list[Position]:
        """Return the settings of a method evaluated so far, in grid order."""
        return sorted(self._found.get(method, {}))

    def table(self, grids: Sequence[Grid]) -> TuningTable:
        """Return the results so far."""
        rows = [(grid, position) for grid in grids for position in self.known(grid.method)]
        n_folds = len(self._folds.splits)
        values = np.full((len(rows), n_folds, len(self._metrics.names)), np.nan)
        done = np.zeros((len(rows), n_folds), dtype=np.bool_)
        for row, (grid, position) in enumerate(rows):
            for fold, measured in self._found[grid.method][position].items():
                values[row, fold] = measured
                done[row, fold] = True
        methods = tuple(grid.method for grid, _ in rows)
        params = tuple(grid.settings(position) for grid, position in rows)
        return TuningTable(methods, params, self._metrics.names, values, done)

    def _tasks(self, grid: Grid, positions: Sequence[Position]) -> Iterator[Task]:
        """Yield settings not evaluated before, grouped by search."""
        before = self._found.get(grid.method, {})
        by_search: dict[Search, list[Position]] = {}
        for position in positions:
            if position not in before:
                by_search.setdefault(grid.search(position), []).append(position)
        for search, asked in by_search.items():
            yield Task(grid, asked, search)

    def _values(self, task: Task, number: int, current: CurrentFold, advance: Advance) -> Float:
        """Return the values of a task, one row per setting, stored or newly computed."""
        key = self._key(task, number)
        values = self._store.get(key)
        if values is not None:
            advance(len(task.positions))
            return values
        fold = current.fold(number, task.search)
        with using_threads(self._n_jobs):
            found = measure(task.grid, task.positions, fold, self._metrics, self._n_jobs, advance)
        values = np.stack([found[position] for position in task.positions])
        self._store[key] = values
        return values

    def _key(self, task: Task, number: int) -> str:
        """Return a key that identifies a task."""
        settings = [task.grid.settings(position) for position in task.positions]
        parts = [part for each in settings for item in each.items() for part in item]
        about = task.grid.method, number, self._metrics.names, self._metrics.rules
        return digest_of(*about, *parts)

    def _keep(self, task: Task, number: int, values: Float) -> None:
        """Store the values of a task."""
        of_method = self._found.setdefault(task.grid.method, {})
        for position, measured in zip(task.positions, values, strict=True):
            of_method.setdefault(position, {})[number] = measured


def measure(
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    metrics: Metrics,
    n_jobs: int | None = None,
    advance: Advance = unseen,
) -> dict[Position, Float]:
    """Return the metrics of settings of any method on a fold."""
    if grid.kind is LCIF:
        return measure_lcif(grid, positions, fold, metrics, n_jobs, advance)
    if not issubclass(grid.kind, NeighborEstimator):
        return measure_refits(grid, positions, fold, metrics, n_jobs, advance)
    return measure_sweep(swept, grid, positions, fold, metrics, n_jobs, advance)
