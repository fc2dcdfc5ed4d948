"""Weight features by how much information they carry about the labels."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Csr, Features, Float, count_columns
from vicinal._core.checks import all_or_nothing, check_positive
from vicinal._core.labels import read_labels
from vicinal._core.state import State, read_array, read_plain
from vicinal._core.threads import thread_count
from vicinal._core.validation import as_csr, csr_parts
from vicinal._native import label_divergence
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.preprocess._base import ColumnwiseTransformer, check_not_negative, reweigh, unit_length

AT_ONCE = 2**25
"""Entries whose features are counted together: 4 bytes each."""


@dataclass(eq=False, repr=False)
class LabelWeights(ColumnwiseTransformer):
    r"""Weight each feature by how much the labels of its rows differ from those of all rows.

    Let :math:`n_f(l)` be the number of training rows with feature f and label l, and :math:`p(l)`
    the share of l among all label occurrences, where ½ is added to the count of each label. Then

    .. math::

        P(l \mid f) &= \frac{n_f(l) + s \, p(l)}{\sum_{l'} n_f(l') + s} \\
        w_f &= \sqrt{\sum_l P(l \mid f) \ln \frac{P(l \mid f)}{p(l)}} \\
        x'_f &= \mathrm{tf}(x_f) \, w_f

    and each row is scaled to length 1. Counts are damped, :math:`\mathrm{tf}(x) = 1 + \ln x`. If
    ``fit`` saw a positive value below 1, the values are not counts, and :math:`\mathrm{tf}(x) = x`.

    Parameters
    ----------
    prior : float
        The s of the formula: the weight of the prior, in label occurrences. The larger it is, the
        smaller the weights of rare features.

    Attributes
    ----------
    weights_ : ndarray of float64, shape (n_features,)
    is_count_ : bool
        Whether the training values were treated as counts.

    Notes
    -----
    Memory besides the result: 4 bytes per entry of `X` and 8 per label and thread, at most 140 MB
    for the entries: features are counted some at a time.

    Examples
    --------
    The first feature occurs only with the first label, the second feature occurs in every row:

    >>> X = [[1, 1], [2, 1], [0, 1], [0, 1]]
    >>> Y = [[1, 0], [1, 0], [0, 1], [0, 1]]
    >>> LabelWeights(prior=1.0).fit(X, Y).weights_.round(4)
    array([0.4925, 0.    ])
    """

    prior: float = 5.0
    weights_: Float = field(init=False)
    is_count_: bool = field(init=False)

    @all_or_nothing
    def fit(self, X: object, Y: object = None) -> Self:
        """Learn the weights from non-negative rows and their labels.

        Parameters
        ----------
        X : array-like or sparse matrix, shape (n, m)
            Training rows.
        Y : array-like or sparse indicator, shape (n, L), or list of label-name collections
            Labels of the training rows.
        """
        prior = check_positive("prior", self.prior)
        rows = self._read(X, reset=True)
        check_not_negative(rows, "LabelWeights")
        if Y is None:
            raise InvalidArgumentError(
                "Y", "the labels of the rows", "None: LabelWeights requires y to be passed"
            )
        labels = read_labels(Y, rows.shape[0], None).matrix
        stored = as_csr(rows)
        self.weights_ = label_weights(stored, labels, prior)
        self.is_count_ = is_count(stored)
        return self

    def transform(self, X: object) -> Features:
        """Return the weighted rows, scaled to length 1; sparse if `X` is sparse."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        check_not_negative(rows, "LabelWeights")
        return reweigh(rows, self._weigh)

    def _weigh(self, stored: Csr) -> Float:
        values = stored.data.astype(np.float64)
        if self.is_count_:
            # New rows may contain values below 1, which are not counts: these stay unchanged.
            values = np.where(values >= 1, 1.0 + np.log(np.maximum(values, 1.0)), values)
        return unit_length(stored, values * self.weights_[stored.indices])

    def _parameters(self) -> dict[str, State]:
        return {"prior": check_positive("prior", self.prior)}

    def _learned(self) -> dict[str, State]:
        return {"weights": self.weights_, "is_count": self.is_count_}

    def _restore(self, state: Mapping[str, State]) -> None:
        n_features = self._restore_columns(state)
        self.weights_ = read_array(state, "weights", np.float64, (n_features,))
        if np.any(self.weights_ < 0):
            raise ModelFormatError("weights: expected numbers of at least 0")
        self.is_count_ = read_plain(state, "is_count", bool)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: labels are required, values must not be negative."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.target_tags.required = True
        tags.target_tags.two_d_labels = True
        return tags


def label_weights(rows: Csr, Y: Csr, prior: float) -> Float:
    """Return the weight of each feature; see :class:`LabelWeights`."""
    counts = count_columns(Y.indices, Y.shape[1]) + 0.5
    share = counts / counts.sum()
    divergence = label_divergence(
        *csr_parts(rows), int(rows.shape[1]), *csr_parts(Y), share, prior, AT_ONCE, thread_count()
    )
    return np.sqrt(divergence)


def is_count(rows: Csr) -> bool:
    """Tell whether the stored values can be counts: none lies between 0 and 1."""
    return bool(rows.nnz == 0 or rows.data.min() >= 1)
