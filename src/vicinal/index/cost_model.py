"""Estimate time, memory and cost of a large search from constants measured on a small one."""

import math
from dataclasses import dataclass

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_positive
from vicinal.index.postings_cache import BYTES_PER_ENTRY
from vicinal.index.row_ids import MOST_IDS
from vicinal.index.segmented import DEFAULT_MEMORY

SEEN_SCALE, SEEN_EXPONENT = 0.385, 0.86
"""How many of F features occur among E entries drawn by Zipf's law
(:func:`vicinal.datasets.generated.zipf_rows`): a share of 1 - exp(-scale (E / F) ** exponent), off
by at most 2 % for E / F from 0.3 to 5."""

SLOW_GROWTH_UP_TO = 2e6
"""Up to so many rows, the time of a query grows by the measured power of their number; from there
on in proportion to it, as far as runs of 10 million rows can tell."""


@dataclass(frozen=True)
class Constants:
    """Speed of one core, as measured by :func:`vicinal.index.calibration.calibrated`.

    The defaults were measured with binary rows and 30 neighbours on an otherwise idle AMD EPYC
    machine; a search over tf-idf weights takes about four times as long.

    Parameters
    ----------
    ns_per_row : float
        Time of one query per row, in a search of `measured_rows` rows, if rows and queries have
        `entries_per_row` entries.
    measured_rows : float
    row_exponent : float
        The time of a query grows with this power of the number of rows, up to 2 million: the more
        rows, the nearer the neighbours found so far, and the fewer rows have to be examined.
    entries_per_row : float
        Entries per row when `ns_per_row` was measured. The time grows with the entries of the query
        times those of the rows.
    build_ns_per_entry : float
        Processor time to build postings.
    write_ns_per_entry : float
        Processor time to write rows to a folder and to check them when it is opened.
    postings_bytes_per_entry, postings_bytes_per_feature : float
        On disk, and in the page cache of the machines that search; a feature counts in each range
        of rows in which it occurs.
    merge_ns_per_neighbor : float
        Time to merge one neighbour of one shard into a list.
    disk_mb_per_second : float
        How fast files are written to disk and, if memory does not hold the postings, read.
    """

    ns_per_row: float = 0.217
    measured_rows: float = 400_000.0
    row_exponent: float = 0.79
    entries_per_row: float = 40.9
    build_ns_per_entry: float = 70.0
    write_ns_per_entry: float = 11.0
    postings_bytes_per_entry: float = 6.0
    postings_bytes_per_feature: float = 21.6
    merge_ns_per_neighbor: float = 45.0
    disk_mb_per_second: float = 200.0

    def query_seconds(self, rows: float, entries: float) -> float:
        """Return the time of a query on one core: rows of so many entries each."""
        slow = min(rows, SLOW_GROWTH_UP_TO)
        grown = math.pow(slow / self.measured_rows, self.row_exponent - 1.0)
        return 1e-9 * self.ns_per_row * rows * grown * (entries / self.entries_per_row) ** 2


@dataclass(frozen=True)
class Workload:
    """The rows to search and the number of queries.

    Parameters
    ----------
    rows : float
    entries : float
        Mean number of non-zero features per row, and per query.
    features : float
        Number of features.
    labels : float
        Number of labels, which determines the memory of a model.
    labels_per_row : float
    neighbors : int
        k.
    queries : float
        Number of queries in addition to the leave-one-out graph.
    value_bytes : int
        4 for float32, 8 for float64.
    """

    rows: float
    entries: float
    features: float = 1e6
    labels: float = 0.0
    labels_per_row: float = 3.0
    neighbors: int = 15
    queries: float = 1e6
    value_bytes: int = 4

    def __post_init__(self) -> None:
        """Raise if the numbers are not positive or exceed what an index can hold."""
        for name in ("rows", "entries", "features", "neighbors", "queries"):
            check_positive(name, getattr(self, name))
        if self.rows >= MOST_IDS:
            raise InvalidArgumentError("rows", "fewer than 2^31 - 1 row ids", f"{self.rows:g}")


