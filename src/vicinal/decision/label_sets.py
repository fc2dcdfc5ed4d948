"""Label sets that a method predicts as a whole.

References
----------
E. Spyromitros, G. Tsoumakas, I. Vlahavas, "An empirical study of lazy multilabel classification
algorithms", SETN 2008 (LPkNN).
"""

from dataclasses import dataclass
from typing import Self

from vicinal._base.arrays import Csr
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.state import SaveableRecord
from vicinal.scores import Scores


@dataclass(frozen=True)
class LabelSets(SaveableRecord):
    """Predict the label set that the method chose for each row (LPkNN).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> picked = sparse.csr_array(np.array([[0, 1, 1]], dtype=np.int32))
    >>> stored = sparse.csr_array(np.array([[0.6, 0.4, 0.4]]))
    >>> LabelSets().decide(Scores.sparse(stored, label_sets=picked)).toarray()
    array([[0, 1, 1]], dtype=int32)
    """

    def fit(self, scores: Scores, Y: Csr) -> Self:
        """Return the rule itself: there is nothing to fit."""
        return self

    def decide(self, scores: Scores) -> Csr:
        """Return the sets."""
        if scores.label_sets is None:
            raise InvalidArgumentError(
                "threshold", "a rule on scores, since this method chooses no label sets", repr(self)
            )
        return scores.label_sets
