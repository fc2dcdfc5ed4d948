r"""Label counts among the neighbours.

.. math:: C_x(l) = \sum_{a \in N(x)} y_a(l)

Only labels that a neighbour has are stored, so the cost does not depend on the number of labels.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Float
from vicinal._base.checked_csr import checked_csr
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import thread_count
from vicinal._base.validation import canonical_csr, check_integer, csr_parts
from vicinal._native import VoteTable
from vicinal.graph.neighbor_graph import NeighborGraph

FEW_QUERIES = 1024
"""Up to this many queries, all neighbours are counted at once; for more, one position at a time."""


def votes(graph: NeighborGraph, Y: Csr, k: int | None = None, *, n_jobs: int | None = None) -> Csr:
    """Count how many of the k nearest rows have each label.

    Parameters
    ----------
    graph : NeighborGraph
    Y : csr_array, shape (graph.n_rows, L)
        Label indicator; every stored entry counts as one.
    k : int or None
        At most the graph's k; None for the graph's k.
    n_jobs : int or None
        Threads, as for :func:`vicinal._base.threads.thread_count`.

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
    """Yield :func:`votes` for each k of `ks` in turn, counting each neighbour only once in total.

    Parameters
    ----------
    graph, Y, n_jobs
        As for :func:`votes`.
    ks : iterable of int or None
        Ascending, each from 1 to the graph's k; None for 1, 2, …, k.

    Examples
    --------
    >>> ids = np.array([[2, 0]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.zeros((1, 2)), "cosine", n_rows=3)
    >>> Y = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]]))
    >>> [counts.toarray().tolist() for counts in votes_by_k(graph, Y)]
    [[[0, 1, 0]], [[1, 2, 0]]]
    """
    widths = list(range(1, graph.k + 1)) if ks is None else _check_widths(ks, graph.k)
    labels = _check_labels(graph, Y)
    return _steps(graph, labels, widths, thread_count(n_jobs))


def neighbor_cardinality(graph: NeighborGraph, Y: Csr, k: int | None = None) -> Float:
    """Return the mean number of labels of the k nearest rows, 0 for a query without neighbours.

    Examples
    --------
    >>> ids = np.array([[2, 0], [1, -1]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.zeros((2, 2)), "cosine", n_rows=3)
    >>> Y = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]]))
    >>> neighbor_cardinality(graph, Y)
    array([1.5, 1. ])
    """
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
    """Return :func:`neighbor_cardinality` of a graph whose :func:`votes` are known.

    A neighbour has one vote for each of its labels.

    Examples
    --------
    >>> ids = np.array([[2, 0], [1, -1]], dtype=np.int32)
    >>> graph = NeighborGraph(ids, np.zeros((2, 2)), "cosine", n_rows=3)
    >>> Y = sparse.csr_array(np.array([[1, 1, 0], [0, 0, 1], [0, 1, 0]]))
    >>> cardinality_of(votes(graph, Y), graph)
    array([1.5, 1. ])
    """
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
        yield _counts(table, shape)


def _counts(table: VoteTable, shape: tuple[int, int]) -> Csr:
    indptr, indices, counts = table.counts()
    if indptr[-1] < 2**31 - 1:
        return checked_csr(counts, indices, indptr, shape)
    matrix: Csr = sparse.csr_array((counts, indices, indptr), shape=shape)
    matrix.has_canonical_format = True
    return matrix


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
