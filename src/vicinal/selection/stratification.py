"""Iterative stratification for multi-label data as a scikit-learn splitter.

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
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Int, row_ids
from vicinal._core.checks import check_flag, check_integer
from vicinal._core.labels import read_labels
from vicinal._core.validation import check_rows
from vicinal.errors import InvalidArgumentError


def spread_rows(evidence: Csr, n_folds: int, first_fold: Int) -> Int:
    """Return the fold of each row; those without evidence come last, each in the smallest fold.

    Cost: a few microseconds per row and a fraction of one per stored entry, whatever the number of
    labels. Memory: about 100 bytes per stored entry (Python lists) and 8 × n_folds per column.
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
    """Return the indicator of co-occurring label pairs, sorted, including each label with itself.

    Memory: 24 bytes for each pair of each row, ``c (c + 1) / 2`` pairs for a row of c labels.
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


@dataclass(frozen=True)
class IterativeStratification:
    """Cross-validation folds that preserve the label proportions of multi-label data.

    Parameters
    ----------
    n_splits : int
        The number of folds.
    order : {1, 2}
        1: distribute labels evenly (Sechidis et al. 2011); 2: also pairs of labels that occur
        together (Szymański & Kajdanowicz 2017).
    shuffle : bool
        Whether ties (equally rare labels, rows of a label, equally good folds) are broken at
        random. Otherwise they are broken by id, so the folds depend only on the labels.
    random_state : int or None
        Seed of the shuffle; None for a different seed every time.

    Notes
    -----
    Every row is in the test part of exactly one fold. Sizes are as even as the labels allow: rows
    without labels are placed last, in the smallest folds. Cost and memory: see
    :func:`vicinal.selection.stratification.spread_rows`.

    Examples
    --------
    >>> X, Y = np.zeros((6, 1)), [[1, 0], [1, 1], [1, 1], [1, 0], [0, 0], [0, 0]]
    >>> for train, test in IterativeStratification(n_splits=2).split(X, Y):
    ...     print(train, test)
    [2 3 5] [0 1 4]
    [0 1 4] [2 3 5]
    """

    n_splits: int = 10
    order: int = 1
    shuffle: bool = False
    random_state: int | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        check_integer("n_splits", self.n_splits, low=2)
        if check_integer("order", self.order) not in (1, 2):
            raise InvalidArgumentError("order", "1 or 2", self.order)
        check_flag("shuffle", self.shuffle)
        if self.random_state is not None:
            check_integer("random_state", self.random_state, low=0)
            if not self.shuffle:
                raise InvalidArgumentError("random_state", "None without shuffle", "a seed")

    def get_n_splits(self, X: object = None, y: object = None, groups: object = None) -> int:
        """Return the number of folds."""
        return self.n_splits

    def split(self, X: Any, y: Any, groups: object = None) -> Iterator[tuple[Int, Int]]:
        """Yield the training and the test rows of each fold, ascending.

        Parameters
        ----------
        X : array-like, n rows
            Only the number of rows is used.
        y : indicator, dense or sparse, or list of label-name collections
            Labels of the rows.
        groups : object
            Not used.
        """
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        fold_of = self.folds(read_labels(y, n_rows, name="y").matrix)
        for fold in range(self.n_splits):
            yield np.flatnonzero(fold_of != fold), np.flatnonzero(fold_of == fold)

    def folds(self, Y: Csr) -> Int:
        """Return the fold of each row of a canonical indicator."""
        n_rows = Y.shape[0]
        if n_rows < self.n_splits:
            expected = f"at most {n_rows}, the number of rows"
            raise InvalidArgumentError("n_splits", expected, self.n_splits)
        evidence = label_pairs(Y) if self.order == 2 else Y
        if not self.shuffle:
            return spread_rows(evidence, self.n_splits, np.zeros(n_rows, dtype=np.int64))
        rng = np.random.default_rng(self.random_state)
        rows, columns = rng.permutation(n_rows), rng.permutation(evidence.shape[1])
        first_fold = rng.integers(self.n_splits, size=n_rows)
        fold_of = np.empty(n_rows, dtype=np.int64)
        fold_of[rows] = spread_rows(evidence[rows][:, columns], self.n_splits, first_fold)
        return fold_of


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on and rows to test on, both ascending, none in both."""

    train: Int
    test: Int


def read_splits(cv: object, X: Any, Y: Csr, random_state: int | None = 0) -> list[Split]:
    """Return the splits that `cv` describes."""
    n_rows = int(Y.shape[0])
    text = isinstance(cv, str | bytes)
    if isinstance(cv, Iterable) and not text:
        pairs: Iterable[Any] = cv
    elif hasattr(cv, "split") and not text:
        pairs = cast("Any", cv).split(X, Y)
    else:
        n_folds, shuffle = check_integer("cv", cv, low=2), random_state is not None
        folds = IterativeStratification(n_folds, shuffle=shuffle, random_state=random_state)
        pairs = folds.split(np.empty((n_rows, 0)), Y)
    splits = [_checked(pair, n_rows) for pair in pairs]
    if not splits:
        raise InvalidArgumentError("cv", "at least one split", "none")
    return splits


def train_share(splits: Iterable[Split], n_rows: int) -> float:
    """Return the smallest share of rows that a split trains on."""
    return min(len(split.train) for split in splits) / n_rows


def _checked(pair: Any, n_rows: int) -> Split:
    """Return a validated split of existing rows without duplicates."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InvalidArgumentError("cv", "pairs of training and test rows", repr(pair))
    train, test = (np.sort(check_rows("cv", rows, n_rows)) for rows in pair)
    if len(train) == 0 or len(test) == 0:
        raise InvalidArgumentError("cv", "rows to train on and rows to test on", "none")
    both = np.concatenate([train, test])
    if len(np.unique(both)) < len(both):
        raise InvalidArgumentError("cv", "each row at most once in a split", "a row twice")
    return Split(train, test)
