r"""Micro- and macro-averages: precision, recall and F1 from counts per label.

tp, fp and fn of a label are its numbers of true positives, false positives and false negatives.
*Micro* adds them over labels before dividing; *macro* divides per label and takes the mean over all
labels.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from vicinal._core.arrays import Csr, Int
from vicinal.metrics._sums import check_labels, check_truth, ratio
from vicinal.metrics.catalogue import Conventions, check_conventions


@dataclass(frozen=True, eq=False)
class LabelCounts:
    """The tp, fp and fn of each label: ndarrays of int64, shape (L,)."""

    tp: Int
    fp: Int
    fn: Int

    def __add__(self, other: "LabelCounts") -> "LabelCounts":
        """Return the counts of both blocks of rows."""
        return LabelCounts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)

    def pooled(self) -> "LabelCounts":
        """Add over labels: shape (1,)."""
        return LabelCounts(*(each.sum(keepdims=True) for each in (self.tp, self.fp, self.fn)))


def count_labels(truth: Csr, predicted: Csr) -> LabelCounts:
    """Count for two checked indicators of one shape."""
    tp, true, given = (
        np.bincount(matrix.indices, minlength=truth.shape[1]).astype(np.int64)
        for matrix in (truth.multiply(predicted).tocsr(), truth, predicted)
    )
    return LabelCounts(tp, given - tp, true - tp)


def _check_counts(Y_true: object, labels: object) -> LabelCounts:
    """Validate the arguments, then count."""
    truth = check_truth(Y_true)
    return count_labels(truth, check_labels(labels, truth))


def micro_precision(Y_true: object, labels: object) -> float:
    """Σ tp / Σ (tp + fp), 0 for 0/0.

    Examples
    --------
    >>> micro_precision([[1, 0], [1, 1]], [[1, 1], [1, 0]])  # tp = 2, fp = 1
    0.6666666666666666
    """
    return _precision(_check_counts(Y_true, labels).pooled())


def micro_recall(Y_true: object, labels: object) -> float:
    """Σ tp / Σ (tp + fn), 0 for 0/0.

    Examples
    --------
    >>> micro_recall([[1, 0], [1, 1]], [[1, 0], [0, 0]])  # tp = 1, fn = 2
    0.3333333333333333
    """
    return _recall(_check_counts(Y_true, labels).pooled())


def micro_f1(Y_true: object, labels: object) -> float:
    """2 Σ tp / Σ (2 tp + fp + fn), 0 for 0/0.

    Examples
    --------
    >>> micro_f1([[1, 0], [1, 1]], [[1, 0], [0, 0]])  # tp = 1, fn = 2
    0.5
    """
    return _f1(_check_counts(Y_true, labels).pooled())


def macro_precision(
    Y_true: object, labels: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    """Mean over labels of tp / (tp + fp).

    Examples
    --------
    Label 0 is correct in one of two rows, label 1 is never predicted:

    >>> macro_precision([[1, 0], [0, 1]], [[1, 0], [1, 0]])
    0.25
    """
    rules = check_conventions(conventions)
    return _precision(_check_counts(Y_true, labels), rules.unused_label)


def macro_recall(
    Y_true: object, labels: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    """Mean over labels of tp / (tp + fn).

    Examples
    --------
    >>> macro_recall([[1, 1], [1, 0]], [[1, 1], [0, 0]])  # 1/2 and 1
    0.75
    """
    rules = check_conventions(conventions)
    return _recall(_check_counts(Y_true, labels), rules.unused_label)


def macro_f1(
    Y_true: object, labels: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    """Mean over labels of 2 tp / (2 tp + fp + fn).

    Examples
    --------
    No row has label 1 and it is never predicted, which Mulan counts as perfect:

    >>> Y = Z = [[1, 0], [1, 0]]
    >>> macro_f1(Y, Z), macro_f1(Y, Z, conventions="mulan")
    (0.5, 1.0)
    """
    rules = check_conventions(conventions)
    return _f1(_check_counts(Y_true, labels), rules.unused_label)


def _average(counts: LabelCounts, part: Int, whole: Int, unused: float) -> float:
    """Return the mean of ratios; 0/0 is `unused` if a label never occurs, else 0."""
    never = counts.tp + counts.fp + counts.fn == 0
    return float(np.mean(ratio(part, whole, np.where(never, unused, 0.0))))


def _precision(counts: LabelCounts, unused: float = 0.0) -> float:
    return _average(counts, counts.tp, counts.tp + counts.fp, unused)


def _recall(counts: LabelCounts, unused: float = 0.0) -> float:
    return _average(counts, counts.tp, counts.tp + counts.fn, unused)


def _f1(counts: LabelCounts, unused: float = 0.0) -> float:
    return _average(counts, 2 * counts.tp, 2 * counts.tp + counts.fp + counts.fn, unused)


LABEL_BASED: Mapping[str, Callable[[LabelCounts, Conventions], float]] = MappingProxyType(
    {
        "micro-precision": lambda counts, _: _precision(counts.pooled()),
        "micro-recall": lambda counts, _: _recall(counts.pooled()),
        "micro-f1": lambda counts, _: _f1(counts.pooled()),
        "macro-precision": lambda counts, rules: _precision(counts, rules.unused_label),
        "macro-recall": lambda counts, rules: _recall(counts, rules.unused_label),
        "macro-f1": lambda counts, rules: _f1(counts, rules.unused_label),
    }
)
