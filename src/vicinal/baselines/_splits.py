"""The best one-feature split of weighted rows, used in each round by both boosting baselines."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Bool, Features, Float, Int
from vicinal._native import SplitSearch
from vicinal.decision.label_sweep import midway


@dataclass(frozen=True)
class Split:
    """A split of the rows by a threshold on one feature.

    Parameters
    ----------
    z : float
        2 Σ √(W₊W₋) over the two sides and the labels.
    feature : int
    threshold : float
        Midway between the two adjacent values of the rows being split.
    """

    z: float
    feature: int
    threshold: float


class SplitFinder:
    """Finds splits of the training rows, which are sorted by each feature once.

    Memory: 12 bytes per non-zero value of `X`, in addition to a copy of the values by column.

    Examples
    --------
    Two rows with the label, two without; the second feature separates them.

    >>> finder = SplitFinder(np.array([[3.0, 1], [1, 2], [2, 5], [4, 7]]), n_labels=1, n_threads=1)
    >>> signed = np.array([[0.25], [0.25], [-0.25], [-0.25]])
    >>> finder.best(signed, np.ones(4, dtype=bool))
    Split(z=0.0, feature=1, threshold=3.5)
    """

    def __init__(self, X: Features, n_labels: int, n_threads: int) -> None:
        self._columns = sparse.csc_array(X)
        self._n_threads = n_threads
        n_rows, n_features = self._columns.shape
        feature_of = np.repeat(np.arange(n_features), np.diff(self._columns.indptr))
        order = np.lexsort((self._columns.data, feature_of))
        self._search = SplitSearch(
            self._columns.indptr.astype(np.int64),
            self._columns.indices[order].astype(np.int32),
            self._columns.data[order].astype(np.float64),
            int(n_rows),
            n_labels,
        )

    def best(self, signed_weights: Float, members: Bool) -> Split | None:
        """Return the split of the marked rows with the lowest Z; None if they are all identical.

        `signed_weights` (n, L) are positive if the row has the label, and exact (see
        :func:`~vicinal.baselines._boosting.distribution`). If Z is equal, the first feature and
        then the lowest threshold win.
        """
        z, feature, below, above = self._search.best(
            signed_weights, members.astype(np.uint8), self._n_threads
        )
        if feature < 0:
            return None
        threshold = midway(np.array(above), np.array(below))
        return Split(z, feature, float(threshold))

    def above(self, split: Split) -> Bool:
        """Return which rows are above the threshold."""
        column = self._columns[:, [split.feature]].toarray().ravel()
        higher: Bool = column > split.threshold
        return higher


def rows_above(X: Features, features: Int, thresholds: Float) -> Bool:
    """Return for each row and split (n, T) whether the row is above the threshold."""
    columns = X[:, features]
    values = columns.toarray() if isinstance(columns, sparse.csr_array) else columns
    higher: Bool = values > thresholds
    return higher
