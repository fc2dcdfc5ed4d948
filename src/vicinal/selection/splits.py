"""Training and test rows, from any form of `cv` that a caller may pass."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from vicinal._base.arrays import Csr, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_integer, check_rows
from vicinal.selection.folds import IterativeStratification


@dataclass(frozen=True, eq=False)
class Split:
    """Rows to train on and rows to test on, both ascending, none in both."""

    train: Int
    test: Int


def read_splits(cv: object, X: Any, Y: Csr, random_state: int | None = 0) -> list[Split]:
    """Return the splits that `cv` describes.

    Parameters
    ----------
    cv : int, splitter, or iterable of (train, test)
        An int is the number of folds of a shuffled :class:`IterativeStratification`; a splitter is
        a scikit-learn splitter; row ids may be in any order.
    X : rows
        Only the number of rows is used.
    Y : csr_array, shape (n, L)
    random_state : int or None
        Seed of the shuffle.

    Examples
    --------
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.ones((4, 1), dtype=np.int32))
    >>> (split,) = read_splits([([3, 0], [2])], Y, Y)
    >>> split.train, split.test
    (array([0, 3]), array([2]))
    """
    n_rows = int(Y.shape[0])
    text = isinstance(cv, str | bytes)
    if isinstance(cv, Iterable) and not text:
        pairs: Iterable[Any] = cv
    elif hasattr(cv, "split") and not text:
        pairs = cast("Any", cv).split(X, Y)
    else:
        folds = IterativeStratification(
            check_integer("cv", cv, low=2),
            shuffle=random_state is not None,
            random_state=random_state,
        )
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
