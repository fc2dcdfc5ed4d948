"""Leave-one-out scores of training rows, prepared once for all regularisations."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Self

import numpy as np

from vicinal._base.arrays import Csr, Features, Float, Int
from vicinal._base.bare_csr import take_rows
from vicinal._base.validation import as_csr
from vicinal.scores import Scores
from vicinal.scoring.choice import best_micro_f1, best_weighted_micro_f1, sampled_rows
from vicinal.scoring.features import check_given
from vicinal.scoring.ridge.kernel import gaussian
from vicinal.scoring.ridge.rows import RowView
from vicinal.scoring.ridge.solve import Matrix
from vicinal.scoring.ridge.system import Solution
from vicinal.scoring.training import Training

MOST_LEVERAGE = 1.0 - 1e-9
"""Above this leverage a row decides its own fit: the other rows' influence is lost in rounding."""
KEPT_CELLS = 2**23
"""Most kernel values that are kept from one regularisation to the next: 64 MiB of float64."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What coefficients are multiplied by.

    Parameters
    ----------
    view : RowView
    n_features : int
        Of the rows before the view.
    gamma : float or None
        γ of the Gaussian kernel; None if the ridge is linear.
    rows : ndarray or csr_array or None
        The training rows that the kernel compares new rows with; None if the ridge is linear.
    """

    view: RowView
    n_features: int
    gamma: float | None
    rows: Features | None

    def of(self, X: Features) -> Features:
        """Return the features of rows as CSR, or their kernel values for all training rows."""
        # Sparse products add in the order of the columns, so that a row's scores depend neither on
        # the rows around it nor on whether it came dense; nor do products of one row at a time.
        stored = as_csr(self.view.of(X))
        if self.gamma is None or self.rows is None:
            return stored
        return gaussian(stored, self.rows, self.gamma)


def fit_of(inputs: Features, coefficients: Matrix) -> Float:
    """Return the fit of rows without the mean."""
    if not isinstance(inputs, np.ndarray):
        return np.asarray(inputs @ coefficients, dtype=np.float64)
    fit = np.empty((len(inputs), coefficients.shape[1]))
    for row, near in enumerate(inputs):
        fit[row] = near @ coefficients
    return fit


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """Some training rows, each scored by a fit on the other rows.

    Parameters
    ----------
    places : slice or ndarray of int64
        Which rows.
    inputs : ndarray or csr_array
        See :class:`Inputs`.
    Y : csr_array of int32
        Their labels.
    """

    places: slice | Int
    inputs: Features
    Y: Csr

    @classmethod
    def of(cls, inputs: Inputs, training: Training, places: slice | Int) -> Self:
        """Return some of the training rows."""
        X = check_given(training.X, training.n_rows, inputs.n_features)
        return cls(places, inputs.of(take_rows(X, places)), take_rows(training.Y, places))

    def scores(self, coefficients: Matrix, leverage: Float, mean: Float) -> Scores:
        """Return the scores by a fit on the other rows; only the mean includes the row itself.

        If the influence of the other rows is lost in rounding, the score is the mean.
        """
        fit = fit_of(self.inputs, coefficients)
        own = self.Y.toarray() - mean
        h = np.minimum(leverage[self.places], MOST_LEVERAGE)[:, None]
        left_out = (fit - h * own) / (1.0 - h)
        left_out[leverage[self.places] > MOST_LEVERAGE] = 0.0
        return Scores.dense(left_out + mean)


def count_alone(leverage: Float) -> int:
    """Return how many rows decide their own fit: their leave-one-out scores are the mean."""
    return int(np.count_nonzero(leverage > MOST_LEVERAGE))


def judge(
    inputs: Inputs, training: Training, mean: Float, judged: Int | None
) -> Callable[[Solution], float]:
    """Return a function from a solution to its best micro-F1 on rows that are left out.

    Parameters
    ----------
    inputs : Inputs
    training : Training
    mean : ndarray of float64, shape (L,)
    judged : ndarray of int64 or None
        The rows; None for evenly spaced ones.
    """
    places = sampled_rows(training.n_rows) if judged is None else judged

    def prepare() -> LeftOutRows:
        return LeftOutRows.of(inputs, training, places)

    is_small = inputs.gamma is None or len(places) * training.n_rows <= KEPT_CELLS
    prepared = cache(prepare) if is_small else prepare

    def micro_f1(solution: Solution) -> float:
        rows = prepared()
        scores = rows.scores(solution.coefficients, solution.leverage, mean)
        if training.weights is None:
            return best_micro_f1(scores, rows.Y)
        return best_weighted_micro_f1(scores, rows.Y, training.weights[places])

    return micro_f1
