"""The runner of tuning and comparisons: settings × folds, stored as they are computed.

Tuning runs many settings of a method; a comparison runs one setting of each method and records how
long it took and which labels it predicted correctly. Both use the same folds, the same file for
interrupted runs, and the same rule for what may be reused: a stored value belongs to its settings,
its fold, its metrics and the source of its class.
"""

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from vicinal._core.arrays import Float
from vicinal._core.files import append_json_line, read_json_lines
from vicinal._core.progress import Advance, part, shown
from vicinal._core.threads import using_threads
from vicinal.errors import DataFormatError, InvalidArgumentError
from vicinal.methods import LCIF, NeighborEstimator
from vicinal.methods.fold import Fold
from vicinal.metrics.label_based import LabelCounts
from vicinal.results import digest_of, source_hash
from vicinal.selection.folds import Folds
from vicinal.selection.grid import Grid, Position, Search
from vicinal.selection.lcif_grid import measure_lcif
from vicinal.selection.measure import Measured, Metrics, measure_fits, measure_sweep, swept
from vicinal.selection.tuning_table import TuningTable

FEW_LABELS = 5000
"""With more labels than this, no counts per label are stored, as a result is one line of text."""

COUNTS = ("tp", "fp", "fn")


@dataclass(frozen=True, eq=False)
class Piece:
    """What one line of the file holds: values of several settings on one fold."""

    metrics: tuple[str, ...]
    values: Float
    more: Measured | None = None

    def of(self, at: int) -> Measured:
        """Return what was measured of one setting."""
        values = dict(zip(self.metrics, self.values[at].tolist(), strict=True))
        return Measured(values) if self.more is None else replace(self.more, values=values)


Keys: TypeAlias = tuple[str, ...]


class FoldStore:
    """What was measured of settings on folds, kept in memory and, if there is a path, in a file.

    The first line is `head`, if given: a name, and a digest of what all values have in common.
    """

    def __init__(
        self,
        path: str | os.PathLike[str] | None,
        head: tuple[str, str] | None = None,
        what: str = "results of a fold",
    ) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[str, Measured] = {}
        if self._path is None:
            return

        def read(parts: Mapping[str, Any]) -> tuple[Keys, Piece] | str:
            digest = None if head is None else parts.get(head[0])
            return digest if isinstance(digest, str) else _read(parts)

        lines = list(read_json_lines(self._path, what, read))
        if head is not None:
            _check_head(self._path, head, lines)
        for line in lines:
            if not isinstance(line, str):
                self._add(*line)

    def get(self, key: str, metrics: Metrics) -> Measured | None:
        """Return what was measured, if it contains all metrics that can be computed."""
        known = self._known.get(key)
        if known is None:
            return None
        wanted = metrics.names if known.has_scores else metrics.labels
        return known if all(name in known.values for name in wanted) else None

    def add(self, keys: Sequence[str], measured: Sequence[Measured], detailed: bool) -> None:
        """Store what was measured of some settings; it is on disk when this returns."""
        names = tuple(measured[0].values)
        values = np.array([[each.values[name] for name in names] for each in measured])
        piece = Piece(names, values.reshape(len(measured), -1), measured[0] if detailed else None)
        self._add(tuple(keys), piece)
        if self._path is not None:
            # In hexadecimal, so that values come back unchanged.
            text = np.ascontiguousarray(piece.values, dtype="<f8").tobytes().hex()
            line: dict[str, Any] = {"work": list(keys), "metrics": list(names), "values": text}
            if piece.more is not None:
                line["more"] = _details(piece.more)
            append_json_line(self._path, line)

    def clear(self) -> None:
        """Discard everything and remove the file, as the work is complete."""
        self._known.clear()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    def _add(self, keys: Keys, piece: Piece) -> None:
        for at, key in enumerate(keys):
            new, old = piece.of(at), self._known.get(key)
            if old is not None:
                new = replace(new, values={**old.values, **new.values})
            self._known[key] = new


