"""One library's search, measured: time, memory, and what it found."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from benchmarks.incremental_figures import timed as timed_calls
from benchmarks.index_peers import Found, Search
from benchmarks.memory import peak_growth
from vicinal._core.arrays import Csr, Int
from vicinal.index import DenseIndex, InvertedIndex
from vicinal.index.training_rows import TrainingRows

Clock: TypeAlias = Callable[[], float]
CLOCKS: dict[str, Clock] = {"wall": time.perf_counter, "cpu": time.process_time}
AnySearch = TypeVar("AnySearch", bound=Search)


@dataclass(frozen=True)
class Run:
    """What a library took.

    Parameters
    ----------
    ms : float
        Milliseconds per query.
    build : float
        Seconds to prepare the rows.
    build_mb, query_mb : float
        By how much the process grew, at its largest, while preparing and while searching.
    """

    ms: float
    build: float
    build_mb: float
    query_mb: float

    @property
    def memory(self) -> str:
        """Growth while preparing and while searching, for the table."""
        return f"{self.build_mb:.0f} + {self.query_mb:.0f}"


@dataclass(frozen=True)
class OurSearch:
    """The k nearest of an index, in the form of the peers."""

    index: InvertedIndex | DenseIndex
    queries: Any
    k: int

    def __call__(self) -> Found:
        """Search once."""
        graph = self.index.query(self.queries, self.k)
        return graph.ids, graph.values


@dataclass(frozen=True)
class OurGraph:
    """The k nearest other rows of every row of an index."""

    index: InvertedIndex
    k: int

    def __call__(self) -> Found:
        """Search once."""
        graph = self.index.query_self(self.k)
        return graph.ids, graph.values


@dataclass(frozen=True)
class LeftOut:
    """The k nearest other rows of some of the indexed rows."""

    index: InvertedIndex
    rows: Csr
    places: Int
    k: int

    def __call__(self) -> Found:
        """Search once, as a fit that samples its rows does."""
        known = TrainingRows(self.rows, "cosine", None, algorithm=lambda *_: self.index)
        graph = known.query_rows(self.places, self.k)
        return graph.ids, graph.values


def timed(search: Search, repeats: int, clock: Clock) -> tuple[float, Found]:
    """Return the median time of several runs after one to warm up, and the last answer."""
    found = search()
    times = []
    for _ in range(repeats):
        start = clock()
        found = search()
        times.append(clock() - start)
    return median(times), found


def in_turn(searches: Sequence[Search], repeats: int) -> list[tuple[float, Found]]:
    """Return each search's median wall-clock ms, all taking turns, and its answer."""
    found = [search() for search in searches]
    times = np.zeros((repeats, len(searches)))
    for turn in range(repeats):
        for place, search in enumerate(searches):
            start = time.perf_counter()
            found[place] = search()
            times[turn, place] = (time.perf_counter() - start) * 1e3
    return list(zip(np.median(times, axis=0).tolist(), found, strict=True))


def call_ms(call: Callable[[Any], object], rows: Sequence[Any], calls: int) -> NDArray[np.float64]:
    """Return the ms of each of so many calls, one row per call, the rows again when used up."""
    return np.array(timed_calls(call, (rows[i % len(rows)] for i in range(calls)))) * 1e3


def measured(
    prepare: Callable[[], AnySearch], n_queries: int, repeats: int, clock: Clock
) -> tuple[Run, Found, AnySearch]:
    """Prepare a search and run it; return what that took, the answer and the search itself."""
    start = time.perf_counter()
    search, build_mb = peak_growth(prepare)
    build = time.perf_counter() - start
    (seconds, found), query_mb = peak_growth(partial(timed, search, repeats, clock))
    return Run(seconds / n_queries * 1e3, build, build_mb, query_mb), found, search
