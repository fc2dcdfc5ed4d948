"""Folds of the training rows, for mixtures that score rows they have not seen."""

import numpy as np

from vicinal._base.arrays import Float, Int

N_FOLDS = 3
MANY_CELLS = 120_000
"""Cells past half of which rows are dealt out once."""
FEWEST = 20
"""True and false cells that a mixture with many parameters needs; with fewer it is convex."""

FEWEST_CELLS = 200
"""Cells outside a fold below which the mixture is convex: a tree of boosting splits no fewer than
100, and one that does not split scores all rows and labels alike."""


def row_folds(row_of: Int, random_state: int, repeat: int = 0) -> Int:
    """Return the fold of each cell: rows are dealt out in random order, anew for each repeat."""
    n_rows = int(row_of.max()) + 1 if len(row_of) else 0
    fold: Int = np.random.default_rng([random_state, repeat]).permutation(n_rows) % N_FOLDS
    return fold[row_of]


def repeats_for(n_cells: int) -> int:
    """Return how often rows are dealt out into folds: more often where cells are few.

    The mean of more models varies less, and with few cells they cost little.

    Examples
    --------
    >>> repeats_for(1_000), repeats_for(50_000), repeats_for(500_000)
    (3, 2, 1)
    """
    return int(np.clip(MANY_CELLS // max(n_cells, 1), 1, 3))


def can_learn(true: Float, row_of: Int, random_state: int) -> bool:
    """Tell whether the cells outside each fold hold enough true and false ones to learn from."""
    fold_of = row_folds(row_of, random_state)
    outside = [true[fold_of != fold] for fold in range(N_FOLDS)]
    return all(
        len(cells) >= FEWEST_CELLS and FEWEST <= cells.sum() <= len(cells) - FEWEST
        for cells in outside
    )
