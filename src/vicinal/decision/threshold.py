"""One threshold for all labels, or one per label."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from vicinal._base.arrays import Csr, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.state import SaveableRecord
from vicinal._base.validation import check_flag, check_real
from vicinal.decision.indicator import above_labels
from vicinal.scores import Scores


@dataclass(frozen=True)
class Threshold(SaveableRecord):
    """Predict the labels whose score exceeds a fixed value.

    Parameters
    ----------
    value : float
    inclusive : bool
        Whether a score equal to `value` is enough.

    Examples
    --------
    >>> scores = Scores.dense(np.array([[0.5, 0.4], [0.6, 0.5]]))
    >>> Threshold(0.5, inclusive=True).decide(scores).toarray()
    array([[1, 0],
           [1, 1]], dtype=int32)
    >>> Threshold(0.5, inclusive=False).decide(scores).toarray()
    array([[0, 0],
           [1, 0]], dtype=int32)
    """

    value: float
    inclusive: bool = False

    def __post_init__(self) -> None:
        """Check the fields."""
        check_real("threshold", self.value)
        check_flag("inclusive", self.inclusive)

    @property
    def cut(self) -> float:
        """Labels that score more than this are predicted, and no others."""
        return float(np.nextafter(self.value, -np.inf)) if self.inclusive else float(self.value)

    def fit(self, scores: Scores, Y: Csr) -> Self:
        """Return the rule itself: there is nothing to fit."""
        return self

    def decide(self, scores: Scores) -> Csr:
        """Return the indicator of the labels that pass."""
        same = np.full(scores.shape[1], float(self.value))
        return above_labels(scores, same, inclusive=self.inclusive)


@dataclass(frozen=True, eq=False)
class LabelThresholds(SaveableRecord):
    """Predict the labels whose score is above the label's own threshold.

    Parameters
    ----------
    values : ndarray of float64, shape (L,)

    Examples
    --------
    >>> scores = Scores.dense(np.array([[0.5, 0.4], [0.6, 0.5]]))
    >>> LabelThresholds(np.array([0.5, 0.3])).decide(scores).toarray()
    array([[0, 1],
           [1, 1]], dtype=int32)
    """

    values: Float

    def __post_init__(self) -> None:
        """Check the thresholds."""
        values = self.values
        if (
            not isinstance(values, np.ndarray)
            or values.ndim != 1
            or values.dtype != np.float64
            or np.isnan(values).any()
        ):
            raise InvalidArgumentError("values", "one float64 threshold per label", repr(values))

    @property
    def cut(self) -> Float:
        """Labels that score more than this are predicted, and no others."""
        return self.values

    def fit(self, scores: Scores, Y: Csr) -> Self:
        """Return the rule itself: there is nothing to fit."""
        self._check_labels(int(Y.shape[1]))
        return self

    def decide(self, scores: Scores) -> Csr:
        """Return the indicator of the labels that pass."""
        self._check_labels(scores.shape[1])
        return above_labels(scores, self.values)

    def _check_labels(self, n_labels: int) -> None:
        """Raise unless there are `n_labels` thresholds."""
        if len(self.values) != n_labels:
            raise InvalidArgumentError("values", f"{n_labels} thresholds", len(self.values))
