"""Rows of a cluster index: in a folder, a folder of shards, dask blocks or local arrays."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client, Future
from scipy import sparse

from vicinal._base.arrays import Csr, Int, Int32
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import as_csr, check_features
from vicinal.cluster.shards import FileRows, shape_of, value
from vicinal.cluster.tasks import holding_data
from vicinal.distances import COSINE
from vicinal.index.manifest import MANIFEST
from vicinal.index.row_run import RowRun
from vicinal.index.run_store import FolderStore
from vicinal.index.segmented import SegmentedIndex
from vicinal.index.stored_postings import search_ranges


@dataclass(frozen=True)
class Shard:
    """Rows that are searched together; they have the places from `first` on.

    `stored_bytes`: the size of their postings on disk; 0 where workers build them.
    """

    rows: FileRows | Future
    first: int
    n_rows: int
    stored_bytes: int = 0


@dataclass(frozen=True, eq=False)
class Source:
    """All rows of a cluster index.

    Parameters
    ----------
    shards : tuple of Shard
        By place.
    n_features : int
    n_ids : int
    ids : ndarray of int32 or None
        The id of the row at each place; None where it is the place.
    removed : ndarray of int64
        Places of removed rows.
    metric : str
        That of the folder.
    mapped : csr_array or None
        All rows, mapped from the folder, where they lie in one piece.
    """

    shards: tuple[Shard, ...]
    n_features: int
    n_ids: int
    ids: Int32 | None
    removed: Int
    metric: str = COSINE.name
    mapped: Csr | None = None

    @property
    def n_places(self) -> int:
        """Number of rows held, removed ones among them."""
        return sum(shard.n_rows for shard in self.shards)


def read_source(client: Client, source: object, shard_entries: int, metric: str | None) -> Source:
    """Return the rows that a caller named, cut into shards of at most so many entries.

    Rows whose postings are stored are cut as those are; with another `metric` than that of their
    folder the stored ones are of no use.
    """
    if isinstance(source, SegmentedIndex):
        folder = source.folder
        if folder is None:
            raise InvalidArgumentError("source", "an index in a folder", "one in memory: pass X")
        return _folder_source([folder], shard_entries, metric)
    if isinstance(source, str | os.PathLike):
        return _folder_source(_folders(Path(source)), shard_entries, metric)
    if isinstance(source, np.ndarray) or sparse.issparse(source):
        return _local_source(client, as_csr(check_features(source, "source")), shard_entries)
    return _block_source(client, _blocks(client, source))


def _folders(folder: Path) -> list[Path]:
    """Return the folder of an index, or the indexes in a folder of shards, sorted by name."""
    if (folder / MANIFEST).is_file():
        return [folder]
    found = sorted(file.parent for file in folder.glob(f"*/{MANIFEST}"))
    if not found:
        expected = "a folder written by SegmentedIndex.build, or a folder of such folders"
        raise InvalidArgumentError("source", expected, str(folder))
    return found


def _folder_source(folders: Sequence[Path], shard_entries: int, metric: str | None) -> Source:
    shards: list[Shard] = []
    ids: list[Int32] = []
    removed: list[Int] = []
    n_ids = place = 0
    widths = set()
    mapped = None
    for folder in folders:
        store = FolderStore.open(folder)
        known = store.manifest
        widths.add(known.n_features)
        for entry, run in zip(known.runs, store.runs(verify=False), strict=True):
            if metric not in (None, known.metric):
                entry, run = {**entry, "postings": []}, replace(run, postings=())
            name = str(folder.resolve())
            text = json.dumps(entry, sort_keys=True)
            mapped = run.rows(0, len(run)) if run.n_entries < 2**31 else None
            sizes = [each.data.nbytes for each in run.postings] or repeat(0)
            ranges = search_ranges(run, shard_entries)
            for (start, stop), stored_bytes in zip(ranges, sizes, strict=False):
                rows = FileRows(name, text, known.n_features, start, stop)
                shards.append(Shard(rows, place + start, stop - start, stored_bytes))
            ids.append(np.asarray(run.ids) + np.int32(n_ids))
            removed.append(np.flatnonzero(run.removed) + place)
            place += len(run)
        n_ids += known.n_ids
    if len(widths) > 1:
        raise InvalidArgumentError("source", "shards of one number of features", sorted(widths))
    every = np.concatenate([np.zeros(0, dtype=np.int32), *ids])
    gone = np.concatenate([np.zeros(0, dtype=np.int64), *removed])
    is_whole = len(ids) == 1 and place == n_ids and not len(gone)
    return Source(
        tuple(shards),
        widths.pop(),
        n_ids,
        None if place == n_ids else every,
        gone,
        known.metric,
        mapped if is_whole else None,
    )


def _local_source(client: Client, X: Csr, shard_entries: int) -> Source:
    """Send blocks of a matrix; the scheduler keeps them, so that they survive any worker."""
    run = RowRun.of(X, 0)
    with holding_data():
        blocks = [
            client.submit(value, run.rows(start, stop)) for start, stop in run.ranges(shard_entries)
        ]
    return _block_source(client, blocks, int(X.shape[1]))


def _blocks(client: Client, source: object) -> list[Future]:
    """Return dask blocks of rows as futures: a dask array's, or those of a list."""
    if hasattr(source, "to_delayed"):
        source = np.asarray(source.to_delayed(), dtype=object).ravel().tolist()
    if not isinstance(source, list | tuple) or not source:
        expected = "a folder, a SegmentedIndex, a sparse array, a dask array or a list of blocks"
        raise InvalidArgumentError("source", expected, type(source).__name__)
    blocks: list[Any] = [
        each if isinstance(each, Future) else client.compute(each) for each in source
    ]
    return blocks


def _block_source(client: Client, blocks: Sequence[Future], n_features: int = 0) -> Source:
    shapes = client.gather([client.submit(shape_of, block) for block in blocks])
    widths = {columns for _, columns in shapes} or {n_features}
    if len(widths) > 1:
        raise InvalidArgumentError("source", "blocks of one number of features", sorted(widths))
    firsts = np.cumsum([0, *(rows for rows, _ in shapes)]).tolist()
    shards = [
        Shard(block, first, rows)
        for block, first, (rows, _) in zip(blocks, firsts, shapes, strict=False)
        if rows
    ]
    none = np.zeros(0, dtype=np.int64)
    return Source(tuple(shards), widths.pop(), firsts[-1], None, none)
