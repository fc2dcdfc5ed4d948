r"""MCut: the threshold of each row lies in the largest gap between its sorted scores.

With the scores of a row sorted, :math:`s_1 \ge s_2 \ge \dots \ge s_L`,

.. math:: j = \arg\max_j (s_j - s_{j+1}), \qquad t = \tfrac12 (s_j + s_{j+1})

References
----------
C. Largeron, C. Moulin, M. Géry, "MCut: a thresholding strategy for multi-label classification",
IDA 2012.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Float, row_ids
from vicinal._base.state import SaveableRecord
from vicinal.decision.indicator import above_rows
from vicinal.decision.label_sweep import first_best, midway
from vicinal.scores import Scores

BLOCK_CELLS = 2**20
"""Number of cells processed together if labels have different base scores."""


@dataclass(frozen=True)
class MCut(SaveableRecord):
    """Predict the labels above the largest gap in the scores of their row.

    Notes
    -----
    There is nothing to fit. Among equally large gaps the highest wins. If all scores of a row are
    equal, or there is only one label, there is no gap and nothing is predicted.

    Cost: one sort of the stored scores. If labels have different base scores (the ML-kNN family),
    one sort of all L scores of each row, for a bounded number of rows at a time.

    Examples
    --------
    >>> scores = Scores.dense(np.array([[0.9, 0.8, 0.1], [0.3, 0.2, 0.9], [0.5, 0.5, 0.5]]))
    >>> MCut().decide(scores).toarray()
    array([[1, 1, 0],
           [0, 0, 1],
           [0, 0, 0]], dtype=int32)
    """

    def fit(self, scores: Scores, Y: Csr) -> Self:
        """Return the rule itself: there is nothing to fit."""
        return self

    def decide(self, scores: Scores) -> Csr:
        """Return the indicator of the labels above their row's gap."""
        return above_rows(scores, _thresholds(scores))


def _thresholds(scores: Scores) -> Float:
    """Return the threshold of each row."""
    n_rows, n_labels = scores.shape
    if n_rows * n_labels == 0:
        return np.zeros(n_rows)
    if isinstance(scores.values, sparse.csr_array) and np.all(scores.base == scores.base[0]):
        return _above_one_base(scores.values, float(scores.base[0]))
    rows = max(1, BLOCK_CELLS // n_labels)
    starts = range(0, n_rows, rows)
    return np.concatenate([_of_full_rows(scores.rows(at, at + rows).toarray()) for at in starts])


def _of_full_rows(values: Float) -> Float:
    """Return the thresholds of rows with a score for every label."""
    descending = -np.sort(-values, axis=1)
    if descending.shape[1] == 1:
        return descending[:, 0]
    gaps = descending[:, :-1] - descending[:, 1:]
    at = np.argmax(gaps, axis=1)[:, None]
    high, low = (np.take_along_axis(descending, place, axis=1)[:, 0] for place in (at, at + 1))
    return np.where(high > low, midway(high, low), descending[:, 0])


def _above_one_base(stored: Csr, base: float) -> Float:
    """Return the thresholds of rows in which every label not stored scores `base`."""
    n_rows, n_labels = stored.shape
    partial = np.flatnonzero(np.diff(stored.indptr) < n_labels)
    rows = np.concatenate([row_ids(stored), partial])
    values = np.concatenate([stored.data, np.full(len(partial), base)])
    order = np.lexsort((-values, rows))
    rows, values = rows[order], values[order]
    below = np.append(values[1:], 0.0)
    last_of_row = np.append(rows[1:] != rows[:-1], True)
    below[last_of_row] = values[last_of_row]
    at = first_best(rows, values - below)
    highest = values[np.searchsorted(rows, np.arange(n_rows))]
    return np.where(values[at] > below[at], midway(values[at], below[at]), highest)
