"""Scale each feature to [0, 1]."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Bool, Csr, Features, Float
from vicinal._core.checks import all_or_nothing, check_flag, check_real
from vicinal._core.state import State, read_array
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.preprocess._base import (
    ColumnwiseTransformer,
    RowLocalTransformer,
    check_outcome,
    reweigh,
    unit_length,
)


@dataclass(eq=False, repr=False, kw_only=True)
class MinMax(ColumnwiseTransformer):
    r"""Scale each feature to [0, 1] by its smallest and largest value in the training rows.

    .. math:: x'_j = \frac{x_j - \min_j}{\max_j - \min_j}

    A feature that is constant in the training rows becomes 0 in every row, even in new rows with
    another value, because it has no range to scale by. Values of new rows may lie outside [0, 1]
    unless `clip` is True.

    Sparse rows stay sparse if 0 stays 0, that is, if the smallest value of each feature is 0
    (including cells that are not stored) or the feature is constant. Other sparse rows are an
    error, because they would have no zeros left.

    Parameters
    ----------
    clip : bool
        Whether values of new rows are limited to [0, 1].

    Attributes
    ----------
    minimum_, maximum_ : ndarray of float64, shape (n_features,)
        Of the training rows.

    Examples
    --------
    >>> scale = MinMax().fit([[1.0, 7.0], [5.0, 7.0]])
    >>> scale.transform([[2.0, 7.0], [7.0, 8.0]])
    array([[0.25, 0.  ],
           [1.5 , 0.  ]])
    """

    clip: bool = False
    minimum_: Float = field(init=False)
    maximum_: Float = field(init=False)

    @all_or_nothing
    def fit(self, X: object, y: object = None) -> Self:
        """Learn each feature's smallest and largest value."""
        check_flag("clip", self.clip)
        rows = self._read(X, reset=True)
        minimum, maximum = _extremes(rows)
        with np.errstate(over="ignore"):
            span = maximum - minimum
        if not np.isfinite(span).all():
            column = int(np.argmin(np.isfinite(span)))
            raise InvalidArgumentError(
                "X",
                "features whose range is a finite float64",
                f"{minimum[column]} to {maximum[column]} in column {column}",
            )
        if isinstance(rows, sparse.csr_array):
            _check_zero_stays_zero(minimum, span)
        self.minimum_, self.maximum_ = minimum, maximum
        return self

    def transform(self, X: object) -> Features:
        """Return the scaled rows; sparse if `X` is sparse."""
        check_is_fitted(self)
        clip = check_flag("clip", self.clip)
        rows = self._read(X, reset=False)
        span = self.maximum_ - self.minimum_
        if isinstance(rows, sparse.csr_array):
            _check_zero_stays_zero(self.minimum_, span)
            return reweigh(rows, lambda stored: _scaled_stored(stored, span, clip))
        with np.errstate(over="ignore"):
            scaled: Float = np.subtract(rows, self.minimum_, dtype=np.float64)
            scaled /= np.where(span == 0, 1.0, span)
            scaled[:, span == 0] = 0.0
            if clip:
                np.clip(scaled, 0.0, 1.0, out=scaled)
            result = scaled.astype(rows.dtype, copy=False)
        check_outcome(result)
        return result

    @property
    def keeps_zeros(self) -> bool:
        """Whether zeros stay zeros: only then can sparse rows be scaled."""
        return not _moved(self.minimum_, self.maximum_ - self.minimum_).any()

    def _parameters(self) -> dict[str, State]:
        return {"clip": check_flag("clip", self.clip)}

    def _learned(self) -> dict[str, State]:
        return {"minimum": self.minimum_, "maximum": self.maximum_}

    def _restore(self, state: Mapping[str, State]) -> None:
        n_features = self._restore_columns(state)
        self.minimum_ = read_array(state, "minimum", np.float64, (n_features,))
        self.maximum_ = read_array(state, "maximum", np.float64, (n_features,))
        with np.errstate(over="ignore"):
            span = self.maximum_ - self.minimum_
        if not (np.isfinite(span).all() and np.all(span >= 0)):
            raise ModelFormatError("maximum: expected at least the minimum, with a finite range")


