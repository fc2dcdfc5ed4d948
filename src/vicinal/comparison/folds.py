"""The folds of a comparison: rows, preprocessing and neighbour search."""

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_integer
from vicinal.comparison.candidates import Candidate
from vicinal.comparison.compared_data import ComparedData
from vicinal.results.digest import digest_of, plain
from vicinal.selection.fold_source import PreparedFolds, Widths
from vicinal.selection.grid import Search
from vicinal.selection.splits import Split, read_splits

Folds: TypeAlias = Any
"""A number, ``"split"``, a scikit-learn splitter, or pairs of training and test rows."""
SPLIT = "split"


def fold_splits(dataset: ComparedData, folds: Folds, seed: int | None) -> list[Split]:
    """Return the training and test rows of each fold.

    A number of folds gives stratified folds (:class:`vicinal.selection.IterativeStratification`).
    """
    if is_custom(folds):
        rows = np.empty((dataset.Y.shape[0], 0))
        return read_splits(folds, rows, dataset.Y, seed)
    if folds == SPLIT:
        if dataset.train is None or dataset.test is None:
            expected = f"a number: {dataset.source or 'the data'} has no published split"
            raise InvalidArgumentError("folds", expected, repr(SPLIT))
        return [Split(dataset.train, dataset.test)]
    return read_splits(check_integer("folds", folds, low=2), dataset.X, dataset.Y, seed)


def is_custom(folds: Folds) -> bool:
    """Tell whether folds are the caller's own: a splitter, or pairs of rows."""
    return not isinstance(folds, str) and (hasattr(folds, "split") or isinstance(folds, Iterable))


def read_folds(folds: Folds) -> Folds:
    """Return folds that can be iterated more than once."""
    return folds if hasattr(folds, "split") or not is_custom(folds) else list(folds)


def folds_text(folds: Folds) -> str:
    """Return a text that identifies a caller's own folds.

    Examples
    --------
    >>> folds_text(10), folds_text([([0], [1])]) == folds_text([([1], [0])])
    ('10', False)
    """
    if isinstance(folds, list):
        rows = [np.asarray(each, dtype=np.int64) for pair in folds for each in pair]
        return digest_of(*rows)[:16]
    return str(plain(folds))


def count_folds(folds: Folds) -> int:
    """Return the validated number of folds."""
    if folds == SPLIT:
        return 1
    if is_custom(folds):
        return len(folds) if isinstance(folds, list) else int(folds.get_n_splits())
    if isinstance(folds, str):
        raise InvalidArgumentError("folds", "a number of folds, or 'split'", repr(folds))
    return check_integer("folds", folds, low=2)


def prepared_folds(
    dataset: ComparedData,
    splits: Sequence[Split],
    candidates: Sequence[Candidate],
    preprocess: object,
    n_jobs: int | None,
) -> PreparedFolds:
    """Return folds preprocessed on their training rows, with the neighbours all methods need.

    Memory: 12 bytes per row and neighbour.
    """
    widest: dict[Search, int] = {}
    for each in candidates:
        widest[each.search] = max(each.n_neighbors, widest.get(each.search, 0))
    steps = dataset.preprocessing(preprocess)
    return PreparedFolds(dataset.X, dataset.Y, splits, Widths(widest), steps, n_jobs)
