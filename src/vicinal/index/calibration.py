"""Constants of the cost model, measured on this machine on generated rows."""

import math
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

from vicinal._base.arrays import Csr
from vicinal._base.validation import check_integer
from vicinal.datasets.generated import zipf_rows
from vicinal.index.cost_model import Constants
from vicinal.index.inverted import InvertedIndex
from vicinal.index.postings_cache import BYTES_PER_ENTRY
from vicinal.index.segmented import LEAST_MEMORY, SegmentedIndex

REPEATS = 3

LEAST_EXPONENT = 0.7
"""Smaller growth of the time of a query comes from other programs."""

TINY = 1e-12
"""Constants are positive."""


def calibrated(
    entries: float = 40.0,
    n_features: float = 1e6,
    neighbors: int = 15,
    n_rows: int = 400_000,
    n_queries: int = 2_000,
    written_mb: int = 256,
) -> Constants:
    """Measure the speed of one core on rows of `entries` features each, drawn by Zipf's law.

    Queries search a quarter of the rows and all of them, in ranges of a quarter each; postings are
    built for a quarter of the rows and for a sixteenth. The differences show what grows with the
    rows, the entries and the features. Each time is the smallest of three runs, to reduce the
    influence of other programs.

    Parameters
    ----------
    entries : float
        Mean number of features per row.
    n_features : float
    neighbors : int
    n_rows : int
        At least 1,000. More rows take longer and represent large collections better.
    n_queries : int
    written_mb : int
        Size of the file that is written to see how fast the disk is.

    Examples
    --------
    >>> constants = calibrated(10, 2000, n_rows=1000, n_queries=50, written_mb=1)
    >>> constants.ns_per_row > 0, constants.postings_bytes_per_entry > 0
    (True, True)
    """
    check_integer("n_rows", n_rows, low=1000)
    quarter = n_rows // 4
    parts = [zipf_rows(quarter, int(n_features), seed, entries) for seed in range(4)]
    queries = zipf_rows(n_queries, int(n_features), 4, entries)
    few, many = (_query_seconds(each, queries, neighbors) for each in (parts[:1], parts))
    growth = math.log(many / few) / math.log(4)
    small, large = (_building(rows) for rows in (parts[0][: quarter // 4], parts[0]))
    stored = _by_entry_and_feature(small, large)
    return Constants(
        ns_per_row=1e9 * many / (n_queries * 4 * quarter),
        measured_rows=4 * quarter,
        row_exponent=min(max(growth, LEAST_EXPONENT), 1.0),
        entries_per_row=large.n_entries / quarter,
        build_ns_per_entry=1e9 * large.build / large.n_entries,
        write_ns_per_entry=1e9 * large.write / large.n_entries,
        postings_bytes_per_entry=stored[0],
        postings_bytes_per_feature=stored[1],
        merge_ns_per_neighbor=_merge_ns(n_queries, neighbors),
        disk_mb_per_second=_disk_rate(written_mb),
    )


def _query_seconds(parts: Sequence[Csr], queries: Csr, neighbors: int) -> float:
    """Return the time of queries on one core, the postings of each part being stored together."""
    largest = max(part.nnz for part in parts)
    memory = max(2 * BYTES_PER_ENTRY * (largest + 1), LEAST_MEMORY)
    with tempfile.TemporaryDirectory() as folder:
        index = SegmentedIndex.build(parts, Path(folder) / "index", max_memory=memory, n_jobs=1)
        return _best(lambda: index.query(queries, neighbors))


@dataclass(frozen=True)
class _Building:
    """What it takes to write some rows and to build their postings; times of one core."""

    n_entries: int
    n_features: int
    write: float
    build: float
    stored_bytes: int


def _building(rows: Csr) -> _Building:
    write = _best(lambda: _write(rows, postings=False), time.process_time)
    whole = _best(lambda: _write(rows), time.process_time)
    build = max(whole - write, 0.1 * write)
    stored = _write(rows) or InvertedIndex(rows).nbytes
    return _Building(rows.nnz, len(np.unique(rows.indices)), write, build, stored)


def _by_entry_and_feature(small: _Building, large: _Building) -> tuple[float, float]:
    """Return the stored bytes per entry and per feature, neither of them negative."""
    both = np.array([[each.n_entries, each.n_features] for each in (small, large)], dtype=float)
    stored = np.array([small.stored_bytes, large.stored_bytes], dtype=float)
    per_entry, per_feature = (max(float(each), TINY) for each in nnls(both, stored)[0])
    return per_entry, per_feature


def _best(call: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """Return the shortest time of several runs, in seconds."""
    times = []
    for _ in range(REPEATS):
        began = clock()
        call()
        times.append(clock() - began)
    return min(times)


def _write(X: object, *, postings: bool = True) -> int:
    """Write an index; return the bytes of its postings on disk."""
    with tempfile.TemporaryDirectory() as folder:
        SegmentedIndex.build([X], Path(folder) / "index", n_jobs=1, postings=postings)
        return sum(file.stat().st_size for file in Path(folder).glob("index/run-*/postings-*"))


def _merge_ns(n_queries: int, neighbors: int) -> float:
    """Return the time per neighbour to merge the lists of eight shards."""
    rng = np.random.default_rng(1)
    keys = rng.random((n_queries, 8 * neighbors))
    places = rng.integers(0, 10**6, keys.shape)
    seconds = _best(lambda: np.lexsort((places, keys, places < 0), axis=1))
    return 1e9 * seconds / keys.size


def _disk_rate(megabytes: int) -> float:
    """Return how many MB per second reach the disk of the temporary folder."""
    block = np.random.default_rng(1).bytes(2**20)
    with tempfile.TemporaryFile() as stream:
        began = time.perf_counter()
        for _ in range(megabytes):
            stream.write(block)
        stream.flush()
        os.fsync(stream.fileno())
        return megabytes * 2**20 / 1e6 / (time.perf_counter() - began)
