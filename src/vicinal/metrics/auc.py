r"""Areas under ROC curves (AUC) and under precision-recall curves (AUC-PR).

The area is the share of (true, false) pairs of cells in which the true cell scores higher, with
ties counting half. *Macro* is the mean over labels, *micro* the area over all cells together. The
tie tolerance of the conventions does not apply: Mulan too computes areas from the scores and not
from ranks.

An area compares every true cell with every false one, so no sum over rows will do. The numbers of
true and of false cells at each distinct score of each label are enough, exactly: with
:math:`p_v` true and :math:`q_v` false cells at score *v*,

.. math:: 2 \cdot \text{pairs won} + \text{ties} =
          \sum_v p_v \Bigl(2 \sum_{u < v} q_u + q_v\Bigr).

The area under a precision-recall curve is the sum over distinct scores, from high to low, of the
precision of the cells so far times the recall that the cells at this score add:

.. math:: \frac{1}{P} \sum_v p_v \, \frac{\sum_{u \ge v} p_u}{\sum_{u \ge v} p_u + q_u}.

Methods of votes have few distinct scores (ML-kNN at most k + 1 per label), whatever the number of
rows. Where there are more than a limit, scores lose their last binary digits until they fit.
"""

import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from vicinal._core.arrays import Csr, Float, Int, Int32
from vicinal._core.threads import thread_count
from vicinal._core.validation import csr_parts
from vicinal._native import merged_counts, true_scores
from vicinal.errors import logger
from vicinal.metrics._sums import check_ranking, check_truth, ratio
from vicinal.metrics.catalogue import VICINAL, Conventions, check_conventions
from vicinal.scores import Scores

MOST_SCORES = 2**22
"""Distinct scores of all labels together that are kept: some 120 MB, and 500 while merging."""
DIGITS = (52, 32, 24, 20, 16, 14, 12, 10, 8, 7, 6, 5, 4, 3, 2, 1, 0)
"""Binary digits of a score after the first, the next fewer where too many are distinct."""


