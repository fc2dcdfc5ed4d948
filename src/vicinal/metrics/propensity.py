r"""Propensities: the probability that a true label was annotated, from its training frequency."""

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Float
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.indicator import check_indicator
from vicinal._base.validation import check_integer, check_real

A = 0.55
B = 1.5
"""The default parameters, for data sets without their own."""


def propensities(
    train_label_counts: object,
    n_train_rows: int | None = None,
    *,
    a: float = A,
    b: float = B,
) -> Float:
    r"""Return the propensity of each label.

    .. math:: p_l = \frac{1}{1 + C (N_l + B)^{-A}}, \qquad C = (\ln N - 1)(B + 1)^A

    Parameters
    ----------
    train_label_counts : array-like of shape (L,), or an indicator of shape (N, L)
        :math:`N_l`, the number of training rows with each label; or the training labels themselves,
        which also determine N.
    n_train_rows : int or None
        N, at least 3 so that C > 0. None with counts uses their sum, which is N if each row has
        exactly one label and too large otherwise: pass N to compare with published figures.
    a, b : float
        :math:`A` and :math:`B`.

    References
    ----------
    Jain, Prabhu, Varma: Extreme multi-label loss functions for recommendation, tagging, ranking &
    other missing label applications. KDD 2016.

    Examples
    --------
    With A = 1 and B = 0, C = ln N − 1, so that p = 1 / (1 + C / 2) for a label of two rows:

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