@dataclass(frozen=True)
class Machines:
    """The machines that are available.

    `build_gb` is the `max_memory` of :meth:`vicinal.index.SegmentedIndex.build`: the more, the
    larger the ranges of rows that have postings of their own.
    """

    workers: int | None = None
    cores: int = 16
    memory_gb: float = 64.0
    price_per_hour: float = 0.0
    build_gb: float = DEFAULT_MEMORY / 1e9

    @property
    def range_entries(self) -> float:
        """The largest number of entries of a range; each core builds one range at a time."""
        return self.build_gb * 1e9 / (2 * BYTES_PER_ENTRY * self.cores)


@dataclass(frozen=True)
class Plan:
    """Estimated resources; seconds are wall-clock time with all workers in parallel.

    Rows and postings are written by one machine: all its cores build postings, one core and the
    disk do the rest.
    """

    disk_gb: float
    postings_gb: float
    ranges: int
    labels_gb: float
    graph_gb: float
    workers: int
    fits_in_memory: bool
    seconds_to_write: float
    seconds_to_build_postings: float
    seconds_per_million_queries: float
    seconds_for_queries: float
    seconds_for_graph: float
    network_kb_per_query: float
    cost: float


def plan(work: Workload, machines: Machines, constants: Constants) -> Plan:
    """Return the estimated resources for a workload.

    If half of the workers' memory can hold the postings, they are read from the page cache;
    otherwise they are read from disk once per million queries. If no number of workers is given, it
    is the smallest that can hold the postings.

    Examples
    --------
    >>> small = plan(Workload(1e6, 40), Machines(cores=2), Constants())
    >>> large = plan(Workload(1e9, 40), Machines(cores=2), Constants())
    >>> small.workers, large.workers
    (1, 10)
    """
    entries = work.rows * work.entries
    ranges = max(1, math.ceil(entries / machines.range_entries))
    occurring = ranges * seen_features(entries / ranges, work.features)
    postings = (
        entries * constants.postings_bytes_per_entry
        + occurring * constants.postings_bytes_per_feature
    )
    usable = machines.memory_gb * 1e9 / 2
    needed = max(1, math.ceil(postings / usable))
    workers = needed if machines.workers is None else machines.workers
    fits = workers >= needed
    cores = workers * machines.cores
    search = workers * constants.query_seconds(work.rows / workers, work.entries)
    shards = max(cores, math.ceil(postings / usable * machines.cores))
    merge = 1e-9 * constants.merge_ns_per_neighbor * work.neighbors * shards
    per_query = (search + merge) / cores
    disk_rate = 1e6 * constants.disk_mb_per_second
    read = 0.0 if fits else postings / (disk_rate * workers)
    queries = work.queries * per_query + read * math.ceil(work.queries / 1e6)
    graph = work.rows * per_query + read * math.ceil(work.rows / 1e6)
    disk = entries * (4 + work.value_bytes) + 12 * work.rows + postings
    write = entries * constants.write_ns_per_entry * 1e-9 + disk / disk_rate
    build = entries * constants.build_ns_per_entry * 1e-9
    hours = (queries + graph) / 3600
    return Plan(
        disk_gb=disk / 1e9,
        postings_gb=postings / 1e9,
        ranges=ranges,
        labels_gb=(8 * work.labels_per_row * work.rows + 50 * work.labels) / 1e9,
        graph_gb=12 * work.neighbors * work.rows / 1e9,
        workers=workers,
        fits_in_memory=fits,
        seconds_to_write=write,
        seconds_to_build_postings=build / min(machines.cores, ranges),
        seconds_per_million_queries=1e6 * per_query + read,
        seconds_for_queries=queries,
        seconds_for_graph=graph,
        network_kb_per_query=(12 * work.neighbors * shards + 12 * work.entries) / 1e3,
        cost=hours * workers * machines.price_per_hour,
    )


def seen_features(entries: float, features: float) -> float:
    """Return how many features occur among so many entries drawn by Zipf's law.

    Examples
    --------
    >>> round(seen_features(4_080_000, 1_600_000), -3)  # 922,630 were counted in generated rows
    924000.0
    """
    return features * -math.expm1(-SEEN_SCALE * (entries / features) ** SEEN_EXPONENT)
