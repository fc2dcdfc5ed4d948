"""The training rows of a model, ready to be searched, and the graph that follows their changes.

Similarity is symmetric, so one pass over the rows that share a feature with a new row finds both
its neighbours and the rows whose lists it enters: those where it is nearer than the last entry.
Only these lists and ML-kNN's vote tables are updated. After every step lists and tables equal those
of a fresh fit.
"""

from dataclasses import dataclass
from typing import Any, cast
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Bool, Csr, Features, Float, Int, Int32
from vicinal._core.csr import GrowingArray, is_mapped, to_user, trust, with_room, with_rows
from vicinal._core.progress import blocks, is_seen
from vicinal._core.threads import ForkLock
from vicinal._core.validation import as_csr, csr_parts
from vicinal._native import LiveGraphFloat32, LiveGraphFloat64
from vicinal.distances import get_distance
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph, merge_graphs, no_neighbors
from vicinal.index._common import check_room_for_ids
from vicinal.index.build import build_index, can_forget
from vicinal.index.dense import DenseIndex
from vicinal.index.inverted import InvertedIndex
from vicinal.index.protocol import Index, MutableIndex, is_mutable


class TrainingRows:
    """Training rows with an index that is built once, when a search first needs it.

    A model that is fitted and used with precomputed graphs therefore never builds an index.
    Building it does not change the estimator and is thread-safe; a pickled or forked copy builds
    its own.

    Every row has a place, 0 to n − 1, and an id that does not change when other rows are forgotten.
    Graphs inside the library contain places; graphs returned to users contain ids. A change returns
    a new object, and neither this object nor its index changes. Added rows are appended to arrays
    that both objects share (:mod:`vicinal._core.csr`).

    :meth:`without` leaves the places of forgotten rows empty, so that no row is copied or moved; no
    search finds the forgotten rows. :meth:`compacted` closes the gaps. The docstring of a method
    says if it requires rows without gaps.
    """

    def __init__(
        self,
        X: Features,
        metric: str,
        n_jobs: int | None,
        row_ids: Int | None = None,
        n_ids: int | None = None,
        *,
        algorithm: object = "auto",
    ) -> None:
        self.X: Features = trust(X) if isinstance(X, sparse.csr_array) else X
        self.metric = metric
        self.n_jobs = n_jobs
        self.algorithm = algorithm
        self.place_ids: Int = _first_ids(int(X.shape[0])) if row_ids is None else row_ids
        self.n_ids = int(X.shape[0]) if n_ids is None else n_ids
        self.gone: NDArray[np.bool_] = np.zeros(0, dtype=np.bool_)
        self._start_without_index()

    def _start_without_index(self) -> None:
        """Initialise the attributes that pickles do not contain."""
        self._n_gone = int(np.count_nonzero(self.gone))
        self._rooms: tuple[GrowingArray | None, GrowingArray] = None, GrowingArray(self.place_ids)
        self._gone_room: GrowingArray | None = None
        self._indexed: tuple[Index, GrowingArray | None] | None = None
        self._building = ForkLock()

    @property
    def recall(self) -> float | None:
        """Share of neighbours that an approximate index found; None if it is exact or not built."""
        known = self._indexed
        found: float | None = None if known is None else getattr(known[0], "recall_", None)
        return found

    @property
    def n_places(self) -> int:
        """Number of places, including empty ones."""
        return int(self.X.shape[0])

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return self.n_places - self._n_gone

    @property
    def n_empty(self) -> int:
        """Number of places whose row was forgotten."""
        return self._n_gone

    @property
    def row_ids(self) -> Int:
        """The ids of the training rows, ascending."""
        return self.place_ids[~self.gone] if self._n_gone else self.place_ids

    @property
    def index(self) -> Index:
        """The index over the training rows; its ids may differ from those of the rows."""
        return self._index_and_ids()[0]

    def open_index(self) -> None:
        """Build the index now: one that is stored is only opened, and changes are added to it."""
        self._index_and_ids()

    @property
    def has_index(self) -> bool:
        """Whether the index has been built."""
        return self._indexed is not None

    @property
    def is_mutable(self) -> bool:
        """Whether rows of the index can be added and removed; builds it if necessary."""
        index = self.index
        if isinstance(index, InvertedIndex | DenseIndex):  # faster than checking the protocol
            return index.is_mutable
        return is_mutable(index)

    @property
    def prefers_whole_batches(self) -> bool:
        """Whether every call of a search has a high fixed cost, so that one large call is best."""
        return bool(getattr(self.index, "prefers_whole_batches", False))

    def build_index(self, X: Features) -> Index:
        """Return an index over other rows, with the same distance and algorithm."""
        return build_index(X, self.metric, self.n_jobs, self.algorithm)

    def query(self, Q: Features, k: int) -> NeighborGraph:
        """Return the `k` nearest training rows of each row of `Q`, or all if there are fewer."""
        k = min(k, self.n_rows)
        if k == 0:
            return no_neighbors(Q.shape[0], self.n_places, self.metric)
        index, ids = self._index_and_ids()
        return self._from_index(index.query(Q, k), ids)

    def query_self(self, k: int) -> NeighborGraph:
        """Return the leave-one-out graph of the rows, which must not have empty places."""
        self._refuse_empty_places()
        if k == 0:
            return no_neighbors(self.n_rows, self.n_rows, self.metric)
        if is_seen() and not self.prefers_whole_batches:
            return self._query_self_by_blocks(k)
        index, ids = self._index_and_ids()
        graph = index.query_self(self.width_among_others(k))
        if ids is None:
            return graph
        known = self._index_ids(ids)
        own = NeighborGraph(graph.ids[known], graph.values[known], graph.metric, graph.n_rows)
        return self._from_index(own, ids)

    def _query_self_by_blocks(self, k: int) -> NeighborGraph:
        """Return the same graph as :meth:`query_self`, reporting progress."""
        ids = np.empty((self.n_rows, self.width_among_others(k)), dtype=np.int32)
        values = np.empty(ids.shape)
        for start, stop in blocks(self.n_rows, self.n_rows, "Searching"):
            found = self.query_rows(np.arange(start, stop), k)
            ids[start:stop], values[start:stop] = found.ids, found.values
        return NeighborGraph(ids, values, self.metric, self.n_rows)

    def query_rows(self, places: Int, k: int) -> NeighborGraph:
        """Return the leave-one-out graph of some of the training rows."""
        width = self.width_among_others(k)
        index, index_ids = self._index_and_ids()
        queries = self.X[places]
        if isinstance(queries, sparse.csr_array):
            queries = trust(queries)
        graph = self._from_index(index.query(queries, width + 1), index_ids)
        # Once a row is removed from its own list, the `width` nearest other rows remain. If it is
        # not in the list (ties with preceding rows, or no features), they are the first `width`.
        others = graph.ids != places[:, None]
        others[others.all(axis=1), width:] = False
        ids = graph.ids[others].reshape(len(places), -1)
        values = graph.values[others].reshape(ids.shape)
        return NeighborGraph(ids, values, self.metric, self.n_places)

    def width_among_others(self, k: int) -> int:
        """Return the width of a leave-one-out graph: k or the number of other rows, at least 1."""
        return max(1, min(k, self.n_rows - 1))

    def grown(self, X: Features) -> "TrainingRows":
        """Return these rows with `X` appended, which gets new ids and the next places."""
        n_ids = self.n_ids + int(X.shape[0])
        check_room_for_ids(self.n_ids, int(X.shape[0]))
        if isinstance(self.X, sparse.csr_array):
            X = trust(as_csr(X))
        rows, rooms = self._with(X, np.arange(self.n_ids, n_ids))
        larger = self._like(rows, rooms[1].head(rows.shape[0]), n_ids)
        larger._rooms = rooms
        if self._n_gone:
            none_gone = np.zeros(X.shape[0], dtype=np.bool_)
            known_gone = self._gone_room or GrowingArray(self.gone)
            larger._gone_room = known_gone.extended(self.n_places, none_gone)
            larger.gone = larger._gone_room.head(larger.n_places)
            larger._n_gone = self._n_gone
        known = self._copied_index()
        if known is not None:
            index, index_ids = known
            added = index.add(X)
            if index_ids is not None:
                index_ids = index_ids.extended(self.n_places, added.astype(np.int32))
            larger._indexed = index, index_ids
        return larger

    def with_room(self) -> "TrainingRows":
        """Return the same rows, to which the next ones are added without a copy.

        Those of a file stay there: they are never copied.
        """
        if is_mapped(self.X.data if isinstance(self.X, sparse.csr_array) else self.X):
            return self
        dense_room, id_room = self._rooms[0], self._rooms[1].with_room(self.n_places)
        if isinstance(self.X, sparse.csr_array):
            X: Features = with_room(self.X)
        else:
            dense_room = (dense_room or GrowingArray(self.X)).with_room(self.n_places)
            X = dense_room.head(self.n_places)
        same = self._like(X, id_room.head(self.n_places), self.n_ids)
        same.gone, same._n_gone, same._gone_room = self.gone, self._n_gone, self._gone_room
        same._rooms, same._indexed = (dense_room, id_room), self._indexed
        return same

    def _with(
        self, X: Features, ids: Int
    ) -> tuple[Features, tuple[GrowingArray | None, GrowingArray]]:
        """Return these rows with `X` appended, and the growing arrays of the rows and the ids."""
        old, dense_room = self.n_places, self._rooms[0]
        id_room = self._rooms[1].extended(old, ids)
        if isinstance(self.X, sparse.csr_array):
            return with_rows(self.X, cast("Csr", X)), (None, id_room)
        fresh = X.toarray() if isinstance(X, sparse.csr_array) else X
        dense_room = (dense_room or GrowingArray(self.X)).extended(old, fresh)
        return dense_room.head(old + len(fresh)), (dense_room, id_room)

    def without(self, places: Int) -> "TrainingRows":
        """Return these rows with the given places emptied; all other rows keep theirs.

        Copies one mark per place; the index copies another.
        """
        gone = self.gone.copy() if self._n_gone else np.zeros(self.n_places, dtype=np.bool_)
        gone[places] = True
        fewer = self._like(self.X, self.place_ids, self.n_ids)
        fewer._rooms = self._rooms
        fewer.gone, fewer._n_gone = gone, self._n_gone + len(places)
        known = self._copied_index()
        if known is not None:
            index, index_ids = known
            index.remove(places if index_ids is None else self._index_ids(index_ids)[places])
            fewer._indexed = index, index_ids
        return fewer

    def compacted(self) -> "TrainingRows":
        """Return the same rows without empty places."""
        return self.reduced(np.flatnonzero(~self.gone)) if self._n_gone else self

    def reduced(self, places: Int) -> "TrainingRows":
        """Return only the rows at these places, without gaps; they keep their ids."""
        smaller = self._like(self.X[places], self.place_ids[places], self.n_ids)
        known = self._copied_index()
        if known is not None:
            index, index_ids = known
            old_ids = self._index_ids(index_ids)
            left = old_ids[places]
            index.remove(np.setdiff1d(old_ids, left))
            smaller._indexed = index, GrowingArray(left)
        return smaller

    def compact(self) -> None:
        """Release the memory that the index still holds for forgotten rows."""
        known = self._indexed
        if known is not None and is_mutable(known[0]):
            known[0].compact()

    def _like(self, X: Features, row_ids: Int, n_ids: int) -> "TrainingRows":
        """Return other rows, searched in the same way."""
        return TrainingRows(X, self.metric, self.n_jobs, row_ids, n_ids, algorithm=self.algorithm)

    def _index_and_ids(self) -> tuple[Index, GrowingArray | None]:
        """Return the index, built if necessary, and its id of each place; None if they agree."""
        known = self._indexed
        if known is None:
            with self._building:
                known = self._indexed
                if known is None:
                    known = self._built()
                    self._indexed = known
        return known

    def _built(self) -> tuple[Index, GrowingArray | None]:
        """Build the index; its ids are the places."""
        if self._n_gone and not can_forget(self.algorithm, self.metric):
            kept = np.flatnonzero(~self.gone)
            fewer = self.build_index(self.X[kept])
            return KeptRows(fewer, kept.astype(np.int32), self.n_places), None
        index = self.build_index(self.X)
        if self._n_gone:  # copies no rows, which may be mapped from a folder
            cast("MutableIndex", index).remove(np.flatnonzero(self.gone))
        return index, None

    def _index_ids(self, ids: GrowingArray | None) -> Int32:
        """Return the index's id of each place."""
        if ids is None:
            return np.arange(self.n_places, dtype=np.int32)
        return ids.head(self.n_places)

    def _refuse_empty_places(self) -> None:
        """Raise if there are empty places."""
        if self._n_gone:
            raise RuntimeError("rows with empty places: compact them first")

    def _copied_index(self) -> tuple[MutableIndex, GrowingArray | None] | None:
        """Return a mutable copy of the index, or None if a later search has to build one."""
        known = self._indexed
        if known is None or not self.is_mutable:
            return None
        return cast("MutableIndex", known[0]).copy(), known[1]

    def _from_index(self, graph: NeighborGraph, ids: GrowingArray | None) -> NeighborGraph:
        """Return a graph of the index with places as ids."""
        if ids is None:
            return graph
        return self._renumbered(graph, self._index_ids(ids))

    def _renumbered(self, graph: NeighborGraph, known: Int32 | Int) -> NeighborGraph:
        """Return `graph` with each id replaced by its position in `known`; raise if it has none."""
        near = graph.ids
        places = np.searchsorted(known, near)
        places[near < 0] = -1
        if np.any(known[np.minimum(places, len(known) - 1)][near >= 0] != near[near >= 0]):
            raise _forgotten()
        return NeighborGraph(places.astype(np.int32), graph.values, graph.metric, self.n_places)

    def by_id(self, graph: NeighborGraph) -> NeighborGraph:
        """Return a graph of places with the row ids instead."""
        if self.n_ids == self.n_places:
            return graph
        ids = np.where(graph.ids < 0, -1, self.place_ids[graph.ids]).astype(np.int32)
        return NeighborGraph(ids, graph.values, graph.metric, self.n_ids)

    def by_place(self, graph: NeighborGraph) -> NeighborGraph:
        """Return a caller's graph of row ids with the places instead."""
        if self.n_ids == self.n_rows:
            return graph
        found = self._renumbered(graph, self.place_ids)
        if self._n_gone and np.any(self.gone[found.ids[found.ids >= 0]]):
            raise _forgotten()
        return found

    def places_of(self, ids: Int) -> Int:
        """Return the places of the rows with these ids; raise if one has been forgotten."""
        places: Int = np.searchsorted(self.place_ids, ids)
        known = self.place_ids[np.minimum(places, self.n_places - 1)] == ids
        if self._n_gone:
            known[known] = ~self.gone[places[known]]
        if not known.all():
            raise InvalidArgumentError(
                "rows", "ids of rows in the model", f"{ids[~known][0]}, which was forgotten"
            )
        return places

    def __getstate__(self) -> dict[str, Any]:
        """Omit the index, the lock and spare capacity, which are not pickled."""
        kept = ("metric", "n_jobs", "algorithm", "place_ids", "n_ids", "gone")
        X = to_user(self.X) if isinstance(self.X, sparse.csr_array) else self.X
        return {"X": X, **{name: getattr(self, name) for name in kept}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Start without an index."""
        self.__dict__.update(state)
        self._start_without_index()


@dataclass(frozen=True, eq=False)
class KeptRows:
    """An index that cannot forget, over the rows that are left: its neighbours are places.

    `kept`: the place of each of its rows, ascending.
    """

    index: Index
    kept: Int32
    n_rows: int

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.index.n_features

    @property
    def metric(self) -> str:
        """Name of the distance."""
        return self.index.metric

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self.index.nbytes + self.kept.nbytes

    def query(self, Q: object, k: int) -> NeighborGraph:
        """Return the k nearest rows that are left."""
        near = self.index.query(Q, k)
        ids = np.where(near.ids < 0, np.int32(-1), self.kept[near.ids])
        return NeighborGraph(ids, near.values, near.metric, self.n_rows)

    def query_self(self, k: int) -> NeighborGraph:
        """Raise: rows with empty places have no leave-one-out graph."""
        raise RuntimeError("rows with empty places: compact them first")


_first_known: "WeakValueDictionary[int, Int]" = WeakValueDictionary()


def _first_ids(count: int) -> Int:
    """Return 0, 1, …, the same array for all views of the same rows, read-only."""
    ids = _first_known.get(count)
    if ids is None:
        ids = np.arange(count)
        ids.flags.writeable = False
        _first_known[count] = ids
    return ids


def _forgotten() -> InvalidArgumentError:
    return InvalidArgumentError("graph", "ids of rows in the model", "the id of a forgotten row")


def graph_with(old: NeighborGraph, rows: TrainingRows, fresh: Features, k: int) -> NeighborGraph:
    """Return the leave-one-out graph of `rows`, whose last rows are `fresh`."""
    n_old, n_rows = old.n_queries, rows.n_rows
    if k == 0:
        return no_neighbors(n_rows, n_rows, rows.metric)
    width = rows.width_among_others(k)
    among_new = rows.build_index(fresh).query(rows.X[:n_old], min(width, fresh.shape[0]))
    shifted = np.where(among_new.ids < 0, -1, among_new.ids + n_old).astype(np.int32)
    merged, in_doubt = merge_graphs(
        NeighborGraph(old.ids, old.values, old.metric, n_rows),
        NeighborGraph(shifted, among_new.values, old.metric, n_rows),
        width,
    )
    asked = np.concatenate([in_doubt, np.arange(n_old, n_rows)])
    return _replaced(merged, rows, asked, width, k)


def graph_without(
    old: NeighborGraph, rows: TrainingRows, kept: Int, gone: Int, k: int
) -> NeighborGraph:
    """Return the leave-one-out graph of `rows`, which contains the `kept` old rows."""
    if k == 0:
        return no_neighbors(rows.n_rows, rows.n_rows, rows.metric)
    rest, short = old.without(gone)
    new_place = np.full(old.n_rows + 1, -1, dtype=np.int32)
    new_place[kept] = np.arange(len(kept))
    graph = NeighborGraph(new_place[rest.ids[kept]], rest.values[kept], old.metric, rows.n_rows)
    asked = new_place[np.intersect1d(short, kept)].astype(np.int64)
    return _replaced(graph, rows, asked, rows.width_among_others(k), k)


def _replaced(
    graph: NeighborGraph, rows: TrainingRows, asked: Int, width: int, k: int
) -> NeighborGraph:
    """Return `graph` with the given width and with the lists of the rows `asked` searched again."""
    ids: Int32 = np.full((rows.n_rows, width), -1, dtype=np.int32)
    values: Float = np.full((rows.n_rows, width), graph.distance_kind.padding)
    common = min(width, graph.k)
    ids[: graph.n_queries, :common] = graph.ids[:, :common]
    values[: graph.n_queries, :common] = graph.values[:, :common]
    if len(asked):
        fresh = rows.query_rows(asked, k)
        ids[asked], values[asked] = fresh.ids, fresh.values
    return NeighborGraph(ids, values, graph.metric, rows.n_rows)


SPARE = 6
"""Extra neighbours per list: a list is searched again only after this many of its rows were
forgotten."""
MOST_DENSE_CELLS = 2**24
"""The graph stores dense rows as sparse ones, up to this many cells: 192 MiB."""


@dataclass(frozen=True, eq=False)
class VoteGroups:
    """Groups of rows whose votes are counted apart, such as the clusters of LAML-kNN."""

    count: int
    of_rows: Int32


class LiveGraph:
    """Neighbour lists, and the numbers of rows with and without each label that got j votes for it.

    `rows`: without empty places.
    `graph`: their leave-one-out graph, with at least `k` neighbours or all other rows.
    `groups`: None for one group.

    Memory: 28 bytes per entry of the rows (16 where they are float32), 16 per row and neighbour
    (`k` + ``SPARE``), 58 per row, 25 per feature, 16 per group, label and neighbour. Where all rows
    are whole numbers of at least 0, entries 1 of the 64 most frequent features take 12 bytes (8).
    """

    def __init__(
        self,
        rows: TrainingRows,
        graph: NeighborGraph,
        Y: Csr,
        k: int,
        groups: VoteGroups | None = None,
    ) -> None:
        X = as_csr(rows.X)
        groups = groups or VoteGroups(1, np.zeros(X.shape[0], dtype=np.int32))
        self._dtype = X.dtype
        kind = LiveGraphFloat32 if X.dtype == np.float32 else LiveGraphFloat64
        self._native = kind(
            *csr_parts(X),
            np.ascontiguousarray(X.data[: X.indptr[-1]]),
            X.shape[1],
            get_distance(rows.metric).native(),
            k,
            SPARE,
            np.ascontiguousarray(graph.ids),
            *csr_parts(Y),
            Y.shape[1],
            np.ascontiguousarray(groups.of_rows, dtype=np.int32),
            groups.count,
        )
        self._k = k
        self._metric = rows.metric

    @property
    def nbytes(self) -> int:
        """Memory in bytes."""
        return self._native.bytes()

    def learn(self, X: Features, Y: Csr, groups: VoteGroups | None = None) -> None:
        """Learn rows with their labels, which may include new ones."""
        rows, n_labels = as_csr(X), int(Y.shape[1])
        indptr, indices = csr_parts(rows)
        values = np.ascontiguousarray(rows.data, dtype=self._dtype)
        label_indptr, labels = csr_parts(Y)
        for row in range(rows.shape[0]):
            entries = slice(indptr[row], indptr[row + 1])
            own = labels[label_indptr[row] : label_indptr[row + 1]]
            group = 0 if groups is None else int(groups.of_rows[row])
            self._native.learn(indices[entries], values[entries], own, n_labels, group)

    def forget(self, place: int, rows: TrainingRows) -> None:
        """Forget the row at a place, which stays empty; `rows` are the rows without it."""
        missing = self._native.take_out(place)
        if len(missing):
            near = rows.query_rows(missing.astype(np.int64), self._k + SPARE)
            self._native.refill(place, missing, np.ascontiguousarray(near.ids))

    def compact(self) -> None:
        """Remove the empty places of forgotten rows."""
        self._native.compact()

    def tables(self) -> tuple[Int, Int]:
        r"""Return ML-kNN's tables :math:`c_l[j]` and :math:`c'_l[j]`, group by group."""
        width = 1 + min(self._k, self._native.n_live())
        with_label, without_label = self._native.tables(width)
        return with_label, without_label

    def graph(self, gone: Bool) -> NeighborGraph:
        """Return the leave-one-out graph of the rows that are not `gone`, numbered from 0 on."""
        n_rows = self._native.n_live()
        ids, values = self._native.nearest(max(1, min(self._k, n_rows - 1)))
        if n_rows != self._native.n_slots():
            kept = ~gone
            moved = np.append(np.cumsum(kept, dtype=np.int32) - 1, np.int32(-1))
            ids, values = moved[ids[kept]], values[kept]
        return NeighborGraph.trusted(ids, values, self._metric, n_rows)


def can_follow(rows: TrainingRows, dtype: np.dtype[np.generic]) -> bool:
    """Tell whether a live graph can store these rows and further ones of a number type."""
    is_dense = isinstance(rows.X, np.ndarray)
    if is_dense and rows.X.size > MOST_DENSE_CELLS:
        return False
    exact: NDArray[np.bool_] | bool = np.can_cast(dtype, rows.X.dtype, "safe")
    return bool(exact)
