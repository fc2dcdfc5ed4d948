"""Metrics that follow from sums over rows, so that rows can be counted block by block."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

Sums: TypeAlias = tuple[float, ...]


class Size(NamedTuple):
    """Number of rows and of labels."""

    n_rows: int
    n_labels: int


class Counted(Protocol):
    """Counts of some rows."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    @property
    def n_labels(self) -> int:
        """Number of labels."""


Counts = TypeVar("Counts", bound=Counted)


@dataclass(frozen=True)
class SummedMetric(Generic[Counts]):
    """A metric as sums over rows, which add up over blocks, and what follows from the sums.

    Parameters
    ----------
    sums : callable
        Counts of some rows, conventions and further arguments to one or more sums.
    value : callable
        The sums over all rows, and how many rows and labels there are, to the metric.

    Examples
    --------
    >>> from vicinal.metrics.row_counts import check_rows
    >>> rows = check_rows([[1, 0], [0, 1]], [[1, 0], [1, 1]])
    >>> mean_size = SummedMetric(lambda rows: (total(rows.predicted),), mean)
    >>> mean_size.sums(rows), mean_size(rows)
    ((3.0,), 1.5)
    """

    sums: Callable[..., Sums]
    value: Callable[[Sums, Size], float]

    def __call__(self, counts: Counts, *arguments: Any) -> float:
        """Compute the metric of all rows at once."""
        return self.value(self.sums(counts, *arguments), Size(counts.n_rows, counts.n_labels))


def total(values: NDArray[Any]) -> float:
    """Return the sum of numbers of rows as a float; sums of whole numbers are exact."""
    return float(np.sum(values, dtype=np.float64))


def mean(sums: Sums, size: Size) -> float:
    """Return the mean over rows."""
    return sums[0] / size.n_rows


def mean_per_label(sums: Sums, size: Size) -> float:
    """Return the mean over rows divided by the number of labels."""
    return sums[0] / size.n_rows / size.n_labels
