"""Base classes of the transformers of numeric rows: validation, columns and tags.

Every sum adds the stored values of one row in ascending column order, in float64. The result for a
row therefore depends neither on the other rows nor on whether the row is dense or sparse.
"""

import numbers
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import SMALL_BLOCK_CELLS, Csr, Features, Float, Int
from vicinal._core.checks import all_or_nothing, check_integer, check_real
from vicinal._core.csr import dense_csr
from vicinal._core.state import (
    State,
    damage_if_refused,
    feature_names_of,
    read_count,
    read_value,
    restore_feature_names,
)
from vicinal._core.validation import read_features
from vicinal.errors import InvalidArgumentError


class ColumnwiseTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator, ABC):
    """A transformer whose output has the same columns as its input."""

    def _read(self, X: object, *, reset: bool) -> Features:
        """Return `X` as float rows; store (`reset`) or compare the number and names of columns."""
        return read_features(self, X, reset=reset)

    def _parameters(self) -> dict[str, State]:
        """Return the parameters, checked."""
        return {}

    def _learned(self) -> dict[str, State]:
        """Return what ``fit`` learned besides the columns."""
        return {}

    @abstractmethod
    def _restore(self, state: Mapping[str, State]) -> None:
        """Set what ``fit`` learned from a state, checked."""

    def get_state(self) -> dict[str, State]:
        """Return the parameters, the columns, and what ``fit`` learned."""
        check_is_fitted(self)
        n_features: int | None = getattr(self, "n_features_in_", None)
        columns = {"n_features": n_features, "feature_names": feature_names_of(self)}
        return {**self._parameters(), **columns, **self._learned()}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        build = cast("Any", cls)
        self: Self = build(**{name: read_value(state, name) for name in build._get_param_names()})
        with damage_if_refused():
            self._parameters()
        self._restore(state)
        return self

    def _restore_columns(self, state: Mapping[str, State]) -> int:
        """Set the columns from a state and return their number."""
        self.n_features_in_ = read_count(state, "n_features")
        restore_feature_names(self, state, self.n_features_in_)
        return self.n_features_in_

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: sparse rows are accepted, float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class RowLocalTransformer(ColumnwiseTransformer):
    """A transformer that needs no fit; ``fit`` only stores the columns, to check later rows."""

    @all_or_nothing
    def fit(self, X: object, y: object = None) -> Self:
        """Store the number and the names of the columns."""
        self._check_rows(self._read(X, reset=True))
        return self

    def _check_rows(self, rows: Features) -> None:
        """Raise for rows that cannot be transformed."""

    def _restore(self, state: Mapping[str, State]) -> None:
        """Set the columns, if there are any."""
        if read_value(state, "n_features") is not None:
            self._restore_columns(state)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: no fit is required."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def check_not_negative(rows: Features, user: str) -> None:
    """Raise for values below 0, with the message that scikit-learn's checks require."""
    values = rows if isinstance(rows, np.ndarray) else rows.data
    if values.size and values.min() < 0:
        raise InvalidArgumentError(
            "X", "values of at least 0", f"Negative values in data passed to {user}"
        )


def reweigh(rows: Features, weigh: Callable[[Csr], Float]) -> Features:
    """Return `rows` with their non-zero values replaced by ``weigh(rows)``, one per stored cell.

    Dense rows stay dense, and float32 stays float32. `weigh` must treat each row independently.
    """
    if isinstance(rows, sparse.csr_array):
        return _reweigh_stored(rows, weigh)
    n_rows, n_columns = rows.shape
    step = max(1, SMALL_BLOCK_CELLS // n_columns)
    result = np.empty(rows.shape, rows.dtype)
    for start in range(0, n_rows, step):
        block = dense_csr(rows[start : start + step])
        result[start : start + step] = _reweigh_stored(block, weigh).toarray()
    return result


def _reweigh_stored(rows: Csr, weigh: Callable[[Csr], Float]) -> Csr:
    """Return canonical rows with the new values; values that became 0 are not stored."""
    with np.errstate(over="ignore", invalid="ignore"):
        values = weigh(rows).astype(rows.dtype, copy=False)
    check_outcome(values)
    result: Csr = sparse.csr_array((values, rows.indices, rows.indptr), shape=rows.shape, copy=True)
    result.eliminate_zeros()
    return result


def check_outcome(values: Float) -> None:
    """Raise if the result of a transformation is not finite."""
    if not np.isfinite(values).all():
        raise InvalidArgumentError(
            "X", "values with a finite result", "values too large for the transformation"
        )


def spread(rows: Csr, per_row: NDArray[Any]) -> NDArray[Any]:
    """Return one value per stored cell: that of its row."""
    return np.repeat(per_row, np.diff(rows.indptr))


def row_sums(rows: Csr, values: Float) -> Float:
    """Return the sum of each row's `values`, which are one per stored cell."""
    n_rows = rows.shape[0]
    sums = np.bincount(spread(rows, np.arange(n_rows)), weights=values, minlength=n_rows)
    return sums.astype(np.float64, copy=False)  # bincount returns integers for empty input


def unit_length(rows: Csr, values: Float) -> Float:
    """Return `values` divided by the Euclidean length of their row; rows of zeros are unchanged.

    Values are first divided by the largest of their row, so that no square overflows or underflows.
    """
    largest = _largest(rows, np.abs(values))
    largest[largest == 0] = 1.0
    scaled: Float = values / spread(rows, largest)
    length = np.sqrt(row_sums(rows, scaled * scaled))
    length[length == 0] = 1.0
    scaled /= spread(rows, length)
    return scaled


def _largest(rows: Csr, values: Float) -> Float:
    """Return the largest of each row's `values`; 0 for an empty row."""
    largest = np.zeros(rows.shape[0])
    filled = np.diff(rows.indptr) > 0
    if filled.any():
        largest[filled] = np.maximum.reduceat(values, rows.indptr[:-1][filled])
    return largest


def rows_with(rows: Features) -> Int:
    """Return for each column the number of rows with a non-zero value."""
    if isinstance(rows, sparse.csr_array):
        return np.bincount(rows.indices, minlength=rows.shape[1]).astype(np.int64, copy=False)
    having: Int = np.count_nonzero(rows, axis=0)
    return having


def check_frequency(name: str, value: object) -> int | float:
    """Return `value`: an int is a number of rows (at least 1), a float is a share of them."""
    if isinstance(value, numbers.Integral):
        return check_integer(name, value, low=1)
    return check_real(name, value, low=0.0, high=1.0)
