r"""Example-based metrics of predicted label sets: one value per row, then the mean.

:math:`Y_i` are the true labels of row i, :math:`Z_i` the predicted ones, L is the number of labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from vicinal._core.arrays import Csr, Float, Int
from vicinal.metrics._sums import (
    Size,
    SummedMetric,
    Sums,
    check_labels,
    check_truth,
    mean,
    mean_per_label,
    ratio,
    row_sizes,
)
from vicinal.metrics.catalogue import Conventions, check_conventions


@dataclass(frozen=True, eq=False)
class RowCounts:
    """The sizes of Y, Z and Y ∩ Z, one number per row."""

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


def hamming_loss(Y_true: object, labels: object) -> float:
    r"""Share of wrong cells: mean of :math:`|Y_i \triangle Z_i| / L`.

    Examples
    --------
    Row 0 misses one label of four, row 1 has one missing and one too many:

    >>> hamming_loss([[1, 1, 0, 0], [0, 0, 1, 0]], [[1, 0, 0, 0], [0, 0, 0, 1]])
    0.375
    """
    return EXAMPLE_BASED["hamming-loss"](check_rows(Y_true, labels))


def subset_accuracy(Y_true: object, labels: object) -> float:
    """Share of rows with :math:`Z_i = Y_i`.

    Examples
    --------
    >>> subset_accuracy([[1, 1], [0, 1]], [[1, 0], [0, 1]])
    0.5
    """
    return EXAMPLE_BASED["subset-accuracy"](check_rows(Y_true, labels))


def example_accuracy(
    Y_true: object, labels: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Jaccard index: mean of :math:`|Y_i \cap Z_i| / |Y_i \cup Z_i|`.

    Examples
    --------
    One label of two shared, then two empty sets:

    >>> Y, Z = [[1, 1], [0, 0]], [[1, 0], [0, 0]]
    >>> example_accuracy(Y, Z), example_accuracy(Y, Z, conventions="sklearn")
    (0.75, 0.25)
    """
    return EXAMPLE_BASED["example-accuracy"](
        check_rows(Y_true, labels), check_conventions(conventions)
    )


def jaccard_loss(
    Y_true: object, labels: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    """One minus :func:`example_accuracy`.

    Examples
    --------
    >>> jaccard_loss([[1, 1], [0, 0]], [[1, 0], [0, 0]])
    0.25
    """
    return 1.0 - example_accuracy(Y_true, labels, conventions=conventions)


def example_precision(
    Y_true: object, labels: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Mean of :math:`|Y_i \cap Z_i| / |Z_i|`; 0 if only :math:`Z_i` is empty.

    Examples
    --------
    >>> example_precision([[1, 0], [0, 1]], [[1, 1], [0, 0]])
    0.25
    """
    return EXAMPLE_BASED["example-precision"](
        check_rows(Y_true, labels), check_conventions(conventions)
    )


def example_recall(
    Y_true: object, labels: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Mean of :math:`|Y_i \cap Z_i| / |Y_i|`; 0 if only :math:`Y_i` is empty.

    Examples
    --------
    >>> example_recall([[1, 1], [0, 0]], [[1, 0], [0, 1]])
    0.25
    """
    return EXAMPLE_BASED["example-recall"](
        check_rows(Y_true, labels), check_conventions(conventions)
    )


def example_f1(
    Y_true: object, labels: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Mean of :math:`2|Y_i \cap Z_i| / (|Y_i| + |Z_i|)`.

    Examples
    --------
    2·1/(2 + 2) in row 0; row 1 has two empty sets:

    >>> Y, Z = [[1, 1, 0], [0, 0, 0]], [[1, 0, 1], [0, 0, 0]]
    >>> example_f1(Y, Z), example_f1(Y, Z, conventions="meka")
    (0.75, 0.25)
    """
    return EXAMPLE_BASED["example-f1"](check_rows(Y_true, labels), check_conventions(conventions))


def example_f1_of_means(
    Y_true: object, labels: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    """F1 of the mean precision P and the mean recall R: 2PR/(P + R), or 0 if both are 0.

    Examples
    --------
    Precisions 1 and 0, recalls 1/2 and 0, so P = 1/2 and R = 1/4:

    >>> round(example_f1_of_means([[1, 1], [1, 0]], [[1, 0], [0, 1]]), 4)
    0.3333
    """
    return EXAMPLE_BASED["example-f1-of-means"](
        check_rows(Y_true, labels), check_conventions(conventions)
    )


def cardinality(labels: object) -> float:
    """Mean size of the predicted sets.

    Examples
    --------
    >>> cardinality([[1, 1], [0, 1], [0, 0], [0, 0]])
    0.75
    """
    return EXAMPLE_BASED["cardinality"](check_rows(labels, labels))


def empty_share(labels: object) -> float:
    """Share of rows for which no label is predicted.

    Examples
    --------
    >>> empty_share([[1, 1], [0, 1], [0, 0], [0, 0]])
    0.5
    """
    return EXAMPLE_BASED["empty-share"](check_rows(labels, labels))


def _without_denominator(rows: RowCounts, rules: Conventions) -> Float:
    """Precision and recall of rows for which they are 0/0: 0 unless both sets are empty."""
    return np.where(rows.union == 0, rules.both_empty_f1, 0.0)


def _jaccard(rows: RowCounts, rules: Conventions) -> Float:
    return ratio(rows.common, rows.union, rules.both_empty_jaccard)


def _precision(rows: RowCounts, rules: Conventions) -> Float:
    return ratio(rows.common, rows.predicted, _without_denominator(rows, rules))


def _recall(rows: RowCounts, rules: Conventions) -> Float:
    return ratio(rows.common, rows.true, _without_denominator(rows, rules))


def _f1_of_means(sums: Sums, size: Size) -> float:
    precision, recall = (each / size.n_rows for each in sums)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


EXAMPLE_BASED: Mapping[str, SummedMetric] = MappingProxyType(
    {
        "hamming-loss": SummedMetric(lambda rows, *_: rows.union - rows.common, mean_per_label),
        "subset-accuracy": SummedMetric(lambda rows, *_: rows.union == rows.common),
        "example-accuracy": SummedMetric(_jaccard),
        "jaccard-loss": SummedMetric(_jaccard, lambda sums, size: 1.0 - mean(sums, size)),
        "example-precision": SummedMetric(_precision),
        "example-recall": SummedMetric(_recall),
        "example-f1": SummedMetric(
            lambda rows, rules: ratio(
                2 * rows.common, rows.true + rows.predicted, rules.both_empty_f1
            )
        ),
        "example-f1-of-means": SummedMetric(
            lambda *given: (_precision(*given), _recall(*given)), _f1_of_means
        ),
        "cardinality": SummedMetric(lambda rows, *_: rows.predicted),
        "empty-share": SummedMetric(lambda rows, *_: rows.predicted == 0),
    }
)
