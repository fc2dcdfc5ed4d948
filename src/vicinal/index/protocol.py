"""The index protocol that estimators use for searching.

Anything with these properties and methods can be searched: pass a factory ``(X, metric, n_jobs) ->
Index`` as ``algorithm=`` of an estimator, or give it a name with
:func:`vicinal.index.register_index`. Every index must satisfy this contract:

- **Order.** Neighbours are sorted by ascending distance or descending similarity, and ties by
  ascending row id. An exact index returns the neighbours and values of
  :mod:`vicinal.index.reference`.
- **Ids.** Rows are numbered from 0 in the order in which they were added. Ids are never reused,
  and removing a row does not change the ids of other rows.
- **Width.** A graph is `k` wide and padded with id −1 (:func:`vicinal.index._common.graph_width`
  gives the width if `k` exceeds the number of rows).
- **Threads.** Any number of threads may query at the same time.
"""

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeAlias, TypeGuard, runtime_checkable

from vicinal._core.arrays import Features, Int
from vicinal.graph import NeighborGraph


@runtime_checkable
class Index(Protocol):
    """Rows that can be searched."""

    @property
    def metric(self) -> str:
        """Name of the distance (:mod:`vicinal.distances`)."""

    @property
    def n_rows(self) -> int:
        """Number of row ids assigned so far: ids are in [0, n_rows)."""

    @property
    def n_features(self) -> int:
        """Number of features of a row."""

    @property
    def nbytes(self) -> int:
        """Memory in bytes, excluding the rows it was built from."""

    def query(self, Q: Any, k: int) -> NeighborGraph:
        """Return the `k` nearest rows for each row of `Q`, dense or sparse."""

    def query_self(self, k: int) -> NeighborGraph:
        """Return the `k` nearest other rows of each row; duplicates count as other rows.

        Query i is row i; a removed row has no neighbours and is not a neighbour of any row.
        """


@runtime_checkable
class MutableIndex(Index, Protocol):
    """An index that rows can be added to and removed from.

    Writers are serialised. A query that runs while rows change sees the rows either before or after
    the change, never a part of it. An :class:`Index` without these methods is rebuilt when rows
    change.
    """

    @property
    def is_mutable(self) -> bool:
        """Whether :meth:`add` and :meth:`remove` are supported by this index."""

    def add(self, rows: Any) -> Int:
        """Add rows and return their ids, which are the next free ones in order."""

    def remove(self, rows: Any) -> None:
        """Remove rows by id."""

    def compact(self) -> None:
        """Release the memory of removed rows now."""

    def copy(self) -> Self:
        """Return an independent copy of the index.

        Cheap, because both share unchanged data.
        """


IndexFactory: TypeAlias = Callable[[Features, str, int | None], Index]
"""Builds an index over checked rows, by the name of a distance and ``n_jobs``."""


def is_mutable(index: Index) -> TypeGuard[MutableIndex]:
    """Tell whether rows of an index can be added and removed."""
    return isinstance(index, MutableIndex) and index.is_mutable
