r"""Metrics of the first k labels, as used in extreme multi-label classification.

:math:`r_i(l)` is the rank of label l in row i, with ties broken by the lower label id unless the
conventions differ. A row without true labels counts as 0.

The propensity-scored metrics weight a true label l by :math:`1/p_l` (:func:`propensities`) and are
ratios: the mean over rows divided by the mean of the best possible ranking; 0 if no row has a true
label.
"""

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Float, Int
from vicinal._core.checks import check_integer, check_real
from vicinal._core.labels import check_indicator
from vicinal.errors import InvalidArgumentError
from vicinal.metrics._sums import SummedMetric, Values, ratio, share
from vicinal.metrics.catalogue import Conventions
from vicinal.metrics.ranking import TrueRanks, check_ranks

A = 0.55
B = 1.5
"""The default parameters, for data sets without their own."""


def propensities(
    train_label_counts: object, n_train_rows: int | None = None, *, a: float = A, b: float = B
) -> Float:
    r"""Return the propensity of each label.

    .. math:: p_l = \frac{1}{1 + C (N_l + B)^{-A}}, \qquad C = (\ln N - 1)(B + 1)^A

    Parameters
    ----------
    train_label_counts : array-like of shape (L,), or an indicator of shape (N, L)
        :math:`N_l`, the number of training rows with each label; or the training labels themselves,
        which also determine N.
    n_train_rows : int or None
        N, at least 3, which makes C > 0. None with counts uses their sum, which is N if each row
        has exactly one label and too large otherwise: pass N to compare with published figures.
    a, b : float
        :math:`A` and :math:`B`.

    References
    ----------
    Jain, Prabhu, Varma: Extreme multi-label loss functions for recommendation, tagging, ranking &
    other missing label applications. KDD 2016.

    Examples
    --------
    With A = 1 and B = 0, C = ln N − 1, so p = 1 / (1 + C / 2) for a label of two rows:

    >>> propensities([2], n_train_rows=20, a=1, b=0).round(4)
    array([0.5005])
    >>> bool(np.isclose(1 / (1 + (np.log(20) - 1) / 2), 0.5005, atol=5e-5))
    True
    """
    counts, total = _counts(train_label_counts)
    n_rows = total if n_train_rows is None else check_integer("n_train_rows", n_train_rows, low=3)
    if counts.size and counts.max() > n_rows:
        raise InvalidArgumentError(
            "n_train_rows", f"at least the largest label count, {counts.max():g}", n_rows
        )
    a, b = check_real("a", a, low=0.0), check_real("b", b, low=0.0)
    with np.errstate(divide="ignore"):  # b = 0 and a label never seen: propensity 0
        rarity = (counts + b) ** -a
    likely: Float = 1.0 / (1.0 + (np.log(n_rows) - 1.0) * (b + 1.0) ** a * rarity)
    return likely


def _counts(given: object) -> tuple[Float, int]:
    """Return the label counts and the number of rows, estimated if necessary."""
    name = "train_label_counts"
    if sparse.issparse(given):
        return _indicator_counts(given, name)
    try:
        counts = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgumentError(name, "a number for each label", type(given)) from None
    if counts.ndim == 2:
        return _indicator_counts(given, name)
    if counts.ndim != 1:
        raise InvalidArgumentError(name, "a number for each label", f"shape {counts.shape}")
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise InvalidArgumentError(name, "counts of at least 0", "negative or NaN counts")
    return counts, max(int(counts.sum()), 3)


def _indicator_counts(given: object, name: str) -> tuple[Float, int]:
    """Count the labels and rows of training labels."""
    indicator = check_indicator(given, name)
    n_rows, n_labels = indicator.shape
    return np.bincount(indicator.indices, minlength=n_labels).astype(np.float64), max(n_rows, 3)


def precision_at_k(
    Y_true: object, scores: object, k: int = 1, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Share of true labels among the first k: mean of :math:`|\{y \in Y_i : r_i(y) \le k\}|/k`.

    Divided by k even if there are fewer than k labels.

    Examples
    --------
    >>> precision_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], k=2)
    0.5
    """
    ranks = check_ranks(Y_true, scores, conventions)
    return AT_K["precision@k"](*ranks, check_integer("k", k, low=1))


def recall_at_k(
    Y_true: object, scores: object, k: int = 1, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Share of the true labels that are among the first k, averaged over rows.

    .. math:: |\{y \in Y_i : r_i(y) \le k\}| / |Y_i|

    Examples
    --------
    >>> recall_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], k=2)
    0.5
    """
    ranks = check_ranks(Y_true, scores, conventions)
    return AT_K["recall@k"](*ranks, check_integer("k", k, low=1))