def _check_head(path: Path, head: tuple[str, str], lines: Sequence[object]) -> None:
    """Write the first line of a new file, or raise if an existing first line differs."""
    name, wanted = head
    if not lines:
        append_json_line(path, {name: wanted})
    elif not isinstance(lines[0], str):
        raise DataFormatError(path, f"{name!r} first", "a piece of work", line=1)
    if any(isinstance(each, str) and each != wanted for each in lines):
        expected = "results of the same rows, labels and folds"
        raise InvalidArgumentError("store", expected, f"others in {path}")


def _details(more: Measured) -> dict[str, Any]:
    """Return times, counts and choices as JSON values."""
    counts = () if more.counts is None else tuple(getattr(more.counts, name) for name in COUNTS)
    return {
        "seconds": dict(more.seconds),
        "has_scores": more.has_scores,
        "chosen": dict(more.chosen),
        "counts": [each.tolist() if len(each) <= FEW_LABELS else [] for each in counts],
    }


def _read(parts: Mapping[str, Any]) -> tuple[Keys, Piece]:
    """Return the keys and the values of a line."""
    try:
        keys = tuple(map(str, parts["work"])) if isinstance(parts["work"], list) else None
        names = tuple(map(str, parts["metrics"]))
        numbers = np.frombuffer(bytes.fromhex(parts["values"]), dtype="<f8").astype(np.float64)
        if not keys:
            raise ValueError("no settings")
        values = numbers.reshape(len(keys), len(names))
        return keys, Piece(names, values, _read_details(parts.get("more")))
    except (AttributeError, KeyError, TypeError, ValueError):
        expected = "settings, metrics and numbers in hexadecimal"
        raise InvalidArgumentError("values", expected, repr(parts)[:60]) from None


def _read_details(parts: Any) -> Measured | None:
    """Return times, counts and choices, or None if there are none."""
    if parts is None:
        return None
    counts = [np.array(each, dtype=np.int64) for each in parts["counts"]]
    return Measured(
        {},
        counts=LabelCounts(*counts) if counts else None,
        seconds={name: float(x) for name, x in parts["seconds"].items()},
        has_scores=bool(parts["has_scores"]),
        chosen=dict(parts["chosen"]),
    )


class Task(NamedTuple):
    """Settings of one method that share a search."""

    grid: Grid
    positions: list[Position]
    search: Search


Kept: TypeAlias = Callable[[Grid, int, Measured], None]
"""Called with what a comparison has just measured: method, fold, and measured values."""

WasKept: TypeAlias = Callable[[Grid, int], bool]
"""Tells whether what `Kept` keeps of a method and fold is there, so that it may be reused."""


