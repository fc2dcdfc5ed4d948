"""The leave-one-out graph of a model that learns and forgets rows one at a time.

Similarity is symmetric, so one pass over the rows that share a feature with a new row finds both
its neighbours and the rows whose lists it enters: those where it is nearer than the last entry.
Only these lists and ML-kNN's vote tables are updated. After every step lists and tables equal those
of a fresh fit, bit for bit.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vicinal._core.arrays import Bool, Csr, Features, Int, Int32
from vicinal._core.validation import as_csr, csr_parts
from vicinal._native import LiveGraphFloat32, LiveGraphFloat64
from vicinal.distances import get_distance
from vicinal.graph import NeighborGraph
from vicinal.index.training_rows import TrainingRows

SPARE = 6
"""Extra neighbours per list: a list is searched again only after this many of its rows were
forgotten."""
MOST_DENSE_CELLS = 2**24
"""The graph stores dense rows as sparse ones, up to this many cells: 192 MiB."""


@dataclass(frozen=True, eq=False)
class VoteGroups:
    """Groups of rows whose votes are counted apart, such as the clusters of LAML-kNN.

    Parameters
    ----------
    count : int
        Number of groups.
    of_rows : ndarray of int32
        The group of each row.
    """

    count: int
    of_rows: Int32


class LiveGraph:
    """Neighbour lists, and the numbers of rows with and without each label that got j votes for it.

    Parameters
    ----------
    rows : TrainingRows
        Without empty places.
    graph : NeighborGraph
        Their leave-one-out graph, with at least `k` neighbours or all other rows.
    Y : csr_array of int32, shape (n, L)
    k : int
    groups : VoteGroups or None
        None for one group.

    Notes
    -----
    Memory: 28 bytes per entry of the rows (16 where they are float32), 16 per row and neighbour
    (`k` + ``SPARE``), 58 per row, 25 per feature, 16 per group, label and neighbour; and up to an
    eighth of that as room to grow. Where all rows are whole numbers of at least 0, entries 1 of the
    64 most frequent features take 12 bytes (8).
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
        """Forget the row at a place, which stays empty; `rows` are the rows without it.

        Lists that became too short get further neighbours from the index of `rows`.
        """
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
        return NeighborGraph(ids, values, self._metric, n_rows)


def can_follow(rows: TrainingRows, dtype: np.dtype[np.generic]) -> bool:
    """Tell whether a live graph can store these rows and further ones of a number type."""
    is_dense = isinstance(rows.X, np.ndarray)
    if is_dense and rows.X.size > MOST_DENSE_CELLS:
        return False
    exact: NDArray[np.bool_] | bool = np.can_cast(dtype, rows.X.dtype, "safe")
    return bool(exact)
