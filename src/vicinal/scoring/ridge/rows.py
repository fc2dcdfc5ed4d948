"""The rows a ridge is fitted on: of length one where asked, and of the columns that are kept."""

from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Features, Float, Int, row_ids
from vicinal.preprocess._weights import reweigh, unit_length


@dataclass(frozen=True, eq=False)
class RowView:
    """How rows enter the regression.

    Parameters
    ----------
    is_unit : bool
        Whether rows are divided by their length first.
    columns : ndarray of int64 or None
        The columns that are kept, rising; None for all.
    """

    is_unit: bool
    columns: Int | None = None

    def of(self, X: Features) -> Features:
        """Return the rows as the regression takes them; float64."""
        rows = unit_rows(X) if self.is_unit else X.astype(np.float64, copy=False)
        return rows if self.columns is None else rows[:, self.columns]


def unit_rows(X: Features) -> Features:
    """Return rows divided by their Euclidean length, in float64; rows of zeros stay.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0. , 0. ]])
    """
    return reweigh(X, lambda stored: unit_length(stored, stored.data.astype(np.float64)))


def strongest_columns(rows: Features, most: int, weights: Float | None = None) -> Int | None:
    """Return the `most` columns with the largest sums of squares, rising; None if there are fewer.

    Of all choices of so many columns they keep the largest part of the rows' squared length. A row
    of weight w counts w times.
    """
    if rows.shape[1] <= most:
        return None
    if isinstance(rows, np.ndarray):
        each = rows if weights is None else rows * weights[:, None]
        energy = np.einsum("ij,ij->j", each, rows)
    else:
        squares = rows.data**2 if weights is None else rows.data**2 * weights[row_ids(rows)]
        energy = np.bincount(rows.indices, squares, minlength=rows.shape[1])
    return np.sort(np.argsort(-energy, kind="stable")[:most]).astype(np.int64)
