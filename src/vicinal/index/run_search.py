"""Exact search over runs of rows, range by range."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Protocol

import numpy as np

from vicinal._base.arrays import Csr, Float, Int32
from vicinal.distances import Distance
from vicinal.index.postings_cache import PostingsCache, RowRange
from vicinal.index.row_ids import by_row_id, ids_at
from vicinal.index.row_run import BLOCK_ENTRIES, RowRun
from vicinal.index.stored_postings import search_ranges
from vicinal.index.widths import graph_width


@dataclass(frozen=True, eq=False)
class RunVersion:
    """The runs searched at one time; a change makes another, so that a search keeps what it has.

    Parameters
    ----------
    runs : tuple of RowRun
        Ids rise from run to run, so that places and ids give one order.
    n_ids : int
        How many ids were given so far.
    n_features : int
    range_entries : int
        Most entries that are searched together.
    """

    runs: tuple[RowRun, ...]
    n_ids: int
    n_features: int
    range_entries: int

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Place of each run's first row; the last entry is the number of rows."""
        return tuple(accumulate(map(len, self.runs), initial=0))

    @property
    def count(self) -> int:
        """Number of rows in the runs, removed ones among them."""
        return self.starts[-1]

    @cached_property
    def ids(self) -> Int32 | None:
        """The id of the row at each place; None where it is the place."""
        if self.count == self.n_ids:
            return None
        parts = [run.ids for run in self.runs]
        return np.concatenate(parts) if parts else np.zeros(0, dtype=np.int32)

    @cached_property
    def ranges(self) -> tuple[RowRange, ...]:
        """What is searched together, by place."""
        return tuple(
            RowRange(run, start, stop, place + start)
            for place, run in zip(self.starts, self.runs, strict=False)
            for start, stop in search_ranges(run, self.range_entries)
        )


class QueryBlocks(Protocol):
    """Queries that can be gone through several times, some at a time."""

    @property
    def n_queries(self) -> int:
        """Number of queries."""

    def blocks(self) -> Iterable[tuple[int, Csr, Int32]]:
        """Yield the first query's number, the queries, and the place each has itself, if any."""


@dataclass(frozen=True)
class GivenQueries:
    """Queries in memory."""

    rows: Csr

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.rows.shape[0])

    def blocks(self) -> Iterable[tuple[int, Csr, Int32]]:
        """Yield all of them, or blocks of :data:`BLOCK_ENTRIES`; they have no places."""
        if self.rows.nnz <= BLOCK_ENTRIES:
            yield 0, self.rows, np.zeros(0, dtype=np.int32)
            return
        run = RowRun.of(self.rows, 0)
        for start, stop in run.ranges(BLOCK_ENTRIES):
            yield start, run.rows(start, stop), np.zeros(0, dtype=np.int32)


@dataclass(frozen=True)
class OwnQueries:
    """The rows of a version, each of which is left out of its own answer."""

    version: RunVersion

    @property
    def n_queries(self) -> int:
        """Number of rows held."""
        return self.version.count

    def blocks(self) -> Iterable[tuple[int, Csr, Int32]]:
        """Yield rows run by run."""
        for place, run in zip(self.version.starts, self.version.runs, strict=False):
            for start, stop in run.ranges(BLOCK_ENTRIES):
                places = np.arange(place + start, place + stop, dtype=np.int32)
                yield place + start, run.rows(start, stop), places


def search_places(
    version: RunVersion,
    queries: QueryBlocks,
    k: int,
    postings: PostingsCache,
    n_threads: int,
    batch: int,
    ranges: tuple[RowRange, ...] | None = None,
) -> tuple[Int32, Float]:
    """Return places and keys (smaller is nearer) of the nearest rows of each query.

    Every range takes part in one list per query, sorted by (key, place), so the answer does not
    depend on how rows are divided. `ranges`: some of the version's ranges, instead of all.
    Memory: 12 bytes per query and neighbour.
    """
    width = graph_width(k, version.n_ids)
    places = np.full((queries.n_queries, width), -1, dtype=np.int32)
    keys = np.zeros((queries.n_queries, width))
    for each, segment in postings.segments(version.ranges if ranges is None else ranges):
        for start, rows, own in queries.blocks():
            stop = start + rows.shape[0]
            found = places[start:stop], keys[start:stop]
            segment.search(rows, own, found, each.first, version.count, n_threads, batch)
    return places, keys


def as_neighbors(
    version: RunVersion, places: Int32, keys: Float, distance: Distance
) -> tuple[Int32, Float]:
    """Return the ids and values of a graph for what :func:`search_places` found."""
    values = distance.values(keys)
    values[places < 0] = distance.padding
    return ids_at(places, version.ids), values


def as_own_neighbors(
    version: RunVersion, places: Int32, keys: Float, distance: Distance
) -> tuple[Int32, Float]:
    """Return the ids and values of the leave-one-out graph: one list per row id."""
    ids, values = as_neighbors(version, places, keys, distance)
    for start, run in zip(version.starts, version.runs, strict=False):
        gone = np.flatnonzero(run.removed) + start
        ids[gone], values[gone] = -1, distance.padding
    if version.ids is not None:
        return by_row_id(ids, values, version.ids, version.n_ids, distance.padding)
    return ids, values
