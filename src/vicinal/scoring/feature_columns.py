"""The rows of each feature, while rows are added and removed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.arrays import Bool, Csr, Features, Int, row_ids
from vicinal._base.checked_csr import adopted, checked_csr
from vicinal._base.validation import as_csr, csr_parts

MOST_RECENT = 1024
"""Number of added rows after which all rows are transposed again."""


@dataclass(frozen=True, eq=False)
class FeatureColumns:
    """Columns of a feature matrix whose rows change.

    Parameters
    ----------
    columns : csr_array, shape (m, n_old)
        The first rows, transposed.
    X : ndarray or csr_array, shape (n, m)
        All rows by place: the first ones, and those added since.
    gone : ndarray of bool, shape (n,)
        Whether a row was removed; empty if none was.

    Notes
    -----
    Memory: 12 bytes per entry of the first rows.

    Examples
    --------
    >>> first = FeatureColumns.of(np.array([[1.0, 0.0], [2.0, 3.0]]))
    >>> both = first.changed(np.array([[1.0, 0.0], [2.0, 3.0], [4.0, 0.0]]), np.zeros(0, bool))
    >>> both.of_features(np.array([0])).toarray()
    array([[1., 2., 4.]])
    """

    columns: Csr
    X: Features
    gone: Bool

    @classmethod
    def of(cls, X: Features, gone: Bool | None = None) -> "FeatureColumns":
        """Transpose rows."""
        return cls(
            adopted(as_csr(X).T.tocsr()), X, np.zeros(0, dtype=np.bool_) if gone is None else gone
        )

    def changed(self, X: Features, gone: Bool) -> "FeatureColumns":
        """Return the columns after rows were appended or removed."""
        if X.shape[0] - self.columns.shape[1] > MOST_RECENT:
            return FeatureColumns.of(X, gone)
        return FeatureColumns(self.columns, X, gone)

    def of_features(self, features: Int) -> Csr:
        """Return some columns as rows, shape (len(features), n), without removed rows.

        `features` must ascend.
        """
        n_old, n_rows = int(self.columns.shape[1]), int(self.X.shape[0])
        old = adopted(self.columns[features])
        indptr, rows = csr_parts(old)
        if n_rows == n_old and not len(self.gone):
            return old
        place, data = row_ids(old), old.data
        recent_place, recent_rows, recent_data = self._recent(features, n_old)
        if len(self.gone):
            kept = ~self.gone[rows]
            place, rows, data = place[kept], rows[kept], data[kept]
            kept = ~self.gone[recent_rows]
            recent_place, recent_rows = recent_place[kept], recent_rows[kept]
            recent_data = recent_data[kept]
        sizes = np.bincount(place, minlength=len(features))
        recent_sizes = np.bincount(recent_place, minlength=len(features))
        indptr = np.concatenate([[0], np.cumsum(sizes + recent_sizes)])
        # Added rows follow the first rows of the same feature.
        before = np.cumsum(recent_sizes) - recent_sizes
        at, recent_at = np.arange(len(rows)) + before[place], np.arange(len(recent_rows))
        recent_at += np.cumsum(sizes)[recent_place]
        indices = np.empty(len(rows) + len(recent_rows), dtype=np.int32)
        values = np.empty(len(indices), dtype=np.float64)
        indices[at], indices[recent_at] = rows, recent_rows
        values[at], values[recent_at] = data, recent_data
        return checked_csr(values, indices, indptr, (len(features), n_rows))

    def _recent(self, features: Int, n_old: int) -> tuple[Int, Int, NDArray[Any]]:
        """Return the entries of added rows: position in `features`, row and value."""
        recent = as_csr(self.X[n_old:])
        place = np.searchsorted(features, recent.indices)
        there = features[np.minimum(place, len(features) - 1)] == recent.indices
        chosen = np.flatnonzero(there)
        chosen = chosen[np.argsort(place[chosen], kind="stable")]
        rows = row_ids(recent)[chosen] + n_old
        return place[chosen], rows, recent.data[chosen]