def _extremes(rows: Features) -> tuple[Float, Float]:
    """Return each column's smallest and largest value, including cells that are not stored."""
    if isinstance(rows, sparse.csr_array):
        columns = rows.tocsc()
        low, high = columns.min(axis=0).toarray().ravel(), columns.max(axis=0).toarray().ravel()
    else:
        low, high = rows.min(axis=0), rows.max(axis=0)
    return low.astype(np.float64), high.astype(np.float64)


def _moved(minimum: Float, span: Float) -> Bool:
    """Tell in which columns scaling changes 0 to another value."""
    moved: Bool = (minimum != 0) & (span > 0)
    return moved


def _check_zero_stays_zero(minimum: Float, span: Float) -> None:
    """Raise if scaling would turn the zeros of sparse rows into other values."""
    moved = _moved(minimum, span)
    if moved.any():
        column = int(np.argmax(moved))
        raise InvalidArgumentError(
            "X",
            "sparse rows in which the smallest value of every feature is 0 "
            "(pass X.toarray() if it fits into memory)",
            f"smallest value {minimum[column]:g} in column {column}",
        )


def _scaled_stored(rows: Csr, span: Float, clip: bool) -> Float:
    """Return the scaled values of stored cells, if the smallest value of each feature is 0."""
    width = span[rows.indices]
    scaled: Float = np.divide(rows.data, width, out=np.zeros(len(width)), where=width > 0)
    return np.clip(scaled, 0.0, 1.0) if clip else scaled


class UnitRows(RowLocalTransformer):
    r"""Divide each row by its Euclidean length; rows of zeros are unchanged.

    .. math:: x' = x / \lVert x \rVert_2

    Not needed for the cosine metric, which divides by the lengths itself. With
    ``metric="euclidean"`` or ``metric="dot"``, neighbours then have the same order as by cosine.

    Examples
    --------
    >>> UnitRows().fit_transform([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    def transform(self, X: object) -> Features:
        """Return the rows scaled to length 1; sparse if `X` is sparse."""
        rows = self._read(X, reset=False)
        return reweigh(rows, lambda stored: unit_length(stored, stored.data.astype(np.float64)))


@dataclass(eq=False, repr=False, kw_only=True)
class Binary(RowLocalTransformer):
    """Replace values greater than `threshold` by 1 and all others by 0.

    Each cell is transformed independently; ``fit`` only stores the columns. Sparse rows stay
    sparse. Sparse rows with a threshold below 0 are an error, because every zero would become 1.

    Parameters
    ----------
    threshold : float or None
        None: all values other than 0, positive or negative, become 1.

    Examples
    --------
    >>> rows = [[0.0, 2.0, -1.0]]
    >>> Binary().fit_transform(rows)
    array([[0., 1., 0.]])
    >>> Binary(threshold=None).fit_transform(rows)
    array([[0., 1., 1.]])
    """

    threshold: float | None = 0.0

    def transform(self, X: object) -> Features:
        """Return zeros and ones; sparse if `X` is sparse."""
        rows = self._read(X, reset=False)
        self._check_rows(rows)
        if isinstance(rows, sparse.csr_array):
            return reweigh(rows, lambda stored: self._passes(stored.data).astype(np.float64))
        return self._passes(rows).astype(rows.dtype)

    def _passes(self, values: NDArray[Any]) -> Bool:
        """Return which values count as present."""
        passes: Bool = values != 0 if self.threshold is None else values > self.threshold
        return passes

    def _parameters(self) -> dict[str, State]:
        given = self.threshold
        return {"threshold": None if given is None else check_real("threshold", given)}

    def _check_rows(self, rows: Features) -> None:
        """Raise if the threshold would turn the zeros of sparse rows into ones."""
        self._parameters()
        if self.threshold is None or self.threshold >= 0 or isinstance(rows, np.ndarray):
            return
        raise InvalidArgumentError(
            "threshold",
            "at least 0 for sparse rows (pass X.toarray() if it fits into memory)",
            float(self.threshold),
        )
