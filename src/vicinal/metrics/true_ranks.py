"""The rank of each true label in its row, for all ranking metrics.

This is the thin module through which the metrics reach the compiled core for ranks.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vicinal._base.arrays import Csr, Float, Int, Int32
from vicinal._base.threads import thread_count
from vicinal._base.validation import csr_parts
from vicinal._native import place_true_labels
from vicinal.metrics.conventions import TieRule
from vicinal.metrics.inputs import check_ranking, check_truth, row_sizes
from vicinal.scores import Scores


@dataclass(frozen=True, eq=False)
class TrueRanks:
    """Ranks of the true labels from 1, one number for each true label, row by row.

    Parameters
    ----------
    truth : csr_array of int32, shape (n, L)
    best, lower, worst : ndarray of int32
        Rank with ties broken in favour of the label, by lower id, and against the label.

    Notes
    -----
    Memory: 20 bytes per true label, whatever L is.
    """

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

    def row_sums(self, values: Float | Int) -> Float:
        """Sum values of true labels per row; 0 for rows without true labels."""
        weights = np.asarray(values, dtype=np.float64)
        sums = np.bincount(self.row_of, weights=weights, minlength=self.n_rows)
        return sums.astype(np.float64, copy=False)


def rank_truth(
    truth: Csr, scores: Scores, tolerance: float, n_jobs: int | None = None
) -> TrueRanks:
    """Rank the true labels among all labels; scores closer than `tolerance` tie.

    Costs s log s per row with s stored scores and log L per true label, not L. With a tolerance,
    also one step per row and distinct base score.
    """
    indptr, indices = csr_parts(truth)
    places = place_true_labels(
        scores.native_rows(), indptr, indices, tolerance, thread_count(n_jobs)
    )
    return TrueRanks(truth, *places)


def check_ranks(Y_true: object, scores: object, tolerance: float) -> TrueRanks:
    """Validate the arguments, then rank."""
    truth = check_truth(Y_true)
    return rank_truth(truth, check_ranking(scores, truth), tolerance)
