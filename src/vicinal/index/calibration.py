"""Constants of the cost model, measured on this machine on generated rows."""

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vicinal._base.validation import check_integer
from vicinal.datasets.generated import zipf_rows
from vicinal.index.cost_model import Constants
from vicinal.index.inverted import InvertedIndex
from vicinal.index.segmented import SegmentedIndex

REPEATS = 3


def calibrated(
    entries: float = 42.0,
    n_rows: int = 100_000,
    n_queries: int = 2_000,
    neighbors: int = 15,
    written_mb: int = 256,
) -> Constants:
    """Measure the speed of one core on rows of `entries` features each, drawn by Zipf's law.

    Each time is the smallest of three runs, to reduce the influence of other programs. Searches of
    two sizes separate the cost of a query per row from its fixed cost.

    Parameters
    ----------
    entries : float
        Mean number of features per row.
    n_rows : int
        At least 1,000. More rows take longer and represent large collections better.
    n_queries : int
    neighbors : int
    written_mb : int
        Size of the file that is written to see how fast the disk is.

    Examples
    --------
    >>> constants = calibrated(10, n_rows=1000, n_queries=50, written_mb=1)
    >>> constants.ns_per_row > 0, constants.postings_bytes_per_entry > 0
    (True, True)
    """
    check_integer("n_rows", n_rows, low=1000)
    X = zipf_rows(n_rows, 2 * n_rows, 1, entries).astype(np.float32)
    queries = zipf_rows(n_queries, 2 * n_rows, 2, entries).astype(np.float32)
    few, many = (InvertedIndex(rows, n_jobs=1) for rows in (X[: n_rows // 4], X))
    small = _best(lambda: few.query(queries, neighbors))
    large = _best(lambda: many.query(queries, neighbors))
    per_row = max(large - small, 0.5 * large) / (n_queries * (n_rows - n_rows // 4))
    write = _best(lambda: _write(X, postings=False), time.process_time)
    whole = _best(lambda: _write(X), time.process_time)
    return Constants(
        ns_per_row=1e9 * per_row,
        entries_per_row=X.nnz / n_rows,
        build_ns_per_entry=1e9 * max(whole - write, 0.1 * write) / X.nnz,
        write_ns_per_entry=1e9 * write / X.nnz,
        postings_bytes_per_entry=_write(X) / X.nnz or many.nbytes / X.nnz,
        merge_ns_per_neighbor=_merge_ns(n_queries, neighbors),
        disk_mb_per_second=_disk_rate(written_mb),
    )


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
