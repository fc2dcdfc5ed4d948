"""Exact search over sparse rows through an inverted index."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._core.arrays import Csr, Features, Float, Int, Int32, contiguous
from vicinal._core.checks import check_integer
from vicinal._core.csr import stacked, trust
from vicinal._core.threads import Beside, ForkLock, thread_count
from vicinal._core.validation import as_csr, check_features, check_rows, csr_parts, owned
from vicinal._native import InvertedIndexFloat32, InvertedIndexFloat64
from vicinal.distances import Distance, get_distance
from vicinal.graph import NeighborGraph
from vicinal.index._common import (
    RowParts,
    by_row_id,
    check_room_for_ids,
    graph_width,
    mark_removed,
    places_of,
    row_chunks,
    should_compact,
    simd_level,
)

FEW_PAIRS = 2**17
"""Up to this many pairs of a query and a row, one thread is as fast as several."""


@dataclass(frozen=True)
class Build:
    """How segments are built; see :class:`vicinal.index.InvertedIndex`."""

    distance: Distance
    block_rows: int
    simd: str
    patterns: bool

    @classmethod
    def standard(cls, distance: Distance) -> "Build":
        """Return how rows in files are indexed, so that stored postings fit everywhere."""
        return cls(distance, 65_536, simd_level(None), patterns=True)


@dataclass(frozen=True, eq=False)
class Segment:
    """Rows with ascending ids.

    `ids`: one per row, ascending.
    `removed`: 1 for a removed row; empty if none has been removed.
    """

    rows: Csr
    ids: Int32
    removed: NDArray[np.uint8]
    native: InvertedIndexFloat32 | InvertedIndexFloat64

    @classmethod
    def of(
        cls, rows: Csr, ids: Int32, build: Build, stored: NDArray[np.uint8] | None = None
    ) -> "Segment":
        """Index `rows`, or read the index that was `stored` of them; ValueError if it is not."""
        kind = InvertedIndexFloat32 if rows.dtype == np.float32 else InvertedIndexFloat64
        indptr, indices = csr_parts(rows)
        native = kind(
            indptr,
            indices,
            contiguous(rows.data[: indptr[-1]]),
            rows.shape[1],
            build.distance.native(),
            build.block_rows,
            build.simd,
            build.patterns,
            stored,
        )
        return cls(rows, ids, np.zeros(0, dtype=np.uint8), native)

    def __len__(self) -> int:
        """Return the number of rows, including removed ones."""
        return len(self.ids)

    @property
    def nbytes(self) -> int:
        """Memory in bytes, excluding the rows themselves and what is mapped from files."""
        return self.native.bytes() + self.ids.nbytes + self.removed.nbytes

    def without(self, ids: NDArray[np.int64]) -> "Segment":
        """Return this segment with its rows among `ids` marked as removed."""
        places = places_of(ids, self.ids)
        if not len(places):
            return self
        return replace(self, removed=mark_removed(self.removed, places, len(self)))

    def search(
        self,
        queries: Csr,
        excluded: Int32,
        found: tuple[Int32, Float],
        first: int,
        n_rows: int,
        n_threads: int,
        batch: int,
    ) -> None:
        """Merge this segment's rows into `found`: sorted places and keys.

        Its rows have the places from `first` on, of `n_rows` in all segments.
        """
        values = contiguous(queries.data, np.float64)
        few = len(self) * queries.shape[0] <= FEW_PAIRS
        self.native.search(
            *csr_parts(queries),
            values,
            excluded,
            self.removed,
            first,
            n_rows,
            *found,
            1 if few else n_threads,
            batch,
        )


FEWEST_ROWS = 64
"""Segments of up to this many rows are merged with the next rows that are added, because building
them again costs less than searching them separately."""
MERGED_AT_ONCE = 128
"""Segments of more rows in all are merged beside the changes that follow: for a few more rows than
this, that takes a millisecond."""
MOST_SEGMENTS = 24
"""With more segments, the next rows that are added wait until some have been merged."""


@dataclass(frozen=True, eq=False)
class SparseRows(RowParts[Segment]):
    """An immutable version of the rows; changes create a new version, so running searches are safe.

    `segments`: at least one.
    `n_ids`: number of ids assigned so far.
    """

    segments: tuple[Segment, ...]
    n_ids: int

    @classmethod
    def of(cls, rows: Csr, build: Build) -> "SparseRows":
        """Index rows, whose ids start at 0."""
        n_rows = int(rows.shape[0])
        return cls((Segment.of(trust(rows), np.arange(n_rows, dtype=np.int32), build),), n_rows)

    @property
    def parts(self) -> tuple[Segment, ...]:
        """The segments."""
        return self.segments

    def with_rows(self, fresh: Csr, build: Build, n_fixed: int = 0) -> "SparseRows":
        """Return these rows with `fresh` appended, which gets the next ids.

        The new rows form a segment, merged with preceding segments that are small or not much
        larger, but not with the first `n_fixed`; removed rows are dropped from those.
        """
        kept, count = list(self.segments), int(fresh.shape[0])
        n_ids, most = self.n_ids + count, max(MERGED_AT_ONCE, 3 * count)
        absorbed: list[Segment] = []
        while len(kept) > n_fixed and len(kept[-1]) <= max(2 * count, FEWEST_ROWS):
            if count + len(kept[-1]) > most:
                break
            absorbed.insert(0, kept.pop())
            count += len(absorbed[0])
        rows, ids = _remaining(absorbed)
        rows.append(trust(fresh))
        ids.append(np.arange(self.n_ids, n_ids, dtype=np.int32))
        return SparseRows((*kept, _joined(rows, ids, build)), n_ids)

    def to_merge(self) -> tuple[Segment, ...]:
        """Return neighbouring segments to merge beside further changes; none if it can wait.

        Merged segments have at most twice as many rows as all later ones, so that there are few.
        """
        full = self.segments
        if len(full[-1]) <= MERGED_AT_ONCE:  # it still grows
            full = full[:-1]
        first, later = len(full), 0
        for place in range(len(full) - 1, -1, -1):
            if len(full[place]) <= 2 * later:
                first = place
            later += len(full[place])
        found = full[first:]
        return found if sum(map(len, found)) > MERGED_AT_ONCE else ()

    def without(self, ids: Int, build: Build) -> "SparseRows":
        """Return these rows without `ids`; segments with many removed rows are compacted."""
        segments = [segment.without(ids) for segment in self.segments]
        kept = [_compacted(s, build) if should_compact(s.removed) else s for s in segments]
        return self._of_segments(kept)

    def compacted(self, build: Build) -> "SparseRows":
        """Return these rows with all removed rows dropped."""
        return self._of_segments([_compacted(segment, build) for segment in self.segments])

    def joined(self) -> tuple[Csr, Int32]:
        """Return the remaining rows as one matrix, and their ids."""
        rows, ids = _remaining(list(self.segments))
        return stacked(rows), np.concatenate(ids)

    def _of_segments(self, segments: list[Segment]) -> "SparseRows":
        """Return the rows of these segments; empty segments are dropped, but at least one stays."""
        kept = tuple(segment for segment in segments if len(segment)) or (segments[0],)
        return SparseRows(kept, self.n_ids)


def _remaining(segments: list[Segment]) -> tuple[list[Csr], list[Int32]]:
    """Return the rows and ids of segments, without removed rows."""
    rows = [trust(s.rows[s.removed == 0]) if s.removed.any() else s.rows for s in segments]
    return rows, [s.ids[s.removed == 0] if s.removed.any() else s.ids for s in segments]


def _joined(rows: list[Csr], ids: list[Int32], build: Build) -> Segment:
    return Segment.of(stacked(rows), np.concatenate(ids), build)


def _compacted(segment: Segment, build: Build) -> Segment:
    """Return a segment of the remaining rows."""
    return _joined(*_remaining([segment]), build) if segment.removed.any() else segment


class Merge:
    """Neighbouring segments that become one beside searches and further changes."""

    def __init__(self, segments: tuple[Segment, ...], build: Build) -> None:
        self._natives = [segment.native for segment in segments]
        self._joined = Beside(lambda: _joined(*_remaining(list(segments)), build))

    @property
    def is_ready(self) -> bool:
        """Whether :meth:`taken` has nothing to wait for."""
        return self._joined.is_ready

    def place_in(self, rows: SparseRows) -> slice | None:
        """Return the place of the segments; None if one of them was built again meanwhile."""
        natives = [segment.native for segment in rows.segments]
        for first in range(len(natives)):
            place = slice(first, first + len(self._natives))
            if natives[place] == self._natives:
                return place
        return None

    def taken(self, rows: SparseRows, place: slice) -> SparseRows:
        """Return rows with the segments joined, without what was removed meanwhile."""
        gone = [segment.ids[: len(segment.removed)] for segment in rows.segments[place]]
        marks = [segment.removed for segment in rows.segments[place]]
        ids = np.concatenate(gone)[np.concatenate(marks) == 1].astype(np.int64)
        joined = self._joined.result().without(ids)
        before, after = rows.segments[: place.start], rows.segments[place.stop :]
        return SparseRows((*before, joined, *after), rows.n_ids)


class InvertedIndex:
    """The nearest rows of a sparse matrix, exactly.

    Feature by feature, integer sums are accumulated for the rows that have it. Rows whose sum
    cannot reach the k-th best even with the largest possible error are dropped, and the others are
    compared by the float64 definition of :mod:`vicinal.index.reference`. Neighbours, order and
    values therefore match the definition for any block size, batch size and number of threads.

    Parameters
    ----------
    X : sparse array, shape (n, m)
        Kept by reference. A dense array is converted.
    metric : {"cosine", "dot", "euclidean"}
        With cosine and dot product, only rows that share a non-zero feature are neighbours.
    n_jobs : int or None
        Number of threads of a query; None for all cores.
    block_rows : int
        Number of rows searched at a time, at most 65,536.
    batch_queries : int
        Number of queries that share a block while it is in the cache.
    simd : {"plain", "avx2", "avx512"} or None
        Vector instructions to use; None for the environment variable ``VICINAL_SIMD`` or the best
        available. The results are the same.
    patterns : bool
        Whether to count shared features instead of weighting them if all values of a row are equal;
        the results are the same.

    Notes
    -----
    Memory: at most 16 bytes per entry of `X` in addition to `X` itself, 42 per feature that occurs
    and 36 per row. While searching, each thread takes a megabyte, 2 bytes per weighted row, and
    a few kilobytes per query of a batch.
    Removed rows are kept until a segment has lost more than
    :data:`~vicinal.index._common.COMPACT_SHARE` of its rows, or until :meth:`compact`.

    Examples
    --------
    >>> from scipy import sparse
    >>> X = sparse.csr_array(np.array([[1.0, 1.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]))
    >>> graph = InvertedIndex(X).query(X[[1]], 2)
    >>> graph.ids
    array([[1, 0]], dtype=int32)
    >>> graph.similarity.round(4)
    array([[1.    , 0.7071]])
    """

    def __init__(
        self,
        X: object,
        metric: str = "cosine",
        *,
        n_jobs: int | None = None,
        block_rows: int = 65_536,
        batch_queries: int = 64,
        simd: str | None = None,
        patterns: bool = True,
    ) -> None:
        self._distance = get_distance(metric)
        self.n_jobs = n_jobs
        self.block_rows = check_integer("block_rows", block_rows, low=1)
        self.batch_queries = check_integer("batch_queries", batch_queries, low=1)
        self.simd = simd
        self.patterns = bool(patterns)
        self._threads = thread_count(n_jobs)
        self._build = Build(self._distance, self.block_rows, simd_level(simd), self.patterns)
        self._rows = SparseRows.of(as_csr(check_features(X)), self._build)
        self._writing = ForkLock()
        self._merge: Merge | None = None

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle the remaining rows; the index is rebuilt from them."""
        options = {
            "n_jobs": self.n_jobs,
            "block_rows": self.block_rows,
            "batch_queries": self.batch_queries,
            "simd": self.simd,
            "patterns": self.patterns,
        }
        rows = self._rows
        return _rebuild, (*rows.joined(), rows.n_ids, self.metric, options)

    @property
    def metric(self) -> str:
        """Name of the distance."""
        return self._distance.name

    @property
    def n_rows(self) -> int:
        """Number of row ids assigned so far; ids of removed rows are never reused."""
        return self._rows.n_ids

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return int(self._rows.segments[0].rows.shape[1])

    @property
    def nbytes(self) -> int:
        """Memory of the index in bytes, excluding `X` itself."""
        return sum(segment.nbytes for segment in self._rows.segments)

    @property
    def is_mutable(self) -> bool:
        """Whether rows can be added and removed: always."""
        return True

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return the k nearest rows for each row of `Q`, dense or sparse."""
        queries = check_features(Q, "Q", n_features=self.n_features)
        k, rows = check_integer("k", k, low=1), self._rows
        places, values = self._search(rows, queries, k, None)
        return NeighborGraph.trusted(rows.ids_at(places), values, self.metric, rows.n_ids)

    def query_self(self, k: int) -> NeighborGraph:
        """Return the k nearest other rows of each indexed row; duplicates count as other rows.

        A removed row has no neighbours and is not a neighbour of any row.
        """
        k, rows = check_integer("k", k, low=1), self._rows
        parts = [
            self._search(rows, segment.rows, k, number)
            for number, segment in enumerate(rows.segments)
        ]
        places, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        ids, padding, gone = rows.ids_at(places), self._distance.padding, rows.removed()
        ids[gone], values[gone] = -1, padding
        if rows.ids is not None:
            ids, values = by_row_id(ids, values, rows.ids, rows.n_ids, padding)
        return NeighborGraph(ids, values, self.metric, rows.n_ids)

    def add(self, rows: object) -> Int:
        """Add rows and return their ids, which are the next free ones in order.

        The index stays exact and is not rebuilt: added rows form a new segment. Segments that are
        not much larger than all later ones are merged with them, large ones on a thread during the
        calls that follow, until which both take memory. Each row is therefore indexed at most
        ``log2(n_rows)`` times, however many calls add rows.
        """
        checked = check_features(rows, "rows", n_features=self.n_features)
        fresh = as_csr(owned(checked, rows))
        with self._writing:
            first, count = self.n_rows, fresh.shape[0]
            check_room_for_ids(first, count)
            if count:
                n_fixed = self._take_merged()
                self._rows = self._rows.with_rows(fresh, self._build, n_fixed)
                chosen = () if self._merge else self._rows.to_merge()
                if chosen:
                    self._merge = Merge(chosen, self._build)
        return np.arange(first, first + count)

    def _take_merged(self) -> int:
        """Use the segment that was merged beside earlier changes, if there is one.

        Returns the number of leading segments that have to stay because they are being merged.
        """
        merge, rows = self._merge, self._rows
        place = None if merge is None else merge.place_in(rows)
        if merge is None or place is None:
            self._merge = None
            return 0
        if not merge.is_ready and len(rows.segments) <= MOST_SEGMENTS:
            return int(place.stop)
        self._rows, self._merge = merge.taken(rows, place), None
        return 0

    def remove(self, rows: object) -> None:
        """Remove rows by id. Other ids do not change, and removed ids are not reused.

        Removed rows are no longer found. Their memory is released when the segment they are in is
        built again: once more than :data:`~vicinal.index._common.COMPACT_SHARE` of it is removed,
        when :meth:`add` merges it, or by :meth:`compact`.
        """
        with self._writing:
            ids = check_rows("rows", rows, self.n_rows)
            self._rows = self._rows.without(ids, self._build)

    def compact(self) -> None:
        """Release the memory of removed rows now; segments without removed rows do not change."""
        with self._writing:
            self._rows, self._merge = self._rows.compacted(self._build), None

    def copy(self) -> "InvertedIndex":
        """Return an independent copy of the index."""
        twin = object.__new__(InvertedIndex)
        twin.__dict__.update(self.__dict__, _writing=ForkLock())
        return twin

    def _search(
        self, rows: SparseRows, queries: Features, k: int, own: int | None
    ) -> tuple[Int32, Float]:
        """Search all segments in turn; `own` is the number of the segment the queries are, if any.

        A row is not its own neighbour.
        """
        width = graph_width(k, rows.n_ids)
        places = np.full((queries.shape[0], width), -1, dtype=np.int32)
        values = np.zeros(places.shape)
        segments = list(zip(rows.starts, rows.segments, strict=False))
        options = rows.count, self._threads, self.batch_queries
        first_own = 0
        if own is not None:
            first_own = segments[own][0]
        for start, stop in row_chunks(queries):
            chunk = as_csr(queries if stop - start == len(places) else queries[start:stop])
            excluded = np.arange(first_own + start, first_own + stop, dtype=np.int32)
            if own is None:
                excluded = excluded[:0]
            found = places[start:stop], values[start:stop]
            for first, segment in segments:
                segment.search(chunk, excluded, found, first, *options)
            values[start:stop] = self._distance.values(values[start:stop])
        values[places < 0] = self._distance.padding
        return places, values


def _rebuild(X: Csr, ids: Int32, n_ids: int, metric: str, options: dict[str, Any]) -> InvertedIndex:
    index = InvertedIndex(X, metric, **options)
    segment = replace(index._rows.segments[0], ids=ids)
    index._rows = SparseRows((segment,), n_ids)
    return index