class ScoreTally:
    """Numbers of true and of all cells at each score of each label, added block by block."""

    def __init__(
        self, n_labels: int, most_scores: int = MOST_SCORES, n_jobs: int | None = None
    ) -> None:
        self._n_labels = n_labels
        self._most = most_scores
        self._n_jobs = n_jobs
        self._n_rows = 0
        self._parts: list[_Counted] = []
        self._kept = 0
        self._said = False
        self.digits = DIGITS[0]

    def add(self, truth: Csr, scores: Scores) -> None:
        """Add the cells of some rows."""
        self._n_rows += int(truth.shape[0])
        self._parts.append(self._merged([self._true_cells(truth, scores), self._all_cells(scores)]))
        waiting = sum(len(part[0]) for part in self._parts) - self._kept
        if waiting > self._most // 2:
            self._merge()

    def label_areas(self) -> Float:
        """Return the area of each label; NaN where one of the classes is missing."""
        labels, _, n_true, n_all = self._all_merged()
        n_false = n_all - n_true
        ends = np.cumsum(n_false)
        starts = np.searchsorted(labels, np.arange(self._n_labels + 1))
        before = np.concatenate([[0], ends])
        below = before[:-1] - before[starts[:-1]][labels]
        twice = _sum_by(labels, n_true * (2 * below + n_false), self._n_labels)
        carriers = _sum_by(labels, n_true, self._n_labels)
        pairs = carriers.astype(np.float64) * (self._n_rows - carriers)
        return ratio(twice, 2.0 * pairs, np.nan)

    def micro_area(self) -> float:
        """Return the area over all cells together; NaN where one of the classes is missing."""
        _, true, false = self.pooled_counts()
        n_positive, n_negative = int(true.sum()), int(false.sum())
        if n_positive == 0 or n_negative == 0:
            return float("nan")
        some = np.flatnonzero(true)
        beaten = (2 * np.cumsum(false) - false)[some]
        # Products of counts of cells may pass what 64 bits hold: added as Python's own integers.
        twice = sum(p * q for p, q in zip(true[some].tolist(), beaten.tolist(), strict=True))
        return float(twice) / (2.0 * n_positive * n_negative)

    def label_pr_areas(self) -> Float:
        """Return the area under the precision-recall curve of each label; NaN without true rows."""
        labels, _, n_true, n_all = self._all_merged()
        starts = np.searchsorted(labels, np.arange(self._n_labels + 1))
        true_above, all_above = (_sums_from_the_end(each, starts) for each in (n_true, n_all))
        parts = n_true * ratio(true_above, all_above, 0.0)
        sums = np.bincount(labels, parts, minlength=self._n_labels)
        return ratio(sums, _sum_by(labels, n_true, self._n_labels), np.nan)

    def pooled_counts(self) -> tuple[Float, Int, Int]:
        """Return the distinct scores, ascending, with their numbers of true and of false cells."""
        labels, values, n_true, n_all = self._all_merged()
        together = np.zeros_like(labels)
        _, values, n_true, n_all = merged_counts(together, values, n_true, n_all, 1, 1)
        return values, n_true, n_all - n_true

    def micro_pr_area(self) -> float:
        """Return the area under the precision-recall curve of all cells; NaN without true ones."""
        _, true, false = self.pooled_counts()
        if not true.sum():
            return float("nan")
        ends = np.array([0, len(true)])
        true_above, all_above = (_sums_from_the_end(each, ends) for each in (true, true + false))
        return float(np.sum(true * ratio(true_above, all_above, 0.0)) / true.sum())

    def _true_cells(self, truth: Csr, scores: Scores) -> "_Counted":
        """Return the scores of true cells, one by one."""
        indptr, indices = csr_parts(truth)
        values = true_scores(scores.native_rows(), indptr, indices)
        ones = np.ones(len(values), dtype=np.int64)
        return indices, cut(values, self.digits), ones, np.zeros_like(ones)

    def _all_cells(self, scores: Scores) -> "_Counted":
        """Return the scores of all cells; those of a label that are not stored make one entry."""
        n_rows, n_labels = scores.shape
        stored = scores.values
        if isinstance(stored, np.ndarray):
            labels = np.tile(np.arange(n_labels, dtype=np.int32), n_rows)
            values = stored.ravel()
            counts = np.ones(len(values), dtype=np.int64)
        else:
            absent = n_rows - np.bincount(stored.indices, minlength=n_labels)
            labels = np.concatenate([stored.indices, np.arange(n_labels)]).astype(np.int32)
            values = np.concatenate([stored.data, scores.base])
            counts = np.concatenate([np.ones(stored.nnz, dtype=np.int64), absent])
        return labels, cut(values, self.digits), np.zeros_like(counts), counts

    def _all_merged(self) -> "_Counted":
        """Merge what was added; say once where scores were cut."""
        merged = self._merge()
        if self.digits < DIGITS[0] and not self._said:
            self._said = True
            logger.info(
                "areas under curves: more than %d different scores; compared by their first "
                "%d binary digits",
                self._most,
                self.digits + 1,
            )
        return merged

    def _merge(self) -> "_Counted":
        """Merge what was added; scores lose digits until as few are distinct as may be."""
        parts, self._parts = self._parts, []
        merged = parts[0] if len(parts) == 1 else self._merged(parts)  # each part is merged
        while len(merged[0]) > self._most and self.digits > DIGITS[-1]:
            self.digits = next(each for each in DIGITS if each < self.digits)
            labels, values, n_true, n_all = merged
            parts = [(labels, cut(values, self.digits), n_true, n_all)]
            del merged, labels, values, n_true, n_all
            merged = self._merged(parts)
        self._parts, self._kept = [merged], len(merged[0])
        return merged

    def _merged(self, parts: list["_Counted"]) -> "_Counted":
        """Return the parts as one, sorted by label and score, each pair once; the list is emptied.

        With many labels these are the largest arrays of an evaluation: few copies are held at once.
        """
        columns: list[Any] = list(zip(*parts, strict=True))
        parts.clear()
        used = np.concatenate([t + a > 0 for t, a in zip(columns[2], columns[3], strict=True)])
        for place in range(len(columns)):
            columns[place] = np.concatenate(columns[place])
            if not used.all():
                columns[place] = columns[place][used]
        labels, values, n_true, n_all = columns
        return merged_counts(
            labels, values, n_true, n_all, self._n_labels, thread_count(self._n_jobs)
        )


