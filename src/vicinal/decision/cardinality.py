r"""The threshold at which as many labels are predicted on the training rows as they have.

With :math:`N = \sum_i |Y_i|` and leave-one-out scores of the training rows, the threshold *t* whose
count of scores above *t* is nearest to *N* is the (N+1)-th largest score, or next to it under ties.

References
----------
L. Feremans, B. Cule, C. Vens, B. Goethals, "Combining instance and feature neighbors for efficient
multi-label classification", DSAA 2017.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Float, Int
from vicinal._base.state import SaveableRecord
from vicinal._base.validation import check_option
from vicinal.decision.threshold import Threshold
from vicinal.scores import Scores


@dataclass(frozen=True)
class CardinalityThreshold(SaveableRecord):
    """Fit one threshold so that predicted label cardinality is nearest to the true one.

    Parameters
    ----------
    method : {"exact", "two-pass"}
        ``"exact"`` takes the order statistic. ``"two-pass"`` is the procedure of the paper: t in
        {0, 0.1, …, 1}, then the best ± 0.05 in steps of 0.01, the first best wins.

    Examples
    --------
    Three labels on the training rows, so the fourth largest score:

    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 1]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.9, 0.35], [0.8, 0.42]]))
    >>> CardinalityThreshold().fit(scores, Y)
    Threshold(value=0.35, inclusive=False)
    >>> CardinalityThreshold("two-pass").fit(scores, Y)
    Threshold(value=0.35, inclusive=False)
    """

    method: str = "exact"

    def __post_init__(self) -> None:
        """Check the method's name."""
        check_option("method", self.method, ("exact", "two-pass"))

    def fit(self, scores: Scores, Y: Csr) -> Threshold:
        """Return the threshold fitted on leave-one-out scores and labels of the training rows."""
        values, counts = pooled(scores)
        choose = _exact if self.method == "exact" else _two_pass
        return choose(values, np.cumsum(counts), int(Y.nnz))


def pooled(scores: Scores) -> tuple[Float, Int]:
    """Return the distinct scores of all cells, falling, and how many cells have each.

    Examples
    --------
    >>> stored = sparse.csr_array(np.array([[0.5, 0.2], [0.0, 0.5]]))
    >>> pooled(Scores.sparse(stored))
    (array([0.5, 0.2, 0. ]), array([2, 1, 1]))
    """
    if not isinstance(scores.values, sparse.csr_array):
        values, counts = np.unique(scores.values, return_counts=True)
        return values[::-1], counts[::-1].astype(np.int64)
    stored = scores.values
    n_rows, n_labels = scores.shape
    absent = n_rows - np.bincount(stored.indices, minlength=n_labels)
    values, counts = np.unique(stored.data, return_counts=True)
    bases, group = np.unique(scores.base[absent > 0], return_inverse=True)
    cells = np.zeros(len(bases), dtype=np.int64)
    np.add.at(cells, group, absent[absent > 0])
    # The two are merged, not pooled and sorted again: bases are few, scores are many.
    at = np.searchsorted(values, bases)
    known = at < np.searchsorted(values, bases, side="right")
    counts[at[known]] += cells[known]
    values = np.insert(values, at[~known], bases[~known])
    counts = np.insert(counts, at[~known], cells[~known])
    return values[::-1], counts[::-1]


def _exact(values: Float, above: Int, wanted: int) -> Threshold:
    """Return the score t with the count of scores > t nearest to `wanted`.

    ``above[j]`` cells score at least ``values[j]``: as many as pass t = ``values[j + 1]``. Of two t
    equally near the larger is taken, which is the (N+1)-th largest score itself.
    """
    if len(values) == 0:
        return Threshold(0.0)
    passing = np.concatenate([[0], above])
    best = int(np.argmin(np.abs(passing - wanted)))
    if best < len(values):
        return Threshold(float(values[best]))
    return Threshold(float(values[-1]), inclusive=True)  # every cell passes


def _two_pass(values: Float, above: Int, wanted: int) -> Threshold:
    """Return the paper's threshold: a coarse pass over [0, 1], then a fine one around its best."""
    rising = -values

    def miss(hundredths: int) -> int:
        passing = int(np.searchsorted(rising, -hundredths / 100, side="left"))
        return abs((int(above[passing - 1]) if passing else 0) - wanted)

    coarse = min(range(0, 101, 10), key=miss)
    return Threshold(min(range(coarse - 5, coarse + 6), key=miss) / 100)
