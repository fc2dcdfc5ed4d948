"""One threshold for all labels."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Bool, Csr, Float
from vicinal._base.state import SaveableRecord
from vicinal._base.validation import check_flag, check_real
from vicinal.decision.indicator import where_chosen
from vicinal.scores import Scores


@dataclass(frozen=True)
class Threshold(SaveableRecord):
    """Predict the labels whose score passes a fixed value.

    Parameters
    ----------
    value : float
    inclusive : bool
        Whether a score equal to `value` passes.

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

    def fit(self, scores: Scores, Y: Csr) -> Self:
        """Return the rule itself: there is nothing to fit."""
        return self

    def passes(self, values: Float) -> Bool:
        """Tell which scores pass."""
        return values >= self.value if self.inclusive else values > self.value

    def decide(self, scores: Scores) -> Csr:
        """Return the indicator of the labels that pass."""
        if isinstance(scores.values, sparse.csr_array):
            return where_chosen(scores, self.passes(scores.values.data), self.passes(scores.base))
        return sparse.csr_array(self.passes(scores.values).astype(np.int32))