_Counted = tuple[Int32, Float, Int, Int]
"""Labels, scores, numbers of true cells and of all cells."""


def mean_area(areas: Float, rules: Conventions) -> float:
    """Return the mean area of the labels that have one."""
    usable = ~np.isnan(areas)
    if not usable.any() or (rules.auc_needs_all and not usable.all()):
        return float("nan")
    return float(np.mean(areas[usable]))


def cut(values: Float, digits: int) -> Float:
    """Return numbers without their last binary digits, towards 0."""
    if digits >= DIGITS[0]:
        return values
    mask = np.int64(-1) << np.int64(DIGITS[0] - digits)
    bits = np.ascontiguousarray(values, dtype=np.float64).view(np.int64) & mask
    return bits.view(np.float64)


def _sums_from_the_end(counts: Int, starts: Int) -> Float:
    """Return, for each entry, the sum from it to the end of its run."""
    before = np.concatenate([[0], np.cumsum(counts)])
    run = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    sums: Float = (before[starts[1:]][run] - before[:-1]).astype(np.float64)
    return sums


def _sum_by(group: Int | Int32, counts: Int, n_groups: int) -> Int:
    """Return the sum of whole numbers in each group, exactly."""
    sums = np.zeros(n_groups, dtype=np.int64)
    np.add.at(sums, group, counts)
    return sums


def macro_auc(
    Y_true: object, scores: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    """Mean AUC over the labels that some but not all rows have; NaN if there are none.

    Examples
    --------
    Label 0: the true row beats one of two false rows. Label 1: all rows tie.

    >>> Y = [[1, 1], [0, 0], [0, 0]]
    >>> macro_auc(Y, [[0.5, 0.2], [0.4, 0.2], [0.6, 0.2]])
    0.5
    """
    rules = check_conventions(conventions)
    return AREAS["macro-auc"](_check(Y_true, scores), rules)


def micro_auc(Y_true: object, scores: object) -> float:
    """AUC over all cells together; NaN if all cells are true or all are false.

    Examples
    --------
    True cells score 0.5 and 0.3, false ones 0.4 and 0.3: (1 + 1 + 0 + 1/2) / 4.

    >>> micro_auc([[1, 0], [0, 1]], [[0.5, 0.4], [0.3, 0.3]])
    0.625
    """
    return AREAS["micro-auc"](_check(Y_true, scores), VICINAL)


def macro_auc_pr(Y_true: object, scores: object) -> float:
    """Mean area under the precision-recall curve over the labels that some row has.

    The area is the average precision of scikit-learn, without interpolation. NaN if no label has a
    row.

    Examples
    --------
    The true row is second of three: precision 1/2 at recall 1.

    >>> macro_auc_pr([[0], [1], [0]], [[0.9], [0.5], [0.1]])
    0.5
    """
    return AREAS["macro-auc-pr"](_check(Y_true, scores), VICINAL)


def micro_auc_pr(Y_true: object, scores: object) -> float:
    """Area under the precision-recall curve over all cells together; NaN without a true cell.

    Examples
    --------
    >>> micro_auc_pr([[1, 0], [0, 1]], [[0.9, 0.5], [0.1, 0.2]])
    0.8333333333333333
    """
    return AREAS["micro-auc-pr"](_check(Y_true, scores), VICINAL)


def tallied(truth: Csr, scores: Scores, n_jobs: int | None = None) -> ScoreTally:
    """Return the exact counts of the cells of all rows, which are never made dense."""
    tally = ScoreTally(int(truth.shape[1]), sys.maxsize, n_jobs)
    tally.add(truth, scores)
    return tally


def _check(Y_true: object, scores: object) -> ScoreTally:
    """Validate the arguments, then count."""
    truth = check_truth(Y_true)
    return tallied(truth, check_ranking(scores, truth))


AREAS: Mapping[str, Callable[[ScoreTally, Conventions], float]] = MappingProxyType(
    {
        "macro-auc": lambda tally, rules: mean_area(tally.label_areas(), rules),
        "micro-auc": lambda tally, _: tally.micro_area(),
        "macro-auc-pr": lambda tally, _: mean_area(tally.label_pr_areas(), VICINAL),
        "micro-auc-pr": lambda tally, _: tally.micro_pr_area(),
    }
)
"""The areas, given counts of cells at each score."""