def f1_at_k(
    Y_true: object, scores: object, k: int = 1, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""F1 of the first k labels as the prediction, averaged over rows.

    .. math:: 2 \, |\{y \in Y_i : r_i(y) \le k\}| / (k + |Y_i|)

    Examples
    --------
    One of the first two labels is true, and one of two true labels is found:

    >>> f1_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], k=2)
    0.5
    """
    ranks = check_ranks(Y_true, scores, conventions)
    return AT_K["f1@k"](*ranks, check_integer("k", k, low=1))


def ndcg_at_k(
    Y_true: object, scores: object, k: int = 1, *, conventions: str | Conventions = "vicinal"
) -> float:
    r"""Discounted gain of the first k labels relative to the best possible, averaged over rows.

    .. math:: \frac{\sum_{y \in Y_i,\, r_i(y) \le k} 1/\log_2(r_i(y) + 1)}
                   {\sum_{r = 1}^{\min(k, |Y_i|)} 1/\log_2(r + 1)}

    Examples
    --------
    The one true label has rank 3, and 1/log2(4) = 1/2 where 1 was possible:

    >>> ndcg_at_k([[0, 0, 1]], [[0.9, 0.5, 0.1]], k=3)
    0.5
    """
    ranks = check_ranks(Y_true, scores, conventions)
    return AT_K["ndcg@k"](*ranks, check_integer("k", k, low=1))


def psp_at_k(
    Y_true: object,
    scores: object,
    k: int = 1,
    *,
    train_label_counts: object,
    n_train_rows: int | None = None,
    conventions: str | Conventions = "vicinal",
) -> float:
    r"""Propensity-scored precision: :math:`\sum_{y \in Y_i, r_i(y) \le k} 1/p_y`, as a ratio.

    Examples
    --------
    Equally frequent labels have equal weights; one of two true labels is among the first two:

    >>> psp_at_k([[1, 0, 1]], [[0.9, 0.5, 0.1]], k=2, train_label_counts=[4, 4, 4])
    0.5
    """
    ranks, rules = check_ranks(Y_true, scores, conventions)
    weights = inverse_propensities(train_label_counts, n_train_rows, ranks.n_labels)
    return AT_K["psp@k"](ranks, rules, check_integer("k", k, low=1), weights)


def psndcg_at_k(
    Y_true: object,
    scores: object,
    k: int = 1,
    *,
    train_label_counts: object,
    n_train_rows: int | None = None,
    conventions: str | Conventions = "vicinal",
) -> float:
    r"""Propensity-scored nDCG: gains :math:`1/(p_y \log_2(r_i(y) + 1))`, as a ratio.

    Each row's gain is divided by :math:`\sum_{r = 1}^{\min(k, |Y_i|)} 1/\log_2(r + 1)`.

    Examples
    --------
    >>> psndcg_at_k([[0, 0, 1]], [[0.9, 0.5, 0.1]], k=3, train_label_counts=[4, 4, 4])
    0.5
    """
    ranks, rules = check_ranks(Y_true, scores, conventions)
    weights = inverse_propensities(train_label_counts, n_train_rows, ranks.n_labels)
    return AT_K["psndcg@k"](ranks, rules, check_integer("k", k, low=1), weights)


def inverse_propensities(
    train_label_counts: object, n_train_rows: int | None, n_labels: int
) -> Float:
    """Return 1/p of each of the `n_labels` labels."""
    known = propensities(train_label_counts, n_train_rows)
    if len(known) != n_labels:
        raise InvalidArgumentError(
            "train_label_counts", f"one for each of {n_labels} labels", len(known)
        )
    return 1.0 / known


def _discount(ranks: Int, k: int) -> Float:
    """Return 1/log2(rank + 1) up to rank k, then 0."""
    return np.where(ranks <= k, 1.0 / np.log2(ranks + 1.0), 0.0)


def _attainable(sizes: Int, k: int) -> Float:
    """Return the highest possible discounted gain of the first k labels."""
    most = int(min(k, sizes.max()))
    sums = np.concatenate([[0.0], np.cumsum(1.0 / np.log2(np.arange(2, most + 2)))])
    return sums[np.minimum(sizes, most)]


def _hits(ranks: TrueRanks, rules: Conventions, k: int) -> Float:
    """Return how many true labels of each row are among the first k."""
    return ranks.row_sums(ranks.under(rules.ties) <= k)


def _relative_gains(ranks: TrueRanks, rules: Conventions, k: int) -> Float:
    gains = ranks.row_sums(_discount(ranks.under(rules.ties), k))
    return ratio(gains, _attainable(ranks.sizes, k), 0.0)


def _best_ranks(ranks: TrueRanks, weights: Float) -> Int:
    """Return the ranks of the true labels in the best ranking, sorted by descending weight."""
    order = np.lexsort((-weights[ranks.truth.indices], ranks.row_of))
    best = np.empty(len(order), dtype=np.int64)
    best[order] = np.arange(len(order)) - ranks.truth.indptr[ranks.row_of] + 1
    return best


def _weighted_hits(
    ranks: TrueRanks, rules: Conventions, k: int, weights: Float
) -> tuple[Values, Values]:
    gain = weights[ranks.truth.indices]
    return gain[ranks.under(rules.ties) <= k], gain[_best_ranks(ranks, weights) <= k]


def _weighted_gains(
    ranks: TrueRanks, rules: Conventions, k: int, weights: Float
) -> tuple[Values, Values]:
    gain, whole = weights[ranks.truth.indices], _attainable(ranks.sizes, k)
    reached, best = (
        ratio(ranks.row_sums(gain * _discount(each, k)), whole, 0.0)
        for each in (ranks.under(rules.ties), _best_ranks(ranks, weights))
    )
    return reached, best


AT_K: Mapping[str, SummedMetric] = MappingProxyType(
    {
        "precision@k": SummedMetric(
            lambda ranks, rules, k: (ranks.under(rules.ties) <= k, k * ranks.n_rows), share
        ),
        "recall@k": SummedMetric(
            lambda ranks, *given: ratio(_hits(ranks, *given), ranks.sizes, 0.0)
        ),
        "f1@k": SummedMetric(
            lambda ranks, rules, k: 2.0 * _hits(ranks, rules, k) / (k + ranks.sizes)
        ),
        "ndcg@k": SummedMetric(_relative_gains),
        "psp@k": SummedMetric(_weighted_hits, share),
        "psndcg@k": SummedMetric(_weighted_gains, share),
    }
)
