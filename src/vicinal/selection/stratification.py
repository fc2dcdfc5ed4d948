"""Distribute rows over folds so that each label, or each pair of labels, is spread evenly.

Labels are processed from the rarest to the most frequent, because a rare label can only be spread
while its rows are still unassigned. Each row of the label goes to the fold that lacks the label
most and, among those, to the fold that lacks rows most. All folds should be equally large, so the
fold that lacks most is the one that has least, and the counts are integers.

References
----------
K. Sechidis, G. Tsoumakas, I. Vlahavas, "On the stratification of multi-label data", ECML PKDD 2011.
P. Szymański, T. Kajdanowicz, "A network perspective on stratification of multi-label data",
LIDTA 2017.
"""

import heapq

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Int, row_ids


def spread_rows(evidence: Csr, n_folds: int, first_fold: Int) -> Int:
    """Return the fold of each row.

    Parameters
    ----------
    evidence : csr_array of shape (n, m)
        What to distribute: labels or pairs of labels (:func:`label_pairs`). Equally rare columns
        are processed in column order, and the rows of a column in row order.
    n_folds : int
    first_fold : ndarray of int64, shape (n,)
        Among equally good folds for a row, the first one counting cyclically from this fold is
        taken.

    Notes
    -----
    Rows without evidence are placed last, each in the smallest fold. If there are at least as many
    rows as folds, no fold is empty, because an empty fold lacks most of everything.

    Cost: a few microseconds per row and a fraction of one per stored entry, whatever the number of
    labels. Memory: about 100 bytes per stored entry (Python lists) and 8 × n_folds per column.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 1], [1, 1], [1, 0], [0, 0], [0, 0]]))
    >>> spread_rows(Y, 2, np.zeros(6, dtype=np.int64)).tolist()
    [0, 0, 1, 1, 0, 1]
    """
    state = _Spread(evidence, n_folds, first_fold)
    rarest = _Rarest(np.bincount(evidence.indices, minlength=evidence.shape[1]).tolist())
    by_column = sparse.csc_array(evidence)
    rows, starts = by_column.indices.tolist(), by_column.indptr.tolist()
    n_labelled = int(np.count_nonzero(np.diff(evidence.indptr)))
    while state.n_placed < n_labelled:
        column = rarest.pop()
        of_column = rows[starts[column] : starts[column + 1]]
        rarest.lower([each for row in of_column for each in state.place(row, column)])
    for row in np.flatnonzero(np.diff(evidence.indptr) == 0).tolist():
        state.place(row, None)
    return np.array(state.fold_of, dtype=np.int64)


class _Rarest:
    """The columns, sorted by the number of rows still to be placed, fewest first.

    A heap of (count, column) as one integer, count × columns + column: compact and fast to update.
    """

    def __init__(self, counts: list[int]) -> None:
        self._left = counts
        self._n = len(counts)
        self._heap = [count * self._n + column for column, count in enumerate(counts) if count]
        heapq.heapify(self._heap)

    def pop(self) -> int:
        """Return the column with the fewest rows left; there must be one."""
        while True:
            count, column = divmod(heapq.heappop(self._heap), self._n)
            if count == self._left[column]:
                return column
            # Otherwise an outdated entry: the column was pushed again when its count decreased.

    def lower(self, columns: list[int]) -> None:
        """Decrease the count of each column by one for every time it is listed."""
        for column in columns:
            self._left[column] -= 1
        for column in set(columns):
            if self._left[column]:
                heapq.heappush(self._heap, self._left[column] * self._n + column)


class _Spread:
    """The folds while they are filled. Plain lists, because rows are placed one by one."""

    def __init__(self, evidence: Csr, n_folds: int, first_fold: Int) -> None:
        n_rows, n_columns = evidence.shape
        self.fold_of = [-1] * n_rows
        self.n_placed = 0
        self._sizes = [0] * n_folds
        self._held = [[0] * n_folds for _ in range(n_columns)]
        self._columns = evidence.indices.tolist()
        self._starts = evidence.indptr.tolist()
        self._first_fold = first_fold.tolist()

    def place(self, row: int, column: int | None) -> list[int]:
        """Place a row of a column; return the row's columns, or none if it was already placed."""
        if self.fold_of[row] >= 0:
            return []
        fold = self._best(self._sizes if column is None else self._held[column], row)
        self.fold_of[row] = fold
        self.n_placed += 1
        self._sizes[fold] += 1
        columns: list[int] = self._columns[self._starts[row] : self._starts[row + 1]]
        for each in columns:
            self._held[each][fold] += 1
        return columns

    def _best(self, held: list[int], row: int) -> int:
        """Return the fold with the least of the column, then the fewest rows, then the first."""
        least = min(held)
        folds = [fold for fold, count in enumerate(held) if count == least]
        if len(folds) == 1:
            return folds[0]
        smallest = min([self._sizes[fold] for fold in folds])
        folds = [fold for fold in folds if self._sizes[fold] == smallest]
        first = self._first_fold[row]
        return next((fold for fold in folds if fold >= first), folds[0])


def label_pairs(Y: Csr) -> Csr:
    """Return the indicator of co-occurring label pairs, including each label with itself.

    Columns are in the order of (lower label, higher label).

    Notes
    -----
    Memory: 24 bytes for each pair of each row, ``c (c + 1) / 2`` pairs for a row of c labels.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0, 1], [0, 0, 1]]))
    >>> label_pairs(Y).toarray()  # (0, 0), (0, 2), (2, 2)
    array([[1, 1, 1],
           [0, 0, 1]], dtype=int32)
    """
    n_rows, n_labels = Y.shape
    # Each stored entry is paired with the entries from itself to the end of its row.
    ends = np.repeat(Y.indptr[1:], np.diff(Y.indptr)).astype(np.int64)
    meets = ends - np.arange(Y.nnz)
    lower = np.repeat(np.arange(Y.nnz), meets)
    higher = lower + np.arange(len(lower)) - np.repeat(np.cumsum(meets) - meets, meets)
    ids = Y.indices[lower].astype(np.int64) * n_labels + Y.indices[higher]
    pairs, columns = np.unique(ids, return_inverse=True)
    cells = row_ids(Y)[lower], columns
    ones = np.ones(len(columns), dtype=np.int32)
    return sparse.csr_array((ones, cells), shape=(n_rows, len(pairs)))
