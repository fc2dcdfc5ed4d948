"""The folds of a comparison: which rows, how they are preprocessed, how deep they are searched."""

from collections.abc import Sequence
from typing import TypeAlias

from scipy import sparse

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_integer
from vicinal.comparison.candidates import Candidate
from vicinal.datasets import Dataset
from vicinal.preprocess import make_steps
from vicinal.selection.fold_source import PreparedFolds, Widths
from vicinal.selection.splits import Split, read_splits

Folds: TypeAlias = int | str
SPLIT = "split"


def fold_splits(dataset: Dataset, folds: Folds, seed: int | None) -> list[Split]:
    """Return the training and test rows of each fold: the published split, or shuffled folds.

    Folds keep the labels in proportion (:class:`vicinal.selection.IterativeStratification`).
    """
    if folds == SPLIT:
        if dataset.train is None or dataset.test is None:
            expected = f"a number: {dataset.source or 'the data'} has no published split"
            raise InvalidArgumentError("folds", expected, repr(SPLIT))
        return [Split(dataset.train, dataset.test)]
    return read_splits(check_integer("folds", folds, low=2), dataset.X, dataset.Y, seed)


def count_folds(folds: Folds) -> int:
    """Return how many folds are asked for, checked."""
    if folds == SPLIT:
        return 1
    if isinstance(folds, str):
        raise InvalidArgumentError("folds", "a number of folds, or 'split'", repr(folds))
    return check_integer("folds", folds, low=2)


def prepared_folds(
    dataset: Dataset,
    splits: Sequence[Split],
    candidates: Sequence[Candidate],
    preprocess: str,
    n_jobs: int | None,
) -> PreparedFolds:
    """Return folds preprocessed by their training rows, searched as deep as any method asks for.

    Memory: 12 bytes per row and neighbour.
    """
    widest: dict[str, int] = {}
    for each in candidates:
        widest[each.distance] = max(each.n_neighbors, widest.get(each.distance, 0))
    steps = make_steps(preprocess, sparse.issparse(dataset.X))
    return PreparedFolds(dataset.X, dataset.Y, splits, Widths(widest), steps, n_jobs)
