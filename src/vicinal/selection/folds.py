"""Iterative stratification for multi-label data as a scikit-learn splitter."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from vicinal._base.arrays import Csr, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.labels import read_labels
from vicinal._base.validation import check_flag, check_integer
from vicinal.selection.stratification import label_pairs, spread_rows


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
        random. Otherwise they are broken by id, so that the folds depend only on the labels.
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
            raise InvalidArgumentError("y", f"at least n_splits={self.n_splits} rows", n_rows)
        evidence = label_pairs(Y) if self.order == 2 else Y
        if not self.shuffle:
            return spread_rows(evidence, self.n_splits, np.zeros(n_rows, dtype=np.int64))
        rng = np.random.default_rng(self.random_state)
        rows, columns = rng.permutation(n_rows), rng.permutation(evidence.shape[1])
        first_fold = rng.integers(self.n_splits, size=n_rows)
        fold_of = np.empty(n_rows, dtype=np.int64)
        fold_of[rows] = spread_rows(evidence[rows][:, columns], self.n_splits, first_fold)
        return fold_of
