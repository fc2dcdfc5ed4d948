"""Weighted sums of sparse rows, for instance and feature neighbours."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Float, Int, Int32
from vicinal._base.bare_csr import no_rows
from vicinal._base.checked_csr import checked_csr, with_values
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import thread_count
from vicinal._base.validation import csr_parts
from vicinal._native import SparseMatrix, row_sums
from vicinal.graph import NeighborGraph


@dataclass(frozen=True, eq=False)
class RowSums:
    """Weighted sums of rows, one per query, and the sums of their weights.

    Parameters
    ----------
    values : csr_array of float64, shape (n_queries, L)
    totals : ndarray of float64, shape (n_queries,)
        Sum of the weights. If it is 0, the sum of the query is empty.
    """

    values: Csr
    totals: Float

    def means(self) -> Csr:
        """Return the sums divided by their weights; a row without weight is empty, that is, 0.

        Examples
        --------
        >>> sums = sparse.csr_array(np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]]))
        >>> RowSums(sums, np.array([4.0, 0.0])).means().toarray()
        array([[0.25, 0.  , 0.75],
               [0.  , 0.  , 0.  ]])
        """
        if not np.isfinite(self.totals).all():
            raise InvalidArgumentError("values", "finite values", "NaN or infinity")
        per_entry = np.repeat(self.totals, np.diff(self.values.indptr))
        return with_values(self.values, self.values.data / per_entry)


def neighbor_weights(graph: NeighborGraph, power: float = 1.0) -> Float:
    r"""Return the weight of each neighbour: its similarity, 0 where that is negative, to a power.

    A Euclidean graph has distances *d* instead; their similarity is :math:`1 / (1 + d)`.

    Examples
    --------
    >>> ids = np.array([[1, 0]], dtype=np.int32)
    >>> neighbor_weights(NeighborGraph(ids, np.array([[0.5, -0.5]]), "cosine", n_rows=2))
    array([[0.5, 0. ]])
    >>> neighbor_weights(NeighborGraph(ids, np.array([[1.0, 3.0]]), "euclidean", n_rows=2))
    array([[0.5 , 0.25]])
    """
    if graph.distance_kind.is_similarity:
        similarity = np.maximum(graph.similarity, 0.0)
    else:
        similarity = 1.0 / (1.0 + graph.distance)
    return similarity if power == 1 else similarity**power


def neighbor_sums(
    graph: NeighborGraph,
    rows: Csr,
    ks: Iterable[int],
    start: RowSums | None = None,
    power: float = 1.0,
) -> Iterator[RowSums]:
    r"""Yield :math:`\sum_{a \in N(x)} w_a \, r_a` over the k nearest rows, for each k of `ks`.

    Parameters
    ----------
    graph : NeighborGraph
    rows : csr_array, shape (graph.n_rows, L)
        :math:`r_a`: a value per training row and label.
    ks : iterable of int
        Ascending, at most the graph's k. Each neighbour is added only once, nearest first.
    start : RowSums, optional
        Initial values of the sums.
    power : float
        Exponent of the similarities in the weights; see :func:`neighbor_weights`.

    Notes
    -----
    Memory: 12 bytes per query and label that one of its neighbours has, and 9 per label and thread.

    Examples
    --------
    >>> ids = np.array([[1, 0]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.array([[0.5, 0.25]]), "cosine", n_rows=2)
    >>> Y = sparse.csr_array(np.array([[1, 1], [0, 1]]))
    >>> [sums.values.toarray().tolist() for sums in neighbor_sums(graph, Y, [1, 2])]
    [[[0.0, 0.5]], [[0.25, 0.75]]]
    """
    if rows.shape[0] != graph.n_rows:
        raise InvalidArgumentError("rows", f"{graph.n_rows} rows", rows.shape[0])
    ids = np.ascontiguousarray(graph.ids).ravel()
    weights = neighbor_weights(graph, power).ravel()
    first = np.arange(graph.n_queries, dtype=np.int64) * graph.k
    last = first + graph.found
    done, sums = 0, start
    for k in ks:
        begin, end = np.minimum(first + done, last), np.minimum(first + k, last)
        sums = _added(begin, end, ids, weights, rows, sums)
        done = k
        yield sums


def combined_rows(weights: Csr, rows: Csr, aggregate: str) -> RowSums:
    r"""Return :math:`\sum_j w_{ij} r_j` for each row of `weights`, or the largest :math:`r_j`.

    Weights that are not positive are ignored; with ``aggregate="max"`` the others only select rows.

    Parameters
    ----------
    weights : csr_array, shape (n_queries, m)
    rows : csr_array, shape (m, L)
    aggregate : {"mean", "max", "kept-mean"}
        Sums for ``"mean"`` and ``"kept-mean"``, maxima for ``"max"``.

    Examples
    --------
    >>> weights = sparse.csr_array(np.array([[2.0, 1.0, 0.0]]))
    >>> rows = sparse.csr_array(np.array([[0.5, 0.0], [0.25, 1.0], [1.0, 1.0]]))
    >>> combined_rows(weights, rows, "mean").values.toarray()
    array([[1.25, 1.  ]])
    >>> combined_rows(weights, rows, "max").values.toarray()
    array([[0.5, 1. ]])
    """
    if weights.shape[1] != rows.shape[0]:
        raise InvalidArgumentError("X", f"{rows.shape[0]} features", weights.shape[1])
    indptr, indices = csr_parts(weights)
    values = np.ascontiguousarray(weights.data[: indptr[-1]], dtype=np.float64)
    return _added(indptr[:-1], indptr[1:], indices, values, rows, take_max=aggregate == "max")


def native_matrix(matrix: Csr) -> SparseMatrix:
    """Return a canonical matrix for the compiled core."""
    indptr, indices = csr_parts(matrix)
    values = np.ascontiguousarray(matrix.data[: indptr[-1]], dtype=np.float64)
    return SparseMatrix(indptr, indices, values, matrix.shape[1])


def _added(
    begin: Int,
    end: Int,
    ids: Int32,
    weights: Float,
    rows: Csr,
    start: RowSums | None = None,
    *,
    take_max: bool = False,
) -> RowSums:
    """Call the compiled loop; `begin` and `end` delimit each query's `ids` and `weights`."""
    before = start or RowSums(no_rows(int(rows.shape[1])), np.empty(0))
    indptr, indices, values, totals = row_sums(
        begin,
        end,
        ids,
        weights,
        native_matrix(rows),
        take_max,
        native_matrix(before.values),
        before.totals,
        thread_count(),
    )
    shape = (len(begin), int(rows.shape[1]))
    if indptr[-1] < 2**31 - 1:
        return RowSums(checked_csr(values, indices, indptr, shape), totals)
    sums: Csr = sparse.csr_array((values, indices, indptr), shape=shape)
    sums.has_canonical_format = True
    return RowSums(sums, totals)
