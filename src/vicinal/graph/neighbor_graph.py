"""The value every method shares."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Float, Int32
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import METRICS, check_integer, check_option


@dataclass(frozen=True, eq=False)
class NeighborGraph:
    """The k nearest training rows of each query, nearest first.

    Rows are sorted by (distance rising, or similarity falling; then row id rising) and padded at
    the end with id −1. The arrays are read-only.

    Parameters
    ----------
    ids : ndarray of int32, shape (n_queries, k)
        Training row ids; −1 where there is no further candidate.
    values : ndarray of float64, shape (n_queries, k)
        Distance for ``"euclidean"`` (inf where there is none), similarity for ``"cosine"`` and
        ``"dot"`` (0 where there is none).
    metric : {"euclidean", "cosine", "dot"}
        What `values` holds.
    n_rows : int
        Number of training rows, so that ids lie in [0, n_rows).

    Notes
    -----
    Memory: 12 bytes a query and neighbour.

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

    def __post_init__(self) -> None:
        """Check the arrays against each other and freeze them."""
        check_option("metric", self.metric, METRICS)
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
            raise InvalidArgumentError("ids", "padding at the end of each row only", "a gap")
        object.__setattr__(self, "ids", _frozen(ids))
        object.__setattr__(self, "values", _frozen(values))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        return int(self.ids.shape[0])

    @property
    def k(self) -> int:
        """Width: the most neighbours a query can have here."""
        return int(self.ids.shape[1])

    @property
    def found(self) -> Int32:
        """How many neighbours each query has, at most k."""
        found: Int32 = np.count_nonzero(self.ids >= 0, axis=1).astype(np.int32)
        return found

    @property
    def similarity(self) -> Float:
        """Similarities, for the metrics that have them."""
        if self.metric == "euclidean":
            raise AttributeError("a euclidean graph has .distance, not .similarity")
        return self.values

    @property
    def distance(self) -> Float:
        """Distances, for the metric that has them."""
        if self.metric != "euclidean":
            raise AttributeError(f"a {self.metric} graph has .similarity, not .distance")
        return self.values

    def prefix(self, k: int) -> "NeighborGraph":
        """Return the graph of the k nearest, a view of this one: equal to a fresh search at k."""
        k = check_integer("k", k, low=1)
        if k > self.k:
            raise InvalidArgumentError("k", f"at most the graph's {self.k}", k)
        if k == self.k:
            return self
        return NeighborGraph(self.ids[:, :k], self.values[:, :k], self.metric, self.n_rows)


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view
