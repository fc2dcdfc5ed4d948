"""Metrics that follow from sums over rows, so that rows can be counted block by block."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from vicinal._core.arrays import Csr, Float, Int
from vicinal._core.labels import check_indicator
from vicinal.errors import InvalidArgumentError
from vicinal.scores import Scores, check_scores

Sums: TypeAlias = tuple[float, ...]


class Size(NamedTuple):
    """Number of rows and of labels."""

    n_rows: int
    n_labels: int


def mean(sums: Sums, size: Size) -> float:
    """Return the mean over rows."""
    return sums[0] / size.n_rows


def mean_per_label(sums: Sums, size: Size) -> float:
    """Return the mean over rows divided by the number of labels."""
    return sums[0] / size.n_rows / size.n_labels


def share(sums: Sums, _: Size) -> float:
    """Return the first sum over the second, 0 if that is 0."""
    return sums[0] / sums[1] if sums[1] else 0.0


Values: TypeAlias = NDArray[Any] | float
"""Numbers of rows, or of their true labels, whose sum a metric needs."""


@dataclass(frozen=True)
class SummedMetric:
    """A metric as sums over rows, which add up over blocks, and what follows from the sums.

    `values` returns the numbers to sum, given counts of rows, conventions and further arguments.
    """

    values: Callable[..., Values | tuple[Values, ...]]
    value: Callable[[Sums, Size], float] = mean

    def sums(self, *given: Any) -> Sums:
        """Return the sums of some rows; those of whole numbers are exact."""
        found = self.values(*given)
        each = found if isinstance(found, tuple) else (found,)
        return tuple(float(np.sum(values, dtype=np.float64)) for values in each)

    def __call__(self, counts: Any, *arguments: Any) -> float:
        """Compute the metric of all rows at once."""
        return self.value(self.sums(counts, *arguments), Size(counts.n_rows, counts.n_labels))


def check_truth(Y_true: object) -> Csr:
    """Return the true label sets, of at least one row and one label."""
    truth = check_indicator(Y_true, "Y_true")
    if 0 in truth.shape:
        raise InvalidArgumentError(
            "Y_true", "at least one row and one label", f"shape {truth.shape}"
        )
    return truth


def check_labels(labels: object, truth: Csr) -> Csr:
    """Return the predicted label sets, shaped like the true ones."""
    predicted = check_indicator(labels, "labels")
    _check_shape("labels", predicted.shape, truth)
    return predicted


def check_ranking(scores: object, truth: Csr) -> Scores:
    """Return the scores, shaped like the true label sets."""
    checked = check_scores(scores, "scores")
    _check_shape("scores", checked.shape, truth)
    return checked


def _check_shape(name: str, shape: tuple[int, ...], truth: Csr) -> None:
    """Raise unless the shape is that of Y_true."""
    if shape != truth.shape:
        raise InvalidArgumentError(name, f"the shape {truth.shape} of Y_true", f"shape {shape}")


def row_sizes(matrix: Csr) -> Int:
    """Count the labels of each row."""
    return cast("Int", np.diff(matrix.indptr).astype(np.int64))


def ratio(part: Float | Int, whole: Float | Int, otherwise: Float | float) -> Float:
    """Return part / whole, or `otherwise` where whole is 0."""
    values = np.empty(part.shape)
    values[...] = otherwise
    np.divide(part, whole, out=values, where=np.asarray(whole) != 0)
    return values
