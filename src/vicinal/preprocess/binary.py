"""Turn features into 1 (present) or 0 (absent)."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Bool, Features
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.fitting import all_or_nothing
from vicinal._base.state import State, damage_if_refused, read_plain, read_value
from vicinal._base.validation import check_real
from vicinal.preprocess._transformer import RowLocalTransformer
from vicinal.preprocess._weights import reweigh


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

    def __init__(self, *, threshold: float | None = 0.0) -> None:
        self.threshold = threshold

    @all_or_nothing
    def fit(self, X: object, y: object = None) -> Self:
        """Store the number and the names of the columns."""
        self._check_zero_stays_zero(self._read(X, reset=True))
        return self

    def transform(self, X: object) -> Features:
        """Return zeros and ones; sparse if `X` is sparse."""
        rows = self._read(X, reset=False)
        threshold = self._check_zero_stays_zero(rows)
        if isinstance(rows, sparse.csr_array):
            return reweigh(rows, lambda stored: _passes(stored.data, threshold).astype(np.float64))
        return _passes(rows, threshold).astype(rows.dtype)

    def get_state(self) -> dict[str, State]:
        """Return the parameter and the columns."""
        return {"threshold": self._threshold(), **self._columns_state()}

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        self = cls()
        self.threshold = None
        if read_value(state, "threshold") is not None:
            with damage_if_refused():
                self.threshold = check_real("threshold", read_plain(state, "threshold", float))
        self._restore_columns(state)
        return self

    def _threshold(self) -> float | None:
        """Return the threshold, checked."""
        return None if self.threshold is None else check_real("threshold", self.threshold)

    def _check_zero_stays_zero(self, rows: Features) -> float | None:
        """Return the threshold; raise if it would turn the zeros of sparse rows into ones."""
        threshold = self._threshold()
        if threshold is not None and threshold < 0 and isinstance(rows, sparse.csr_array):
            raise InvalidArgumentError(
                "threshold",
                "at least 0 for sparse rows (pass X.toarray() if it fits into memory)",
                threshold,
            )
        return threshold


def _passes(values: NDArray[Any], threshold: float | None) -> Bool:
    """Return which values count as present."""
    passes: Bool = values != 0 if threshold is None else values > threshold
    return passes
