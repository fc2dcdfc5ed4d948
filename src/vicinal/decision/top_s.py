r"""The s best labels of each row.

References
----------
E. Spyromitros, G. Tsoumakas, I. Vlahavas, "An empirical study of lazy multilabel classification
algorithms", SETN 2008 (BRkNN-b).
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from vicinal._base.arrays import Csr, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.state import SaveableRecord
from vicinal._base.validation import check_integer
from vicinal.decision.indicator import from_entries
from vicinal.scores import Scores


@dataclass(frozen=True)
class TopS(SaveableRecord):
    r"""Predict the *s* highest-scoring labels, ties to the lower label index.

    Parameters
    ----------
    s : int or None
        None for :math:`\lfloor z + 1/2 \rfloor` labels per row, where *z* is the mean number of
        labels of the row's neighbours.

    Examples
    --------
    >>> scores = Scores.dense(np.array([[0.2, 0.9, 0.2], [0.0, 0.0, 1.0]]), np.array([1.5, 0.4]))
    >>> TopS().decide(scores).toarray()
    array([[1, 1, 0],
           [0, 0, 0]], dtype=int32)
    >>> TopS(1).decide(scores).toarray()
    array([[0, 1, 0],
           [0, 0, 1]], dtype=int32)
    """

    s: int | None = None

    def __post_init__(self) -> None:
        """Check s."""
        if self.s is not None:
            check_integer("s", self.s, low=0)

    def fit(self, scores: Scores, Y: Csr) -> Self:
        """Return the rule itself: there is nothing to fit."""
        return self

    def decide(self, scores: Scores) -> Csr:
        """Return the indicator of the best labels."""
        n_rows = scores.shape[0]
        sizes = self._sizes(scores)
        widest = int(sizes.max(initial=0))
        if widest == 0:
            empty = np.empty(0, dtype=np.int64)
            return from_entries(empty, empty, scores.shape)
        ids, _ = scores.top(widest)
        chosen = np.arange(widest) < sizes[:, None]
        rows = np.repeat(np.arange(n_rows), sizes)
        return from_entries(rows, ids[chosen].astype(np.int64), scores.shape)

    def _sizes(self, scores: Scores) -> Int:
        """Return the number of labels predicted for each row, at most all labels."""
        n_rows, n_labels = scores.shape
        if self.s is not None:
            return np.full(n_rows, min(self.s, n_labels), dtype=np.int64)
        if scores.neighbor_cardinality is None:
            raise InvalidArgumentError(
                "s", "an integer, since this method's scores do not come from neighbours", None
            )
        wanted: Int = np.floor(scores.neighbor_cardinality + 0.5).astype(np.int64)
        return np.minimum(wanted, n_labels)
