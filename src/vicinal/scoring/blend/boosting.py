"""The mixture by gradient boosting: from what the parts say of a cell to its probability.

Each of K folds of the training rows has a model trained on the other folds, which stops where the
fold's own log loss no longer falls. Their mean log-odds are the mixture, and the training rows get
the scores of the models that have not seen them: thresholds need no further fit.
"""

from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np

from vicinal._base.arrays import Bool, Float, Int
from vicinal._base.threads import library_threads
from vicinal.scoring.blend.folds import N_FOLDS, repeats_for, row_folds
from vicinal.scoring.blend.trees import Cells, Trees

ROUNDS = 200
RATE = 0.1
LEAVES = 15
SMALLEST_LEAF = 50
PATIENCE = 10
CELLS_FOR_THREADS = 50_000
"""Cells from which on more than one thread makes boosting faster."""


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
    from sklearn.ensemble import HistGradientBoostingClassifier

    repeats = repeats_for(len(cells))
    models, held_out = [], np.zeros(len(cells))
    with library_threads(1 if len(cells) < CELLS_FOR_THREADS else None):
        for repeat in range(repeats):
            fold_of = row_folds(row_of, random_state, repeat)
            for fold in range(N_FOLDS):
                out = fold_of == fold
                model = HistGradientBoostingClassifier(
                    max_iter=ROUNDS,
                    learning_rate=RATE,
                    max_leaf_nodes=LEAVES,
                    min_samples_leaf=SMALLEST_LEAF,
                    l2_regularization=1.0,
                    early_stopping=True,
                    n_iter_no_change=PATIENCE,
                    random_state=random_state,
                )
                models.append(_fit(model, cells, true, out))
                trees = Trees.of_boosting([model], cells.shape[1])
                held_out[out] += trees.log_odds(cells[out]) / repeats
    return CrossFitted(Trees.of_boosting(models, cells.shape[1]), held_out)


def _fit(model: Any, cells: Cells, true: Float, out: Bool) -> Any:
    """Fit on the cells that are not held out, and stop by those that are.

    scikit-learn before 1.7 takes no cells to stop by: it stops by a tenth of the others, drawn at
    random, or, where either class has too few of them, not at all.
    """
    if "X_val" in signature(model.fit).parameters:
        return model.fit(cells[~out], true[~out], X_val=cells[out], y_val=true[out])
    n_positive = int(np.count_nonzero(true[~out]))
    enough = min(n_positive, int(np.count_nonzero(~out)) - n_positive) >= 20
    return model.set_params(early_stopping=enough).fit(cells[~out], true[~out])