@dataclass(eq=False)
class Runner:
    """Evaluates settings on every fold and stores the results as they are computed."""

    folds: Folds
    metrics: Metrics
    store: FoldStore
    n_jobs: int | None = None
    show: bool = False
    detailed: bool = False
    failures: tuple[type[Exception], ...] = ()
    common: tuple[object, ...] = ()
    kept: Kept | None = None
    was_kept: WasKept | None = None
    failed: dict[str, str] = field(default_factory=dict)
    complete: bool = True
    _found: dict[str, dict[Position, dict[int, Measured]]] = field(default_factory=dict)
    _sources: dict[str, str] = field(default_factory=dict)

    def run(self, work: Mapping[str, tuple[Grid, Sequence[Position]]], description: str) -> None:
        """Evaluate the settings that were not evaluated before; an interrupt stops early."""
        tasks = [task for grid, positions in work.values() for task in self._tasks(grid, positions)]
        pieces = [(fold, task) for fold in range(len(self.folds.splits)) for task in tasks]
        if not self.complete or not pieces:
            return
        try:
            total = sum(len(task.positions) for _, task in pieces)
            with shown(self.show), part(description, total) as advance:
                for number, task in pieces:
                    self._try(task, number, advance)
        except KeyboardInterrupt:
            self.complete = False
            if not self._found:
                raise

    def known(self, method: str) -> list[Position]:
        """Return the settings of a method evaluated so far, in grid order."""
        return sorted(self._found.get(method, {}))

    def measured(self, method: str, position: Position = ()) -> dict[int, Measured]:
        """Return what was measured of a setting, by fold."""
        return self._found.get(method, {}).get(position, {})

    def table(self, grids: Sequence[Grid]) -> TuningTable:
        """Return the results so far."""
        rows = [(grid, position) for grid in grids for position in self.known(grid.method)]
        n_folds, names = len(self.folds.splits), self.metrics.names
        values = np.full((len(rows), n_folds, len(names)), np.nan)
        done = np.zeros((len(rows), n_folds), dtype=np.bool_)
        for row, (grid, position) in enumerate(rows):
            for fold, measured in self._found[grid.method][position].items():
                values[row, fold] = [measured.values.get(name, math.nan) for name in names]
                done[row, fold] = True
        methods = tuple(grid.method for grid, _ in rows)
        params = tuple(grid.settings(position) for grid, position in rows)
        return TuningTable(methods, params, names, values, done)

    def _tasks(self, grid: Grid, positions: Sequence[Position]) -> Iterator[Task]:
        """Yield settings not evaluated before, grouped by search."""
        before = self._found.get(grid.method, {})
        by_search: dict[Search, list[Position]] = {}
        for position in positions:
            if position not in before:
                by_search.setdefault(grid.search(position), []).append(position)
        for search, asked in by_search.items():
            yield Task(grid, asked, search)

    def _try(self, task: Task, number: int, advance: Advance) -> None:
        """Evaluate settings on a fold; a method that may fail and does is left out from now on."""
        if task.grid.method in self.failed:
            advance(len(task.positions))
            return
        try:
            self._measure(task, number, advance)
        except self.failures as error:
            why = " ".join(f"{type(error).__name__}: {error}".split())
            self.failed[task.grid.method] = f"fold {number + 1}: {why}"

    def _measure(self, task: Task, number: int, advance: Advance) -> None:
        """Reuse stored values, and compute and store the others."""
        keys = {position: self._key(task.grid, position, number) for position in task.positions}
        missing = []
        for position, key in keys.items():
            stored = self.store.get(key, self.metrics)
            if stored is None or (self.was_kept and not self.was_kept(task.grid, number)):
                missing.append(position)
            else:
                self._keep(task.grid, position, number, stored)
        if len(missing) < len(keys):
            advance(len(keys) - len(missing))
        if not missing:
            return
        fold = self.folds.fold(number, task.search)
        with using_threads(self.n_jobs):
            compute = partial(measure_fits, detailed=True) if self.detailed else measure
            given = task.grid, missing, fold, self.metrics, self.n_jobs, advance
            for found in compute(*given):
                for position, measured in found.items():
                    if self.kept is not None:
                        self.kept(task.grid, number, measured)
                    found[position] = replace(measured, scores=None, labels=None)
                    self._keep(task.grid, position, number, found[position])
                self.store.add([keys[at] for at in found], [*found.values()], self.detailed)

    def _key(self, grid: Grid, position: Position, number: int) -> str:
        """Return a key that identifies a setting on a fold."""
        if grid.method not in self._sources:
            self._sources[grid.method] = source_hash(grid.estimator(position))
        parts = [part for item in sorted(grid.settings(position).items()) for part in item]
        about = (*self.common, grid.method, self._sources[grid.method], number, self.metrics.rules)
        return digest_of(*about, *parts)[:32]

    def _keep(self, grid: Grid, position: Position, number: int, measured: Measured) -> None:
        """Keep what was measured of a setting."""
        self._found.setdefault(grid.method, {}).setdefault(position, {})[number] = measured


def measure(
    grid: Grid,
    positions: Sequence[Position],
    fold: Fold,
    metrics: Metrics,
    n_jobs: int | None,
    advance: Advance,
) -> Iterator[dict[Position, Measured]]:
    """Yield the metrics of settings of any method on a fold, as they are computed."""
    if grid.kind is LCIF:
        return measure_lcif(grid, positions, fold, metrics, n_jobs, advance)
    if not issubclass(grid.kind, NeighborEstimator):
        return measure_fits(grid, positions, fold, metrics, n_jobs, advance)
    return measure_sweep(swept, grid, positions, fold, metrics, n_jobs, advance)
