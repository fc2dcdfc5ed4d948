r"""Co-occurrence: labels that go with those another part is sure of.

.. math:: s(x, l) = \sum_{l' \ne l} r(x, l') \frac{n(l, l')}{n(l') + s}

with :math:`r` the scores of another part, clipped to [0, 1], and :math:`n` counts of training rows.
Of a training row its own share in the counts is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Float
from vicinal._base.state import FieldState, State, read_array, read_csr

SMOOTHING = 5.0


@dataclass(frozen=True, eq=False)
class CoOccurrence(FieldState):
    """How often labels share a row.

    Parameters
    ----------
    pairs : csr_array of float64, shape (L, L)
        Rows that have both labels; the diagonal is empty.
    counts : ndarray of float64, shape (L,)
        Rows that have the label.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 1], [1, 0]]))
    >>> both = CoOccurrence.fit(Y)
    >>> both.scores(np.array([[0.7, 2.0]])).round(4)
    array([[0.1667, 0.1   ]])
    """

    pairs: Csr
    counts: Float

    @classmethod
    def fit(cls, Y: Csr) -> Self:
        """Count."""
        labels = Y.astype(np.float64)
        pairs = sparse.csr_array(labels.T @ labels)
        pairs.setdiag(0)
        pairs.eliminate_zeros()
        pairs.sort_indices()
        return cls(pairs, np.bincount(Y.indices, minlength=Y.shape[1]).astype(np.float64))

    def scores(self, of_part: Float) -> Float:
        """Return the scores of rows from those that a part gives them, shape (n, L)."""
        share = np.clip(of_part, 0.0, 1.0) / (self.counts + SMOOTHING)
        return np.asarray(share @ self.pairs)

    def training_scores(self, of_part: Float, Y: Csr) -> Float:
        """Return the scores of training rows that have labels `Y`, left out of the counts."""
        clipped = np.clip(of_part, 0.0, 1.0)
        own = Y.multiply(clipped).toarray()
        less = self.counts + SMOOTHING - 1.0
        changed = clipped / (self.counts + SMOOTHING)
        changed += own * (1.0 / less - 1.0 / (self.counts + SMOOTHING))
        own /= less
        theirs = Y.multiply(own.sum(axis=1, keepdims=True) - own).toarray()
        left_out: Float = np.asarray(changed @ self.pairs) - theirs
        return left_out

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        counts = read_array(state, "counts", np.float64, (None,))
        return cls(read_csr(state, "pairs", (len(counts), len(counts))), counts)
