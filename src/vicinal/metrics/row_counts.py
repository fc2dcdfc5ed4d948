"""Numbers of true, predicted and correct labels per row, for all example-based metrics."""

from dataclasses import dataclass

from vicinal._base.arrays import Csr, Int
from vicinal.metrics.inputs import check_labels, check_truth, row_sizes


@dataclass(frozen=True, eq=False)
class RowCounts:
    """The sizes of Y, Z and Y ∩ Z, one number per row.

    Parameters
    ----------
    true, predicted, common : ndarray of int64, shape (n,)
    n_labels : int
    """

    true: Int
    predicted: Int
    common: Int
    n_labels: int

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.true)

    @property
    def union(self) -> Int:
        """The sizes of the union of Y and Z."""
        return self.true + self.predicted - self.common


def count_rows(truth: Csr, predicted: Csr) -> RowCounts:
    """Count for two checked indicators of one shape."""
    common = row_sizes(truth.multiply(predicted).tocsr())
    return RowCounts(row_sizes(truth), row_sizes(predicted), common, truth.shape[1])


def check_rows(Y_true: object, labels: object) -> RowCounts:
    """Validate the arguments, then count."""
    truth = check_truth(Y_true)
    return count_rows(truth, check_labels(labels, truth))
