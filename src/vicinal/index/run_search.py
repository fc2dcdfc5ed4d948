"""Exact search over runs of rows, one range of rows at a time."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from vicinal._base.arrays import Csr, Float, Int32
from vicinal.distances import Distance
from vicinal.index.postings_cache import PostingsCache, RowRange
from vicinal.index.row_ids import by_row_id
from vicinal.index.row_parts import RowParts
from vicinal.index.row_run import BLOCK_ENTRIES, RowRun
from vicinal.index.stored_postings import search_ranges
from vicinal.index.widths import graph_width


@dataclass(frozen=True, eq=False)
class RunVersion(RowParts[RowRun]):
    """An immutable version of the runs; changes create a new version, so running searches are safe.

    Parameters
    ----------
    runs : tuple of RowRun
    n_ids : int
        Number of ids assigned so far.
    n_features : int
    range_entries : int
        Maximum number of entries in a range of rows.
    """

    runs: tuple[RowRun, ...]
    n_ids: int
    n_features: int
    range_entries: int

    @property
    def parts(self) -> tuple[RowRun, ...]:
        """The runs."""
        return self.runs

    @cached_property
    def ranges(self) -> tuple[RowRange, ...]:
        """The ranges of rows that are searched one after the other."""
        return tuple(
            RowRange(run, start, stop, place + start)
            for place, run in self.placed()
            for start, stop in search_ranges(run, self.range_entries)
        )


class QueryBlocks(Protocol):
    """Queries that can be iterated several times, in blocks."""

    @property
    def n_queries(self) -> int:
        """Number of queries."""

    def blocks(self) -> Iterable[tuple[int, Csr, Int32]]:
        """Yield the position of a block, its queries, and their own places if they have any."""


@dataclass(frozen=True)
class GivenQueries:
    """Queries in memory."""

    rows: Csr

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.rows.shape[0])

    def blocks(self) -> Iterable[tuple[int, Csr, Int32]]:
        """Yield all queries, or blocks of :data:`BLOCK_ENTRIES` entries; they have no places."""
        if self.rows.nnz <= BLOCK_ENTRIES:
            yield 0, self.rows, np.zeros(0, dtype=np.int32)
            return
        run = RowRun.of(self.rows, 0)
        for start, stop in run.ranges(BLOCK_ENTRIES):
            yield start, run.rows(start, stop), np.zeros(0, dtype=np.int32)


@dataclass(frozen=True)
class OwnQueries:
    """The rows of a version as queries; no row is its own neighbour."""

    version: RunVersion

    @property
    def n_queries(self) -> int:
        """Number of rows, including removed ones."""
        return self.version.count

    def blocks(self) -> Iterable[tuple[int, Csr, Int32]]:
        """Yield rows run by run."""
        for place, run in self.version.placed():
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

    All ranges are merged into one list per query, sorted by (key, place), so the result does not
    depend on how the rows are divided. `ranges` restricts the search to some of the version's
    ranges. Memory: 12 bytes per query and neighbour.
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
    """Return the ids and values of a graph from the results of :func:`search_places`."""
    values = distance.values(keys)
    values[places < 0] = distance.padding
    return version.ids_at(places), values


def as_own_neighbors(
    version: RunVersion, places: Int32, keys: Float, distance: Distance
) -> tuple[Int32, Float]:
    """Return the ids and values of the leave-one-out graph: one list per row id."""
    ids, values = as_neighbors(version, places, keys, distance)
    gone = version.removed()
    ids[gone], values[gone] = -1, distance.padding
    if version.ids is not None:
        return by_row_id(ids, values, version.ids, version.n_ids, distance.padding)
    return ids, values
