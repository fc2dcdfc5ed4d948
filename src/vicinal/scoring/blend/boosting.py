"""The mixture by gradient boosting: from the parts' scores of a cell to its probability.

Each of K folds of the training rows has a model trained on the other folds, which stops where the
fold's own log loss no longer falls. Their mean log-odds are the mixture, and the training rows get
the scores of the models that have not seen them: thresholds need no further fit.
"""

from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Float, Int
from vicinal._base.threads import thread_count
from vicinal._native import MOST_BINS, boosted_trees
from vicinal.scoring.blend.folds import N_FOLDS, repeats_for, row_folds
from vicinal.scoring.blend.trees import Cells, Trees

PATIENCE = 10
L2 = 1.0
LEAST_CURVATURE = 1.0
"""Sum of p (1 − p) that both sides of a split must have."""
SAMPLED_CELLS = 20_000
"""Cells that the bins of a column are made by."""


@dataclass(frozen=True)
class Pace:
    """How a model learns.

    Parameters
    ----------
    n_rounds : int
        Trees at most.
    rate : float
        What the value of a leaf is multiplied by.
    n_leaves : int
    """

    n_rounds: int
    rate: float
    n_leaves: int


SMALL_STEPS = Pace(200, 0.1, 15)
LARGE_STEPS = Pace(40, 0.2, 63)
"""As good where cells are many, in a third of the time: most of a tree's time is for its root."""
MANY_CELLS = 150_000


def pace_for(n_cells: int) -> Pace:
    """Return how to learn from so many cells."""
    return LARGE_STEPS if n_cells > MANY_CELLS else SMALL_STEPS


@dataclass(frozen=True, eq=False)
class CrossFitted:
    """Trees, and the log-odds of the training cells by models that were not trained on them."""

    trees: Trees
    held_out: Float


def fit_boosting(cells: Cells, true: Float, row_of: Int, random_state: int) -> CrossFitted:
    """Fit the mixture on leave-one-out cells.

    Parameters
    ----------
    cells : ndarray of float32, shape (n_cells, n_columns)
    true : ndarray of float64, shape (n_cells,)
    row_of : ndarray of int64, shape (n_cells,)
        The training row of each cell: rows, not cells, are put into folds.
    random_state : int
    """
    pace = pace_for(len(cells))
    folds = [row_folds(row_of, random_state, repeat) for repeat in range(repeats_for(len(cells)))]
    feature, threshold, left, right, roots, base, held_out = boosted_trees(
        np.ascontiguousarray(cells),
        true.astype(np.uint8),
        bin_thresholds(cells),
        np.stack(folds).astype(np.uint8),
        n_folds=N_FOLDS,
        n_rounds=pace.n_rounds,
        n_leaves=pace.n_leaves,
        patience=PATIENCE,
        rate=pace.rate,
        l2=L2,
        least_curvature=LEAST_CURVATURE,
        n_threads=thread_count(),
    )
    trees = Trees(feature, threshold, left, right, roots, base, cells.shape[1])
    return CrossFitted(trees, held_out)


def bin_thresholds(cells: Cells) -> Cells:
    """Return the values that divide each column into bins of about as many cells.

    Infinite where a column has fewer values. Shape (n_columns, ``MOST_BINS`` − 1).

    Examples
    --------
    >>> bin_thresholds(np.array([[0.0], [2.0], [2.0]], dtype=np.float32))[0, :2]
    array([ 0., inf], dtype=float32)
    """
    sample = np.sort(cells[:: -(-len(cells) // SAMPLED_CELLS) or 1], axis=0)
    thresholds = np.full((cells.shape[1], MOST_BINS - 1), np.inf, dtype=np.float32)
    places = np.linspace(0, len(sample) - 1, MOST_BINS).astype(np.int64)[:-1]
    for column, values in enumerate(sample.T):
        distinct = np.unique(values)
        edges = distinct[:-1]
        if len(distinct) > MOST_BINS:
            edges = np.unique(values[places])
            edges = edges[edges < distinct[-1]]
        thresholds[column, : len(edges)] = edges
    return thresholds
