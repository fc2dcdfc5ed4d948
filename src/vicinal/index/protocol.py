"""What an index is: the protocol that estimators search through.

Anything with these properties and methods can be searched: pass a factory
``(X, metric, n_jobs) -> Index`` as ``algorithm=`` of an estimator, or give it a name with
:func:`vicinal.index.register_index`. The contract of the answers:

- **Order.** Neighbours are sorted by distance ascending or similarity descending, equal ones by row id
  ascending. An exact index returns the neighbours and values of :mod:`vicinal.index.reference`.
- **Ids.** Rows are numbered from 0 in the order in which they came. An id is never given twice;
  those of other rows stay when a row is removed.
- **Width.** A graph is `k` wide and padded with id −1 (:func:`vicinal.index.widths.graph_width`
  says how wide where `k` exceeds the number of rows).
- **Threads.** Any number of threads may query at the same time.
"""

from collections.abc import Callable
from typing import Any, Protocol, Self, TypeAlias, TypeGuard, runtime_checkable

from vicinal._base.arrays import Features, Int
from vicinal.graph.neighbor_graph import NeighborGraph


@runtime_checkable
class Index(Protocol):
    """Rows that can be searched."""

    @property
    def metric(self) -> str:
        """Name of the distance (:mod:`vicinal.distances`)."""

    @property
    def n_rows(self) -> int:
        """Number of row ids given so far: ids lie in [0, n_rows)."""

    @property
    def n_features(self) -> int:
        """Number of features of a row."""

    @property
    def nbytes(self) -> int:
        """Memory in bytes, the rows it was given not counted."""

    def query(self, Q: Any, k: int) -> NeighborGraph:
        """Return the `k` nearest rows for each row of `Q`, dense or sparse."""

    def query_self(self, k: int) -> NeighborGraph:
        """Return the `k` nearest other rows for each row; a duplicate is another row.

        Query i is row i; a removed row has no neighbours, and is nobody's.
        """


@runtime_checkable
class MutableIndex(Index, Protocol):
    """An index that rows can be added to and removed from.

    Writers are serialised. A query that is under way when rows change answers for the rows from
    before or after the change, never for a part of it. An :class:`Index` without these methods is
    built again when rows change.
    """

    @property
    def is_mutable(self) -> bool:
        """Whether :meth:`add` and :meth:`remove` are possible as the index was set up."""

    def add(self, rows: Any) -> Int:
        """Index more rows and return their ids: the next ones, in order."""

    def remove(self, rows: Any) -> None:
        """Remove rows by id."""

    def compact(self) -> None:
        """Release the memory of removed rows now."""

    def copy(self) -> Self:
        """Return an index of the same rows; changes of one leave the other as it is.

        Cheap: the two share what neither changes.
        """


IndexFactory: TypeAlias = Callable[[Features, str, int | None], Index]
"""Builds an index over checked rows, by the name of a distance and ``n_jobs``."""


def is_mutable(index: Index) -> TypeGuard[MutableIndex]:
    """Tell whether rows of an index can change."""
    return isinstance(index, MutableIndex) and index.is_mutable
