r"""Ranking metrics: the order of a row's labels by score.

:math:`Y_i` are the true labels of row i; :math:`r_i(l)` is the rank of label l, 1 for the highest
score, with ties broken by the lower label id unless the conventions differ.

This is the thin module through which the metrics reach the compiled core for ranks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np

from vicinal._core.arrays import Bool, Csr, Float, Int, Int32
from vicinal._core.threads import thread_count
from vicinal._core.validation import csr_parts
from vicinal._native import place_true_labels
from vicinal.metrics._sums import (
    SummedMetric,
    Values,
    check_ranking,
    check_truth,
    mean_per_label,
    ratio,
    row_sizes,
)
from vicinal.metrics.catalogue import Conventions, TieRule, check_conventions
from vicinal.scores import Scores


@dataclass(frozen=True, eq=False)
class TrueRanks:
    """Ranks of the true labels from 1, row by row: 20 bytes per true label, whatever L is."""

    truth: Csr
    best: Int32
    lower: Int32
    worst: Int32

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.truth.shape[0]

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return self.truth.shape[1]

    @cached_property
    def sizes(self) -> Int:
        """How many true labels each row has."""
        return row_sizes(self.truth)

    @cached_property
    def row_of(self) -> Int:
        """The row of each true label."""
        return np.repeat(np.arange(self.n_rows), self.sizes)

    def under(self, rule: TieRule) -> Int:
        """Return the ranks with ties broken by `rule`."""
        if rule == "worst":
            return self.worst.astype(np.int64)
        if rule == "lower":
            return self.lower.astype(np.int64)
        return self.best.astype(np.int64) + self.worst - self.lower

    def true_up_to(self, ranks: Int) -> Int:
        """Count, for each true label, the row's true labels up to its rank, including itself."""
        keys = self.row_of * (self.n_labels + 1) + ranks
        in_rows_before = self.truth.indptr[self.row_of]
        return np.searchsorted(np.sort(keys), keys, side="right") - in_rows_before

    def row_sums(self, values: Float | Int | Bool) -> Float:
        """Sum values of true labels per row; 0 for rows without true labels."""
        weights = np.asarray(values, dtype=np.float64)
        sums = np.bincount(self.row_of, weights=weights, minlength=self.n_rows)
        return sums.astype(np.float64, copy=False)


def rank_truth(
    truth: Csr, scores: Scores, rules: Conventions, n_jobs: int | None = None
) -> TrueRanks:
    """Rank the true labels among all labels, in s log s per row with s stored scores."""
    rows, n_threads = scores.native_rows(), thread_count(n_jobs)
    places = place_true_labels(rows, *csr_parts(truth), rules.tie_tolerance, n_threads)
    return TrueRanks(truth, *places)


def check_ranks(
    Y_true: object, scores: object, conventions: str | Conventions
) -> tuple[TrueRanks, Conventions]:
    """Validate the arguments, then rank; return the conventions too."""
    rules, truth = check_conventions(conventions), check_truth(Y_true)
    return rank_truth(truth, check_ranking(scores, truth), rules), rules


