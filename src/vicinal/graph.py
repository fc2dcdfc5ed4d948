r"""The neighbour graph: computed once for the largest k, shared by every method.

Input: ids and similarities from an index. Output: label counts among the neighbours, for one k
or for every k. May be imported by ``index`` and later layers.

.. math:: C_x(l) = \sum_{a \in N(x)} y_a(l)

Only labels that a neighbour has are stored, so the cost does not depend on the number of labels.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Float, Int, Int32
from vicinal._core.checks import check_integer
from vicinal._core.csr import checked_csr
from vicinal._core.threads import thread_count
from vicinal._core.validation import as_csr, canonical_csr, check_rows, csr_parts
from vicinal._native import VoteTable
from vicinal.distances import EUCLIDEAN, Distance, get_distance, given_distance
from vicinal.errors import InvalidArgumentError, logger


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """The k nearest training rows of each query, nearest first.

    Neighbours are sorted by ascending distance or descending similarity, ties by ascending row id,
    and padded with id −1. The arrays are read-only.

    Parameters
    ----------
    ids : ndarray of int32, shape (n_queries, k)
        Training row ids; −1 for padding.
    values : ndarray of float64, shape (n_queries, k)
        Distances for ``"euclidean"`` (padding: inf), similarities for ``"cosine"`` and ``"dot"``
        (padding: 0).
    metric : str
        Name of the distance (:mod:`vicinal.distances`) whose values `values` contains:
        ``"euclidean"``, ``"cosine"``, ``"dot"``, or, for neighbours that were found by other means,
        ``"distance:NAME"`` or ``"similarity:NAME"``.
    n_rows : int
        Number of training rows; ids are in [0, n_rows).

    Notes
    -----
    Memory: 12 bytes per query and neighbour. Ids of another integer type are converted, and lists
    that are not sorted are sorted, with a note by the logger ``vicinal``. A NaN, a negative
    distance or an id that occurs twice in a list is an error. :meth:`from_distances` and
    :meth:`from_csr` make graphs of a distance matrix and of other libraries' graphs.

    Examples
    --------
    >>> ids = np.array([[2, 0], [1, -1]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.array([[0.9, 0.5], [0.7, 0.0]]), "cosine", n_rows=3)
    >>> graph.found
    array([2, 1], dtype=int32)
    >>> graph.prefix(1).ids
    array([[2],
           [1]], dtype=int32)
    """

    ids: Int32
    values: Float
    metric: str
    n_rows: int

    def __repr__(self) -> str:
        """Summarise the graph in one line."""
        queries, k = self.ids.shape
        return f"NeighborGraph({queries} queries × {k} of {self.n_rows} rows, {self.metric})"

    def __post_init__(self) -> None:
        """Check the arrays against each other and freeze them."""
        distance = get_distance(self.metric)
        check_integer("n_rows", self.n_rows, low=0)
        ids, values = _check_ids(self.ids, self.n_rows), np.asarray(self.values)
        if values.shape != ids.shape or values.dtype.kind != "f":
            raise InvalidArgumentError(
                "values", f"floats of shape {ids.shape}", f"{values.dtype} of shape {values.shape}"
            )
        values = _check_values(ids, values.astype(np.float64, copy=False), distance)
        ids, values = _sorted_lists(ids, values, distance)
        object.__setattr__(self, "ids", _frozen(ids))
        object.__setattr__(self, "values", _frozen(values))

    @classmethod
    def from_distances(
        cls,
        distances: object,
        k: int,
        *,
        metric: str = "precomputed",
        similarity: bool = False,
        leave_one_out: bool = False,
    ) -> "NeighborGraph":
        """Return the k nearest rows of each query by a matrix of distances or similarities.

        Parameters
        ----------
        distances : array-like, shape (n_queries, n_rows)
            Rows at distance inf (or similarity −inf) are no neighbours.
        k : int
            Number of neighbours.
        metric : str
            Name of the distance. The model uses it to check later graphs.
        similarity : bool
            Whether large values are near.
        leave_one_out : bool
            Whether queries are the training rows: no row is then its own neighbour; for ``fit``.

        Examples
        --------
        >>> D = np.array([[0.0, 2.0, 1.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
        >>> graph = NeighborGraph.from_distances(D, 1, metric="hops", leave_one_out=True)
        >>> graph.ids.ravel().tolist(), graph.metric
        ([2, 2, 0], 'distance:hops')
        """
        matrix = np.asarray(distances)
        if matrix.ndim != 2 or matrix.dtype.kind not in "fiu":
            raise InvalidArgumentError("distances", "a matrix of numbers", f"shape {matrix.shape}")
        n_queries, n_rows = matrix.shape
        name = given_metric(metric, similarity)
        k = min(check_integer("k", k, low=1), max(n_rows - leave_one_out, 1))
        if leave_one_out and n_queries != n_rows:
            raise InvalidArgumentError("distances", "a square matrix", f"shape {matrix.shape}")
        sign = -1.0 if similarity else 1.0
        parts = []
        for start in range(0, n_queries, FEW_QUERIES):
            keys = sign * matrix[start : start + FEW_QUERIES].astype(np.float64)
            if np.isnan(keys).any():
                raise InvalidArgumentError("distances", "numbers", "NaN")
            if leave_one_out:
                own = np.arange(len(keys))
                keys[own, start + own] = np.inf
            nearest = np.argsort(keys, axis=1, kind="stable")[:, :k]
            parts.append((nearest, np.take_along_axis(keys, nearest, axis=1)))
        ids = np.concatenate([part[0] for part in parts] or [np.empty((0, k), np.int64)])
        keys = np.concatenate([part[1] for part in parts] or [np.empty((0, k))])
        ids = np.where(np.isposinf(keys), -1, ids).astype(np.int32)
        return cls(ids, np.where(ids < 0, get_distance(name).padding, sign * keys), name, n_rows)

    @classmethod
    def from_csr(
        cls,
        matrix: object,
        *,
        metric: str = "precomputed",
        similarity: bool = False,
        leave_one_out: bool = False,
    ) -> "NeighborGraph":
        """Return a graph whose neighbours are the stored entries of a sparse matrix.

        Takes what scikit-learn's ``kneighbors_graph(mode="distance")`` and similar functions
        return. Stored zeros are neighbours at distance 0.

        Parameters
        ----------
        matrix : SciPy sparse, shape (n_queries, n_rows)
            Distances or similarities of queries (rows) to training rows (columns).
        metric, similarity
            As for :meth:`from_distances`.
        leave_one_out : bool
            Whether queries are the training rows; then the diagonal is left out.

        Examples
        --------
        >>> near = sparse.csr_array(([0.5, 2.0, 1.0], [1, 2, 0], [0, 2, 3]), shape=(2, 3))
        >>> graph = NeighborGraph.from_csr(near, metric="euclidean")
        >>> graph.ids.tolist(), graph.metric
        ([[1, 2], [0, -1]], 'euclidean')
        """
        if not sparse.issparse(matrix):
            raise InvalidArgumentError("matrix", "a SciPy sparse matrix", type(matrix))
        stored: Any = matrix
        if stored.format != "csr":
            stored = sparse.coo_array(stored)
        n_queries, n_rows = stored.shape
        name = given_metric(metric, similarity)
        if stored.format == "csr":  # whose index arrays may be of any type
            sizes = np.diff(stored.indptr)
            places = np.repeat(np.arange(len(sizes)), sizes), stored.indices[: stored.indptr[-1]]
        else:
            places = stored.coords
        rows, columns = (np.asarray(each, dtype=np.int64) for each in places)
        values = np.asarray(stored.data, dtype=np.float64)[: len(rows)]
        if leave_one_out:
            if n_queries != n_rows:
                raise InvalidArgumentError("matrix", "a square matrix", f"shape {stored.shape}")
            others = rows != columns
            rows, columns, values = rows[others], columns[others], values[others]
        distance = get_distance(name)
        order = np.lexsort((columns, distance.rising(values), rows))
        rows, columns, values = rows[order], columns[order], values[order]
        counts = np.bincount(rows, minlength=n_queries)
        place = np.arange(len(rows)) - (np.cumsum(counts) - counts)[rows]
        width = int(counts.max(initial=0))
        ids = np.full((n_queries, width), -1, dtype=np.int32)
        padded = np.full((n_queries, width), distance.padding)
        ids[rows, place], padded[rows, place] = columns, values
        return cls(ids, padded, name, n_rows)

    @classmethod
    def trusted(cls, ids: Int32, values: Float, metric: str, n_rows: int) -> "NeighborGraph":
        """Return a graph of arrays that come from a search and need no validation."""
        graph = object.__new__(cls)
        attributes = {"ids": _frozen(ids), "values": _frozen(values)}
        graph.__dict__.update(attributes, metric=metric, n_rows=n_rows)
        return graph

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.ids.shape[0])

    @property
    def k(self) -> int:
        """Width: the maximum number of neighbours per query."""
        return int(self.ids.shape[1])

    @property
    def distance_kind(self) -> Distance:
        """The distance that `metric` names."""
        return get_distance(self.metric)

    @property
    def found(self) -> Int32:
        """Number of neighbours of each query, at most k."""
        found: Int32 = (self.ids >= 0).sum(axis=1, dtype=np.int32)
        return found

    @property
    def similarity(self) -> Float:
        """Similarities, if `metric` is a similarity."""
        if not self.distance_kind.is_similarity:
            raise AttributeError(f"a {self.metric} graph has .distance, not .similarity")
        return self.values

    @property
    def distance(self) -> Float:
        """Distances, if `metric` is a distance."""
        if self.distance_kind.is_similarity:
            raise AttributeError(f"a {self.metric} graph has .similarity, not .distance")
        return self.values

    def prefix(self, k: int) -> "NeighborGraph":
        """Return the graph of the k nearest rows as a view; it equals a new search for k."""
        k = check_integer("k", k, low=1)
        if k > self.k:
            raise InvalidArgumentError("k", f"at most the graph's {self.k}", k)
        if k == self.k:
            return self
        return self._trusted(self.ids[:, :k], self.values[:, :k])

    def queries(self, start: int, stop: int) -> "NeighborGraph":
        """Return the graph of queries `start` to `stop` (excluded) as a view."""
        return self._trusted(self.ids[start:stop], self.values[start:stop])

    def some(self, queries: slice | Int) -> "NeighborGraph":
        """Return the graph of some queries: a slice of them, or their numbers."""
        return self._trusted(self.ids[queries], self.values[queries])

    def without(self, rows: object) -> tuple["NeighborGraph", Int]:
        """Remove training rows from every list, and return the queries that must be searched again.

        Ids are not renumbered; gaps are closed and lists are padded. A full list that lost an entry
        is incomplete, because its query may have further candidates. A padded list contained all
        candidates, so it stays complete.

        Parameters
        ----------
        rows : array-like of int
            Training row ids, in any order.

        Returns
        -------
        graph : NeighborGraph
            A graph of the same width.
        short : ndarray of int64
            Queries whose lists are incomplete, ascending.

        Examples
        --------
        >>> ids = np.array([[2, 0], [1, -1], [0, 1]], dtype=np.int32)
        >>> graph = NeighborGraph(ids, np.array([[0.9, 0.5], [0.7, 0.0], [1, 1]]), "dot", n_rows=3)
        >>> rest, short = graph.without([2, 1])
        >>> rest.ids
        array([[ 0, -1],
               [-1, -1],
               [ 0, -1]], dtype=int32)
        >>> short
        array([0, 2])
        """
        dropped = np.zeros(self.n_rows + 1, dtype=np.bool_)  # the last cell is that of id −1
        dropped[check_rows("rows", rows, self.n_rows)] = True
        gone = dropped[self.ids]
        if not gone.any():
            return self, np.zeros(0, dtype=np.int64)
        short = np.flatnonzero(gone.any(axis=1) & (self.ids[:, -1] >= 0))
        place = np.argsort(gone, axis=1, kind="stable")
        ids = np.take_along_axis(np.where(gone, np.int32(-1), self.ids), place, axis=1)
        values = np.where(gone, self.distance_kind.padding, self.values)
        values = np.take_along_axis(values, place, axis=1)
        return self._trusted(ids, values), short

    def _trusted(self, ids: Int32, values: Float) -> "NeighborGraph":
        """Return a graph of arrays derived from checked ones, without validation."""
        return NeighborGraph.trusted(ids, values, self.metric, self.n_rows)


def given_metric(metric: str, similarity: bool) -> str:
    """Return the metric's name in a graph: a known distance, or a given one with a prefix."""
    if not isinstance(metric, str) or not metric:
        raise InvalidArgumentError("metric", "a name", repr(metric))
    if given_distance(metric) is not None or (metric == EUCLIDEAN.name and not similarity):
        return metric
    return f"{'similarity' if similarity else 'distance'}:{metric}"


def _check_ids(given: object, n_rows: int) -> Int32:
    """Return ids as int32, or raise for ids out of range, duplicates and gaps."""
    ids = np.asarray(given)
    if ids.ndim != 2 or ids.dtype.kind not in "iu":
        expected = "a two-dimensional array of integers"
        raise InvalidArgumentError("ids", expected, f"{ids.dtype} of shape {ids.shape}")
    if ids.size and (ids.min() < -1 or ids.max() >= n_rows):
        raise InvalidArgumentError(
            "ids", f"row ids from −1 to {n_rows - 1}", f"{ids.min()} to {ids.max()}"
        )
    if ids.shape[1] > 1:
        if np.any((ids[:, :-1] < 0) & (ids[:, 1:] >= 0)):
            raise InvalidArgumentError("ids", "padding only at the end of each row", "a gap")
        ordered = np.sort(ids, axis=1)
        twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
        if twice.any():
            query = int(twice.any(axis=1).argmax())
            got = f"a duplicate in list {query}"
            raise InvalidArgumentError("ids", "each row id once per list", got)
    return ids.astype(np.int32, copy=False)


def _check_values(ids: Int32, values: Float, distance: Distance) -> Float:
    """Return values with the padding of the distance, or raise for NaN and negative distances."""
    there = ids >= 0
    if np.isnan(values[there]).any():
        raise InvalidArgumentError("values", "numbers", "NaN")
    never_negative = not distance.is_similarity and (distance.is_given or distance.is_root)
    if never_negative and (values[there] < 0).any():
        raise InvalidArgumentError("values", "distances of at least 0", "a negative one")
    if np.array_equal(values[~there], np.full(np.count_nonzero(~there), distance.padding)):
        return values
    return np.where(there, values, distance.padding)


def _sorted_lists(ids: Int32, values: Float, distance: Distance) -> tuple[Int32, Float]:
    """Return lists sorted from near to far; equal values of a sorted list keep their order."""
    keys = np.where(ids < 0, np.inf, distance.rising(values))
    if not np.any(keys[:, :-1] > keys[:, 1:]):
        return ids, values
    order = np.lexsort((ids, keys, ids < 0), axis=1)
    logger.info("NeighborGraph: lists were not sorted from near to far and have been sorted")
    return np.take_along_axis(ids, order, axis=1), np.take_along_axis(values, order, axis=1)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view


def no_neighbors(n_queries: int, n_rows: int, metric: str) -> NeighborGraph:
    """Return a graph of width 0, for a method that uses no neighbours."""
    ids = np.empty((n_queries, 0), dtype=np.int32)
    return NeighborGraph(ids, np.empty((n_queries, 0)), metric, n_rows)


def narrowed(graph: NeighborGraph, k: int) -> NeighborGraph:
    """Return the k nearest rows of a graph, or all if there are fewer; k may be 0."""
    if k == 0:
        return no_neighbors(graph.n_queries, graph.n_rows, graph.metric)
    return graph.prefix(min(k, graph.k))


def merge_graphs(
    first: NeighborGraph, second: NeighborGraph, width: int
) -> tuple[NeighborGraph, Int]:
    """Return the nearest `width` rows of two graphs over different rows, and queries in doubt."""
    if (first.n_queries, first.metric, first.n_rows) != (
        second.n_queries,
        second.metric,
        second.n_rows,
    ):
        raise InvalidArgumentError(
            "second", "a graph of the same queries and metric", "a different one"
        )
    ids = np.hstack([first.ids, second.ids])
    values = np.hstack([first.values, second.values])
    distance = first.distance_kind
    # Among distances with the same rounded root, the order within each graph is more reliable than
    # the order of the ids.
    later = np.broadcast_to(np.arange(ids.shape[1]), ids.shape) if distance.is_root else ids
    order = np.lexsort((later, distance.rising(values), ids < 0), axis=1)
    kept = NeighborGraph(
        np.take_along_axis(ids, order[:, :width], axis=1),
        np.take_along_axis(values, order[:, :width], axis=1),
        first.metric,
        first.n_rows,
    )
    if not distance.is_root:
        return kept, np.zeros(0, dtype=np.int64)
    distances = np.take_along_axis(values, order, axis=1)
    from_second = order >= first.k
    equal = (distances[:, :-1] == distances[:, 1:]) & np.isfinite(distances[:, 1:])
    # If a run of equal distances contains both graphs, they alternate somewhere in it.
    return kept, np.flatnonzero(np.any(equal & (from_second[:, :-1] != from_second[:, 1:]), axis=1))


FEW_QUERIES = 1024
"""Up to this many queries, all neighbours are counted at once; for more, one position at a time."""


def votes(graph: NeighborGraph, Y: Csr, k: int | None = None, *, n_jobs: int | None = None) -> Csr:
    """Count how many of the k nearest rows have each label.

    Parameters
    ----------
    graph : NeighborGraph
        Neighbours of the rows.
    Y : csr_array, shape (graph.n_rows, L)
        Label indicator; every stored entry counts as one.
    k : int or None
        At most the graph's k; None for the graph's k.
    n_jobs : int or None
        Threads, as for :func:`vicinal._core.threads.thread_count`.

    Returns
    -------
    csr_array of int32, shape (n_queries, L)
        Canonical: labels ascending, no zeros. Memory: 8 bytes for each query and label counted.

    Examples
    --------
    >>> ids = np.array([[2, 0], [1, -1]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.zeros((2, 2)), "cosine", n_rows=3)
    >>> Y = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]]))
    >>> votes(graph, Y).toarray()
    array([[1, 2, 0],
           [0, 0, 1]], dtype=int32)
    """
    width = graph.k if k is None else graph.prefix(k).k
    (counts,) = votes_by_k(graph, Y, [width], n_jobs=n_jobs)
    return counts


def votes_by_k(
    graph: NeighborGraph, Y: Csr, ks: Iterable[int] | None = None, *, n_jobs: int | None = None
) -> Iterator[Csr]:
    """Yield :func:`votes` for each k of `ks` in turn, counting each neighbour only once."""
    widths = list(range(1, graph.k + 1)) if ks is None else _check_widths(ks, graph.k)
    labels = _check_labels(graph, Y)
    return _steps(graph, labels, widths, thread_count(n_jobs))


def neighbor_cardinality(graph: NeighborGraph, Y: Csr, k: int | None = None) -> Float:
    """Return the mean number of labels of the k nearest rows, 0 for a query without neighbours."""
    near = graph if k is None else graph.prefix(k)
    indptr, _ = csr_parts(_check_labels(graph, Y))
    total = np.zeros(near.n_queries, dtype=np.int64)
    step = max(1, near.k if near.n_queries <= FEW_QUERIES else 1)
    for place in range(0, near.k, step):
        some = near.ids[:, place : place + step]
        sizes = indptr[some + 1] - indptr[some]  # of id −1: 0 less the last
        total += np.where(some < 0, 0, sizes).sum(axis=1)
    return total / np.maximum(near.found, 1)


def cardinality_of(counts: Csr, graph: NeighborGraph) -> Float:
    """Return :func:`neighbor_cardinality` of a graph whose :func:`votes` are known."""
    sums = np.zeros(len(counts.data) + 1, dtype=np.int64)
    np.cumsum(counts.data, out=sums[1:])
    until = sums[counts.indptr]
    totals: Float = (until[1:] - until[:-1]) / np.maximum(graph.found, 1)
    return totals


def _steps(graph: NeighborGraph, labels: Csr, widths: list[int], n_threads: int) -> Iterator[Csr]:
    table = VoteTable(*csr_parts(labels), np.ascontiguousarray(graph.ids))
    shape = graph.n_queries, labels.shape[1]
    done = 0
    for width in widths:
        table.extend(done, width, n_threads)
        done = width
        indptr, indices, counts = table.counts()
        yield checked_csr(counts, indices, indptr, shape)


def _check_widths(ks: Iterable[int], most: int) -> list[int]:
    widths = [check_integer("ks", k, low=1) for k in ks]
    if any(a >= b for a, b in pairwise(widths)) or any(k > most for k in widths):
        raise InvalidArgumentError("ks", f"ascending values of at most {most}", widths)
    return widths


def _check_labels(graph: NeighborGraph, Y: Csr) -> Csr:
    labels = canonical_csr(Y, "Y")
    if labels.shape[0] != graph.n_rows:
        raise InvalidArgumentError("Y", f"{graph.n_rows} rows", labels.shape[0])
    return labels


__all__ = ["NeighborGraph", "votes"]


def check_training_graph(graph: NeighborGraph, n_rows: int, k: int) -> NeighborGraph:
    """Return the k nearest of a caller's leave-one-out graph, or raise if it is not valid."""
    check_graph(graph, n_rows, n_rows, min(k, n_rows - 1))
    own = graph.ids == np.arange(n_rows)[:, None]
    if own.any():
        row = int(own.any(axis=1).argmax())
        raise InvalidArgumentError(
            "graph",
            "a graph of the training rows that excludes each row itself (query_self, or "
            "leave_one_out=True)",
            f"row {row} as its own neighbour",
        )
    return narrowed(graph, k)


PAIRS = 16
"""Number of neighbours whose distance is computed to see whether a graph is one of the rows."""


def metric_of_rows(graph: NeighborGraph, X: Features) -> str:
    """Return the metric by which a model searches the rows that a leave-one-out graph is of.

    It is the graph's, unless its values are not those of the rows: then the graph comes from other
    features or another distance, and the model cannot find further neighbours by itself.
    """
    distance = graph.distance_kind
    found = np.flatnonzero(graph.found) if graph.k else np.zeros(0, dtype=np.int64)
    if distance.is_given or not len(found):
        return graph.metric
    for query in found[np.linspace(0, len(found) - 1, min(PAIRS, len(found))).astype(np.int64)]:
        pair = as_csr(X[[int(query), int(graph.ids[query, 0])]])
        dense = pair[:, np.unique(pair.indices)].toarray().astype(np.float64)
        value = distance.values(distance.keys(dense[1:], dense[0]))[0]
        if not np.isclose(value, graph.values[query, 0], rtol=1e-5, atol=1e-6):
            return f"{'similarity' if distance.is_similarity else 'distance'}:{graph.metric}"
    return graph.metric


def check_graph(graph: object, n_queries: int, n_rows: int, k: int) -> None:
    """Raise unless `graph` has at least k neighbours of `n_queries` queries among `n_rows` rows."""
    if not isinstance(graph, NeighborGraph):
        raise InvalidArgumentError("graph", "a NeighborGraph", f"a {type(graph).__name__}")
    if (graph.n_queries, graph.n_rows) != (n_queries, n_rows):
        raise InvalidArgumentError(
            "graph",
            f"{n_queries} queries among {n_rows} training rows",
            f"{graph.n_queries} queries among {graph.n_rows} rows",
        )
    if graph.k < k:
        raise InvalidArgumentError("graph", f"at least {k} neighbours per row", graph.k)
