r"""Rules of thresholds and of the first labels of a row.

MCut [1]_ cuts in the middle of the largest gap between the sorted scores
:math:`s_1 \ge s_2 \ge \dots \ge s_L` of a row: with :math:`j = \arg\max_j (s_j - s_{j+1})`, the
threshold is :math:`\tfrac12 (s_j + s_{j+1})`. TopS is the rule of BRkNN-b [2]_, RCut that of [3]_.

References
----------
.. [1] C. Largeron, C. Moulin, M. Géry, "MCut: a thresholding strategy for multi-label
   classification", IDA 2012.
.. [2] E. Spyromitros, G. Tsoumakas, I. Vlahavas, "An empirical study of lazy multilabel
   classification algorithms", SETN 2008.
.. [3] Y. Yang, "A study of thresholding strategies for text categorization", SIGIR 2001.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from vicinal._core.arrays import SMALL_BLOCK_CELLS, Csr, Float, Int, row_ids
from vicinal._core.checks import check_flag, check_integer, check_real
from vicinal._core.state import SaveableRecord
from vicinal.decision._cells import above_labels, above_rows, first_best, from_entries, midway
from vicinal.decision.rule import FixedRule
from vicinal.errors import InvalidArgumentError
from vicinal.scores import Scores


@dataclass(frozen=True)
class Threshold(FixedRule):
    """Predict the labels whose score exceeds a fixed value.

    Parameters
    ----------
    value : float
        The threshold: labels with a higher score are predicted.
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
        One threshold per label.

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


@dataclass(frozen=True)
class TopS(FixedRule):
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


@dataclass(frozen=True)
class MCut(FixedRule):
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
    rows = max(1, SMALL_BLOCK_CELLS // n_labels)
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
