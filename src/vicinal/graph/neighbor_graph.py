"""The neighbour graph, which all methods share."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Float, Int, Int32
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_integer, check_rows
from vicinal.distances import Distance, get_distance


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
    metric : {"euclidean", "cosine", "dot"}
        Name of the distance (:mod:`vicinal.distances`) whose values `values` contains.
    n_rows : int
        Number of training rows; ids are in [0, n_rows).

    Notes
    -----
    Memory: 12 bytes per query and neighbour.

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
        get_distance(self.metric)
        check_integer("n_rows", self.n_rows, low=0)
        ids = np.asarray(self.ids)
        if ids.ndim != 2 or ids.dtype != np.int32:
            raise InvalidArgumentError(
                "ids", "a two-dimensional int32 array", f"{ids.dtype} of shape {ids.shape}"
            )
        values = np.asarray(self.values)
        if values.shape != ids.shape or values.dtype != np.float64:
            raise InvalidArgumentError(
                "values", f"float64 of shape {ids.shape}", f"{values.dtype} of shape {values.shape}"
            )
        if ids.size and (ids.min() < -1 or ids.max() >= self.n_rows):
            raise InvalidArgumentError(
                "ids", f"row ids from −1 to {self.n_rows - 1}", f"{ids.min()} to {ids.max()}"
            )
        if ids.shape[1] > 1 and np.any((ids[:, :-1] < 0) & (ids[:, 1:] >= 0)):
            raise InvalidArgumentError("ids", "padding only at the end of each row", "a gap")
        object.__setattr__(self, "ids", _frozen(ids))
        object.__setattr__(self, "values", _frozen(values))

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
