r"""One threshold for all labels that optimises a metric on the training rows.

A threshold only matters through the distinct scores :math:`v_1 > v_2 > \dots` above it. The sweep
lowers the threshold past one score after the other. Each time, it updates the true and false
positives of the rows (or labels, or of all cells together) that have this score and recomputes only
the terms of the metric that changed. In this way every possible threshold is evaluated.

The curve of micro-F1 over the thresholds is flat near its top, so with few rows its highest point
says little. If the scores are probabilities, they say how many true labels to expect above a
threshold: :math:`\sum_{p > t} p`. With `trust` c and n true labels, true positives are
:math:`\frac{n}{n + c}` of those counted and :math:`\frac{c}{n + c}` of those expected.

References
----------
Y. Yang, "A study of thresholding strategies for text categorization", SIGIR 2001;
R.-E. Fan, C.-J. Lin, "A study on threshold selection for multi-label classification", 2007.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from vicinal._core.arrays import Csr, Float, Int
from vicinal._core.checks import check_option, check_real
from vicinal._core.state import SaveableRecord
from vicinal.decision._cells import ScoreCells, ScoredTruth, midway, running, starts
from vicinal.decision.threshold import Threshold
from vicinal.errors import InvalidArgumentError
from vicinal.scores import Scores

Term = Callable[[Int, Int, Int, int], Float]
"""Computes a term of at most 1, higher is better, from tp, fp, true labels and number of cells."""


def _f1(empty: float) -> Term:
    """Return 2tp / (predicted + true), or `empty` if nothing is predicted and nothing is true."""

    def term(tp: Int, fp: Int, true: Int, n_cells: int) -> Float:
        both = tp + fp + true
        return np.where(both == 0, empty, 2 * tp / np.maximum(both, 1))

    return term


def _jaccard(tp: Int, fp: Int, true: Int, n_cells: int) -> Float:
    """Return the share of the union that is in both sets, or 1 if the union is empty."""
    union = fp + true
    return np.where(union == 0, 1.0, tp / np.maximum(union, 1))


def _exact(tp: Int, fp: Int, true: Int, n_cells: int) -> Float:
    """Return 1 if the sets are equal, else 0."""
    equal: Float = ((fp == 0) & (tp == true)).astype(np.float64)
    return equal


def _agreement(tp: Int, fp: Int, true: Int, n_cells: int) -> Float:
    """Return the share of correct cells."""
    right: Float = (n_cells - fp - true + tp) / max(n_cells, 1)
    return right


_METRICS: dict[str, tuple[Literal["all", "label", "row"], Term]] = {
    "micro-f1": ("all", _f1(0.0)),
    "macro-f1": ("label", _f1(0.0)),
    "example-f1": ("row", _f1(1.0)),
    "example-accuracy": ("row", _jaccard),
    "jaccard-loss": ("row", _jaccard),
    "subset-accuracy": ("row", _exact),
    "hamming-loss": ("all", _agreement),
}


@dataclass(frozen=True)
class MetricThreshold(SaveableRecord):
    """Fit one threshold that optimises a metric on the training rows.

    Parameters
    ----------
    metric : str
        ``"micro-f1"``, ``"macro-f1"``, ``"example-f1"``, ``"example-accuracy"``,
        ``"jaccard-loss"``, ``"subset-accuracy"`` or ``"hamming-loss"``, as defined in
        :mod:`vicinal.metrics`.
    trust : float
        For micro-F1 of scores that are calibrated probabilities: how many true labels the scores
        are worth as evidence. 0: only labels of training rows count.

    Notes
    -----
    The threshold lies midway between the lowest score above it and the next one, or at the highest
    score if nothing is to be predicted. Among equally good thresholds the highest wins, as it
    predicts the fewest labels. Example-based and macro metrics are sums of rounded terms (to 2⁻⁶²
    of the number of rows or labels), so the order of rows does not matter.

    Cost: sorting the stored scores; for the example-based metrics n further steps per distinct base
    score, until no lower threshold can be better. Memory: the scores of all training rows together
    and about 100 bytes per stored score (or per cell, if scores are dense), because the best
    threshold is not known before the score of the last true label has been seen.

    Examples
    --------
    Scores above t are predicted. From the highest score down: right, wrong, right, wrong.

    >>> from scipy import sparse
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.75, 0.625], [0.5, 0.25]]))
    >>> MetricThreshold("micro-f1").fit(scores, Y)
    Threshold(value=0.375, inclusive=False)
    >>> MetricThreshold("hamming-loss").fit(scores, Y)
    Threshold(value=0.6875, inclusive=False)

    If scores are probabilities, the label that was right at 0.125 was luck:

    >>> scores = Scores.dense(np.array([[0.75, 0.25], [0.125, 0.0625]]))
    >>> MetricThreshold("micro-f1").fit(scores, Y)
    Threshold(value=0.09375, inclusive=False)
    >>> MetricThreshold("micro-f1", trust=100).fit(scores, Y)
    Threshold(value=0.5, inclusive=False)
    """

    metric: str = "micro-f1"
    trust: float = 0.0

    def __post_init__(self) -> None:
        """Check the metric's name and the trust."""
        check_option("metric", self.metric, tuple(_METRICS))
        check_real("trust", self.trust, low=0)
        if self.trust and self.metric != "micro-f1":
            raise InvalidArgumentError("trust", f"0 for {self.metric}", self.trust)

    def fit(self, scores: Scores, Y: Csr) -> Threshold:
        """Return the threshold fitted on scores and labels of the training rows."""
        average, term = _METRICS[self.metric]
        truth = ScoredTruth(scores, Y)
        n_cells = truth.n_rows * truth.n_labels
        if average == "row":
            sweep = _Sweep(np.diff(Y.indptr), n_cells, term)
            return _best(sweep, truth.by_row())
        if average == "label":
            sweep = _Sweep(np.bincount(Y.indices, minlength=truth.n_labels), n_cells, term)
            return _best(sweep, iter([truth.by_label()]))
        if self.trust:
            return _best_expected(truth.pooled(), Y.nnz, self.trust / (self.trust + Y.nnz))
        sweep = _Sweep(np.array([Y.nnz]), n_cells, term)
        return _best(sweep, iter([truth.pooled()]))


