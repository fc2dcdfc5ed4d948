"""Metrics of predicted label sets, computed from the numbers of predicted and correct labels.

The values are bit-identical to those of :func:`vicinal.metrics.evaluate`: the same functions are
called on counts obtained without building the predictions.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vicinal._base.arrays import Csr, Float, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal.metrics import metric_info
from vicinal.metrics.bipartition import EXAMPLE_BASED
from vicinal.metrics.conventions import Conventions, check_conventions
from vicinal.metrics.label_based import LABEL_BASED, LabelCounts
from vicinal.metrics.row_counts import RowCounts


def check_set_metrics(metrics: Sequence[str]) -> tuple[str, ...]:
    """Return the metric names, or raise if one of them needs more than predicted label sets.

    Examples
    --------
    >>> check_set_metrics(["micro-f1", "coverage"])
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: metrics: expected metrics of predicted label sets,
    got 'coverage', which needs scores
    """
    for info in map(metric_info, metrics):
        if info.needs != "labels":
            raise InvalidArgumentError(
                "metrics", "metrics of predicted label sets", f"'{info.name}', which needs scores"
            )
    return tuple(metrics)


@dataclass(frozen=True, eq=False)
class TrueCounts:
    """The number of true labels of each row, and the number of rows of each label.

    Parameters
    ----------
    rows : ndarray of int64, shape (n,)
    labels : ndarray of int64, shape (L,)

    Examples
    --------
    Two rows with the labels {0, 1} and {1}; {0} is predicted for the first and {0, 1} for the
    second.

    >>> truth = TrueCounts(np.array([2, 1]), np.array([1, 2]))
    >>> given = [np.array(each) for each in ([1, 2], [1, 1], [2, 1], [1, 1])]
    >>> truth.values(*given, ["example-recall", "micro-precision"])
    array([0.75      , 0.66666667])
    """

    rows: Int
    labels: Int

    @classmethod
    def of(cls, Y: Csr) -> "TrueCounts":
        """Count for a canonical indicator."""
        labels = np.bincount(Y.indices, minlength=Y.shape[1])
        return cls(np.diff(Y.indptr).astype(np.int64), labels.astype(np.int64))

    def values(
        self,
        row_given: Int,
        row_common: Int,
        label_given: Int,
        label_common: Int,
        metrics: Sequence[str],
        conventions: str | Conventions = "vicinal",
    ) -> Float:
        """Return the metrics of one prediction, in the order of their names.

        Parameters
        ----------
        row_given, row_common : ndarray of int64, shape (n,)
            Labels predicted for each row, and how many of them are true.
        label_given, label_common : ndarray of int64, shape (L,)
            Rows for which each label is predicted, and how many of them have it.
        metrics : sequence of str
        conventions : str or Conventions
        """
        rules = check_conventions(conventions)
        rows = RowCounts(self.rows, row_given, row_common, len(self.labels))
        labels = LabelCounts(label_common, label_given - label_common, self.labels - label_common)
        return np.array(
            [
                EXAMPLE_BASED[name](rows, rules)
                if name in EXAMPLE_BASED
                else LABEL_BASED[name](labels, rules)
                for name in metrics
            ]
        )
