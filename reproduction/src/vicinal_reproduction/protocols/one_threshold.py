"""Mulan's OneThreshold: one threshold for all labels, fitted without leaving rows out.

Mulan fits it on the trained method's scores of its own training rows. These are queried like any
other row, so a neighbour method finds the row itself first. Such scores are more confident than
those of new rows, and the threshold differs from one fitted on leave-one-out scores.
"""

from typing import Any

import numpy as np

from vicinal._core.arrays import Csr
from vicinal.decision import Threshold
from vicinal.decision._cells import ScoredTruth
from vicinal.graph import NeighborGraph
from vicinal.methods.fold import Fold, fit_on
from vicinal.scores import Scores
from vicinal_reproduction.protocols.measuring import training_features


def one_threshold(scores: Scores, Y: Csr) -> Threshold:
    """Return the best threshold for micro-F1 among 0, 0.1, …, 1, refined by ± 0.05.

    The first of equal values wins, and a score equal to the threshold is predicted.

    Examples
    --------
    The labels score 0.9 and 0.6, a wrong one 0.3: 0.4 is the first best, then 0.35.

    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0]], dtype=np.int32))
    >>> one_threshold(Scores.dense(np.array([[0.9, 0.3], [0.6, 0.1]])), Y)
    Threshold(value=0.35, inclusive=True)
    """
    cells = ScoredTruth(scores, Y).pooled()
    order = np.argsort(-cells.values, kind="stable")
    descending = cells.values[order]
    right = np.append(0, np.cumsum(cells.true[order]))
    passing = np.append(0, np.cumsum((cells.true + cells.false)[order]))

    def micro_f1(hundredths: int) -> float:
        n_passing = int(np.searchsorted(-descending, -hundredths / 100, side="right"))
        return float(2 * right[n_passing] / max(passing[n_passing] + Y.nnz, 1))

    coarse = max(range(0, 101, 10), key=micro_f1)
    return Threshold(max(range(coarse - 5, coarse + 6), key=micro_f1) / 100, inclusive=True)


def one_threshold_answers(estimator: Any, fold: Fold, own: NeighborGraph) -> tuple[Csr, Scores]:
    """Fit a neighbour method and the threshold; return their predictions for the test rows.

    Parameters
    ----------
    estimator : NeighborEstimator
        Its own decision rule is not used.
    fold : Fold
    own : NeighborGraph
        The training rows' neighbours, including the rows themselves.
    """
    fit_on(estimator, fold)
    rule = one_threshold(estimator.scores(training_features(fold), graph=own), fold.training.Y)
    scores: Scores = estimator.scores(fold.X, graph=fold.graph)
    return rule.decide(scores), scores