def _best(sweep: "_Sweep", blocks: Iterator[ScoreCells]) -> Threshold:
    """Add blocks of descending scores until no lower threshold can be better."""
    best, at = sweep.total, 0
    values: list[Float] = []
    for cells in blocks:
        scores, totals = sweep.let_pass(cells)
        if len(totals) and totals.max() > best:
            best, at = int(totals.max()), sum(map(len, values)) + int(totals.argmax()) + 1
        values.append(scores)
        if sweep.bound() < best:
            break
    return _below(np.concatenate(values), at)


def _best_expected(cells: ScoreCells, n_true: int, share: float) -> Threshold:
    """Return the threshold of the best micro-F1 if a share of the true positives is expected."""
    cells = cells.descending().distinct()
    sizes = cells.true + cells.false
    expected = np.clip(cells.values, 0.0, 1.0) * sizes
    found = np.cumsum((1.0 - share) * cells.true + share * expected)
    f1 = 2.0 * found / np.maximum(np.cumsum(sizes) + n_true, 1)
    at = int(f1.argmax()) + 1 if len(f1) and f1.max() > 0 else 0
    return _below(cells.values, at)


def _below(every: Float, at: int) -> Threshold:
    """Return a threshold that exactly the first `at` of descending scores exceed."""
    if len(every) == 0:
        return Threshold(0.0)
    if at == 0:
        return Threshold(float(every[0]))
    if at == len(every):
        return Threshold(float(every[-1]), inclusive=True)
    return Threshold(float(midway(every[at - 1], every[at])))


class _Sweep:
    """The sum of a metric's terms while the threshold is lowered.

    Terms are integer multiples of a power of two, so that additions and subtractions are exact.
    """

    def __init__(self, true: Int, n_cells: int, term: Term) -> None:
        self._true = true.astype(np.int64)
        self._n_cells = n_cells
        self._term = term
        self._scale = 2.0 ** (62 - max(len(true) - 1, 0).bit_length())
        self._tp = np.zeros_like(self._true)
        self._fp = np.zeros_like(self._true)
        self._terms = self._rounded(self._tp, self._fp, self._true)
        self.total = int(self._terms.sum())

    def _rounded(self, tp: Int, fp: Int, true: Int) -> Int:
        """Return terms as integer multiples of 1 / scale."""
        return np.rint(self._term(tp, fp, true, self._n_cells) * self._scale).astype(np.int64)

    def bound(self) -> int:
        """Return an upper bound on the sum: every true label found, no new error."""
        return int(self._rounded(self._true, self._fp, self._true).sum())

    def let_pass(self, cells: ScoreCells) -> tuple[Float, Int]:
        """Return the distinct scores of `cells`, descending, and the sum after adding each."""
        if len(cells.values) == 0:
            return cells.values, cells.true
        cells = cells.descending()
        units = cells.units
        first = starts(units)
        last = np.append(first[1:], len(units)) - 1
        tp = self._tp[units] + running(cells.true, first)
        fp = self._fp[units] + running(cells.false, first)
        terms = self._rounded(tp, fp, self._true[units])
        before = np.append(0, terms[:-1])
        before[first] = self._terms[units[first]]
        ended = units[last]
        self._tp[ended], self._fp[ended], self._terms[ended] = tp[last], fp[last], terms[last]
        return self._by_score(cells.values, terms - before)

    def _by_score(self, values: Float, changes: Int) -> tuple[Float, Int]:
        """Add up the changes of each score."""
        order = np.argsort(-values, kind="stable")
        values, changes = values[order], changes[order]
        first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
        totals = self.total + np.cumsum(np.add.reduceat(changes, first))
        self.total = int(totals[-1])
        return values[first], totals
