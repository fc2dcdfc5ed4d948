"""RCut: the same number of labels for every row.

References
----------
Y. Yang, "A study of thresholding strategies for text categorization", SIGIR 2001.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from vicinal._base.arrays import Csr
from vicinal._base.state import SaveableRecord
from vicinal._base.validation import check_integer
from vicinal.decision.top_s import TopS
from vicinal.scores import Scores


@dataclass(frozen=True)
class RCut(SaveableRecord):
    r"""Predict the *r* highest-scoring labels of each row, ties to the lower label index.

    Parameters
    ----------
    r : int or None
        None for the mean number of labels of the training rows, rounded (halves up).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 0]], dtype=np.int32))
    >>> RCut().fit(Scores.dense(np.zeros((2, 3))), Y)
    TopS(s=2)
    """

    r: int | None = None

    def __post_init__(self) -> None:
        """Check r."""
        if self.r is not None:
            check_integer("r", self.r, low=0)

    def fit(self, scores: Scores, Y: Csr) -> TopS:
        """Return the rule for r labels per row."""
        return self.fit_blocks([scores], Y)

    def fit_blocks(self, blocks: Iterable[Scores], Y: Csr) -> TopS:
        """Return the same rule; only the labels are used."""
        if self.r is not None:
            return TopS(self.r)
        n_rows = max(int(Y.shape[0]), 1)
        return TopS((2 * int(Y.nnz) + n_rows) // (2 * n_rows))
