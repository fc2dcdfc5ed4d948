"""Which of several settings is best: the micro-F1 of the best threshold on leave-one-out scores."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Csr, Float, Int, row_ids
from vicinal.scores import Scores

Fitted = TypeVar("Fitted")

SAMPLED_ROWS = 4000
"""Rows that a choice is made on."""


def sampled_rows(n_rows: int) -> Int:
    """Return the rows that a choice is made on, evenly spaced; all where there are few.

    Examples
    --------
    >>> len(sampled_rows(10)), sampled_rows(20000)[:3]
    (10, array([ 0,  5, 10]))
    """
    return np.arange(0, n_rows, -(-n_rows // SAMPLED_ROWS) or 1)


def best_of(
    values: Sequence[float], fit: Callable[[float], tuple[Fitted, float]], *, climbs: bool = False
) -> Fitted:
    """Return what is fitted with the best of some values; the first of equals.

    Parameters
    ----------
    values : sequence of float
        At least one; rising where the search climbs.
    fit : callable
        From a value to what is fitted and how good it is.
    climbs : bool
        Whether to go from the second value upwards, or else downwards, as long as the next value is
        better than the last, instead of trying all.

    Examples
    --------
    >>> tried = []
    >>> def fit(value):
    ...     tried.append(value)
    ...     return f"fitted with {value}", -abs(value - 2)
    >>> best_of([1, 2, 3, 4, 5], fit, climbs=True), tried
    ('fitted with 2', [2, 3, 1])
    """
    middle = min(1, len(values) - 1) if climbs else 0
    best, most = fit(values[middle])
    has_risen = False
    for value in values[middle + 1 :]:
        fitted, good = fit(value)
        if good > most:
            best, most, has_risen = fitted, good, True
        elif climbs:
            break
    if climbs and not has_risen and middle > 0:
        fitted, good = fit(values[middle - 1])
        best = fitted if good > most else best
    return best


def best_micro_f1(scores: Scores, Y: Csr) -> float:
    r"""Return the micro-F1 at the best threshold; ties of scores may be cut anywhere.

    Labels without a stored score are never predicted. If :math:`t_n` of the n largest scores are of
    true labels, their micro-F1 is :math:`F_n = 2 t_n / (n + p)`, where p is the number of true
    labels. Only t of these have a score, so that :math:`F_n \le 2 t / (n + p)`: once the largest
    scores have given some F, no n above :math:`2 t / F - p` can be better. Usually, all n up to
    there are among the 6 p + 100 that are looked at first.

    Memory: 17 bytes per score, and some 40 per score that is looked at: all of them if F is 0.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0]]))
    >>> best_micro_f1(Scores.dense(np.array([[0.75, 0.625], [0.5, 0.25]])), Y)
    0.8
    """
    values, true = _pairs(scores, Y)
    first = min(len(values), 6 * Y.nnz + 100)
    best = _best_of_top(values, true, Y.nnz, first)
    n_scored = np.count_nonzero(true)
    useful = 2.0 * n_scored / best - Y.nnz + 1.0 if best else np.inf
    if n_scored and first < min(len(values), useful):
        best = max(best, _best_of_top(values, true, Y.nnz, int(min(len(values), useful))))
    return best


def _best_of_top(values: Float, true: NDArray[np.bool_], n_true: int, most: int) -> float:
    """Return the best micro-F1 of the 1, 2, …, `most` largest scores."""
    top = np.argpartition(-values, most - 1)[:most] if most < len(values) else np.arange(most)
    order = top[np.argsort(-values[top], kind="stable")]
    hits = np.cumsum(true[order])
    return float(np.max(2.0 * hits / (np.arange(1, most + 1) + n_true), initial=0.0))


def best_weighted_micro_f1(scores: Scores, Y: Csr, weights: Float) -> float:
    """Return the same where a row of weight w is there w times.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0], [1, 0]]))
    >>> cells = Scores.dense(np.array([[0.75, 0.625], [0.5, 0.25]]))
    >>> best_weighted_micro_f1(cells, Y, np.array([1.0, 1.0]))
    0.8
    """
    values, true = _pairs(scores, Y)
    each = np.repeat(weights, Y.shape[1])
    order = np.argsort(-values, kind="stable")
    hits, predicted = np.cumsum((each * true)[order]), np.cumsum(each[order])
    return float(np.max(2.0 * hits / (predicted + hits[-1]), initial=0.0))


def _pairs(scores: Scores, Y: Csr) -> tuple[Float, NDArray[np.bool_]]:
    """Return scores and truth, cell by cell; of sparse scores those stored."""
    if not isinstance(scores.values, sparse.csr_array):
        true = np.zeros(scores.values.size, dtype=np.bool_)
        true[row_ids(Y) * Y.shape[1] + Y.indices] = Y.data
        return scores.values.ravel(), true
    stored = scores.values
    if not stored.nnz:  # of no cells, SciPy returns a sparse array
        return stored.data, np.zeros(0, dtype=np.bool_)
    return stored.data, np.asarray(Y.astype(np.bool_)[row_ids(stored), stored.indices]).ravel()