def one_error(
    Y_true: object, scores: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    """Share of rows whose top-ranked label is not true; a row without true labels is an error.

    Examples
    --------
    >>> one_error([[1, 0], [1, 0]], [[0.9, 0.1], [0.2, 0.3]])
    0.5
    """
    return RANKING["one-error"](*check_ranks(Y_true, scores, conventions))


def coverage(
    Y_true: object, scores: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Depth that contains all true labels: mean of :math:`\max_{y \in Y_i} r_i(y) - 1`.

    A row without true labels counts 0.

    Examples
    --------
    The last true label of row 0 has rank 3, that of row 1 rank 1:

    >>> Y, scores = [[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.3, 0.1]]
    >>> coverage(Y, scores), coverage(Y, scores, conventions="sklearn")
    (1.0, 2.0)
    """
    return RANKING["coverage"](*check_ranks(Y_true, scores, conventions))


def coverage_normalised(
    Y_true: object, scores: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    """Coverage divided by the number of labels.

    Examples
    --------
    >>> coverage_normalised([[1, 0, 0, 1]], [[0.9, 0.5, 0.3, 0.4]])  # rank 3, so 2/4
    0.5
    """
    return RANKING["coverage-normalised"](*check_ranks(Y_true, scores, conventions))


def ranking_loss(
    Y_true: object, scores: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Share of wrongly ordered (true, false) label pairs, including ties; mean over rows.

    .. math:: \frac{|\{(y, y') \in Y_i \times \bar Y_i : f_i(y) \le f_i(y')\}|}
                   {|Y_i| \, |\bar Y_i|}

    A row whose labels are all true or all false counts 0.

    Examples
    --------
    Label 0 is true: label 1 ties with it and label 2 is below.

    >>> ranking_loss([[1, 0, 0]], [[0.5, 0.5, 0.1]])
    0.5
    """
    return RANKING["ranking-loss"](*check_ranks(Y_true, scores, conventions))


def average_precision(
    Y_true: object, scores: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Mean over rows, and over their true labels y, of the share of true labels down to y.

    .. math:: \frac{1}{|Y_i|} \sum_{y \in Y_i}
              \frac{|\{y' \in Y_i : r_i(y') \le r_i(y)\}|}{r_i(y)}

    Rows without true labels are excluded; NaN if all are.

    Examples
    --------
    True labels at ranks 1 and 4: (1/1 + 2/4) / 2.

    >>> average_precision([[1, 0, 0, 1]], [[0.9, 0.8, 0.7, 0.1]])
    0.75
    """
    return RANKING["average-precision"](*check_ranks(Y_true, scores, conventions))


def r_precision(
    Y_true: object, scores: object, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Share of true labels among the first :math:`|Y_i|`; a row without true labels counts 0.

    .. math:: |\{y \in Y_i : r_i(y) \le |Y_i|\}| / |Y_i|

    Examples
    --------
    Two labels are true, and one of the first two is:

    >>> r_precision([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    0.5
    """
    return RANKING["r-precision"](*check_ranks(Y_true, scores, conventions))


def _missed_first(ranks: TrueRanks, rules: Conventions) -> Bool:
    missed: Bool = ranks.row_sums(ranks.under(rules.ties) == 1) == 0
    return missed


def _depths(ranks: TrueRanks, rules: Conventions) -> Int:
    deepest = np.zeros(ranks.n_rows, dtype=np.int64)
    np.maximum.at(deepest, ranks.row_of, ranks.under(rules.graded_ties))
    return np.maximum(deepest - rules.coverage_offset, 0)


def _wrong_pairs(ranks: TrueRanks, rules: Conventions) -> Float:
    placed = ranks.under(rules.loss_ties)
    wrong = ranks.row_sums(placed - ranks.true_up_to(placed))
    return ratio(wrong, ranks.sizes * (ranks.n_labels - ranks.sizes), 0.0)


def _precisions(ranks: TrueRanks, rules: Conventions) -> tuple[Values, Values]:
    """Return the values of the rows that count, and how many these are."""
    placed = ranks.under(rules.graded_ties)
    precisions = ranks.row_sums(ranks.true_up_to(placed) / placed)
    if rules.average_precision_empty is None:
        used = ranks.sizes > 0
        return precisions[used] / ranks.sizes[used], used
    return ratio(precisions, ranks.sizes, rules.average_precision_empty), float(ranks.n_rows)


def _hits_at_size(ranks: TrueRanks, rules: Conventions) -> Float:
    hits = ranks.under(rules.ties) <= ranks.sizes[ranks.row_of]
    return ratio(ranks.row_sums(hits), ranks.sizes, 0.0)


RANKING: Mapping[str, SummedMetric] = MappingProxyType(
    {
        "one-error": SummedMetric(_missed_first),
        "coverage": SummedMetric(_depths),
        "coverage-normalised": SummedMetric(_depths, mean_per_label),
        "ranking-loss": SummedMetric(_wrong_pairs),
        "average-precision": SummedMetric(
            _precisions, lambda sums, _: sums[0] / sums[1] if sums[1] else float("nan")
        ),
        "r-precision": SummedMetric(_hits_at_size),
    }
)
