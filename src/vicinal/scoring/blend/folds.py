"""Folds of the training rows, for mixtures that score rows they have not seen."""

import numpy as np

from vicinal._base.arrays import Float, Int

N_FOLDS = 3
FEWEST = 20
"""True and false cells that a mixture with many parameters needs; with fewer it is convex."""


def row_folds(row_of: Int, random_state: int) -> Int:
    """Return the fold of each cell: rows are dealt out in random order."""
    n_rows = int(row_of.max()) + 1 if len(row_of) else 0
    fold: Int = np.random.default_rng(random_state).permutation(n_rows) % N_FOLDS
    return fold[row_of]


def can_learn(true: Float, row_of: Int, random_state: int) -> bool:
    """Tell whether the cells outside each fold hold enough true and false ones to learn from."""
    fold_of = row_folds(row_of, random_state)
    outside = [true[fold_of != fold] for fold in range(N_FOLDS)]
    return all(FEWEST <= cells.sum() <= len(cells) - FEWEST for cells in outside)
