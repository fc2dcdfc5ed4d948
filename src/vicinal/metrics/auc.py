r"""Areas under ROC curves (AUC).

The area is the share of (true, false) pairs of cells in which the true cell scores higher, with
ties counting half. *Macro* is the mean over labels, *micro* the area over all cells together. The
tie tolerance of the conventions does not apply: Mulan too computes areas from the scores and not
from ranks.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from vicinal._base.arrays import Csr, Float, Int
from vicinal._base.threads import thread_count
from vicinal._base.validation import csr_parts
from vicinal._native import label_areas, pooled_area, true_scores
from vicinal.metrics.conventions import Conventions, check_conventions
from vicinal.metrics.inputs import check_ranking, check_truth, ratio
from vicinal.metrics.score_tally import mean_area
from vicinal.scores import Scores


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
    truth = check_truth(Y_true)
    ranking = check_ranking(scores, truth)
    return macro_area(truth, ranking, check_conventions(conventions))


def micro_auc(Y_true: object, scores: object) -> float:
    """AUC over all cells together; NaN if all cells are true or all are false.

    Examples
    --------
    True cells score 0.5 and 0.3, false ones 0.4 and 0.3: (1 + 1 + 0 + 1/2) / 4.

    >>> micro_auc([[1, 0], [0, 1]], [[0.5, 0.4], [0.3, 0.3]])
    0.625
    """
    truth = check_truth(Y_true)
    return micro_area(truth, check_ranking(scores, truth))


def macro_area(truth: Csr, scores: Scores, rules: Conventions, n_jobs: int | None = None) -> float:
    """Compute macro AUC from validated input."""
    return mean_area(_label_areas(truth, scores, n_jobs), rules)


def micro_area(
    truth: Csr, scores: Scores, _: Conventions | None = None, n_jobs: int | None = None
) -> float:
    """Compute micro AUC from validated input."""
    n_rows, n_labels = truth.shape
    n_false = n_rows * n_labels - truth.nnz
    if truth.nnz == 0 or n_false == 0:
        return float("nan")
    indptr, indices = csr_parts(truth)
    rows = scores.native_rows()
    positives = np.sort(true_scores(rows, indptr, indices))
    twice = pooled_area(rows, indptr, indices, _carriers(truth), positives, thread_count(n_jobs))
    return twice / (2.0 * truth.nnz * n_false)


def _label_areas(truth: Csr, scores: Scores, n_jobs: int | None) -> Float:
    """Return the AUC of each label; NaN if one of the classes is missing."""
    indptr, indices = csr_parts(truth)
    rows = scores.native_rows()
    positives = true_scores(rows, indptr, indices)
    carriers = _carriers(truth)
    starts = np.concatenate([[0], np.cumsum(carriers)])
    by_label = positives[np.lexsort((positives, indices))]
    twice = label_areas(rows, indptr, indices, starts, by_label, thread_count(n_jobs))
    pairs = carriers.astype(np.float64) * (truth.shape[0] - carriers)
    return ratio(twice, 2.0 * pairs, np.nan)


def _carriers(truth: Csr) -> Int:
    """Count the rows that have each label."""
    return np.bincount(truth.indices, minlength=truth.shape[1]).astype(np.int64)


AREAS: Mapping[str, Callable[[Csr, Scores, Conventions, int | None], float]] = MappingProxyType(
    {"macro-auc": macro_area, "micro-auc": micro_area}
)
