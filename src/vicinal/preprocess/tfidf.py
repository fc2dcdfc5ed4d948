"""Tf-idf weights: words that are frequent in a row and rare in the others weigh most."""

from collections.abc import Mapping
from typing import Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from vicinal._base.arrays import Csr, Features, Float
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.fitting import all_or_nothing
from vicinal._base.state import State, damage_if_refused, read_array, read_plain, read_value
from vicinal._base.validation import check_flag
from vicinal.preprocess._transformer import FittedTransformer, check_not_negative
from vicinal.preprocess._weights import reweigh, rows_with, unit_length


class TfIdf(FittedTransformer):
    r"""Multiply counts by the inverse document frequency of their feature.

    .. math:: x'_j = \mathrm{tf}(x_j) \cdot \mathrm{idf}_j, \qquad
              \mathrm{idf}_j = 1 + \ln \frac{n + s}{n_j + s}

    where :math:`n_j` of the :math:`n` training rows have feature j, s = 1 with `smooth` and 0
    without, and :math:`\mathrm{tf}(x) = x`, or :math:`1 + \ln x` with `sublinear`. Then each row is
    scaled to length 1 (`norm`). The weights are those of scikit-learn's ``TfidfTransformer``,
    except for a feature that no training row has: without smoothing its idf would be infinite, so
    it is treated as if one row had it.

    Parameters
    ----------
    smooth : bool
        Compute the idf as if one more row had every feature.
    sublinear : bool
        Use 1 + ln x instead of x; values must not be negative then.
    norm : {"l2", None}
        ``"l2"`` divides rows by their Euclidean length; None does not.

    Attributes
    ----------
    idf_ : ndarray of float64, shape (n_features,)

    Examples
    --------
    >>> weigh = TfIdf(smooth=False, norm=None).fit([[1, 0], [2, 1]])
    >>> weigh.idf_.round(4)
    array([1.    , 1.6931])
    >>> weigh.transform([[2, 2]]).round(4)
    array([[2.    , 3.3863]])
    """

    idf_: Float

    def __init__(
        self, *, smooth: bool = True, sublinear: bool = False, norm: str | None = "l2"
    ) -> None:
        self.smooth = smooth
        self.sublinear = sublinear
        self.norm = norm

    @all_or_nothing
    def fit(self, X: object, y: object = None) -> Self:
        """Learn how many rows have each feature."""
        smooth, _, _ = self._parameters()
        self.idf_ = inverse_frequency(self._read_counts(X, reset=True), smooth)
        return self

    def transform(self, X: object) -> Features:
        """Return the weighted rows; sparse if `X` is sparse."""
        check_is_fitted(self)
        _, sublinear, norm = self._parameters()
        rows = self._read_counts(X, reset=False)
        return reweigh(rows, lambda stored: tfidf_weights(stored, self.idf_, sublinear, norm))

    def get_state(self) -> dict[str, State]:
        """Return the parameters, the columns, the idf."""
        check_is_fitted(self)
        smooth, sublinear, norm = self._parameters()
        return {
            "smooth": smooth,
            "sublinear": sublinear,
            "norm": norm,
            **self._columns_state(),
            "idf": self.idf_,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        self = cls(
            smooth=read_plain(state, "smooth", bool),
            sublinear=read_plain(state, "sublinear", bool),
            norm=_read_norm(state),
        )
        self.idf_ = read_idf(state, self._restore_columns(state))
        return self

    def _parameters(self) -> tuple[bool, bool, str | None]:
        """Return the parameters, checked."""
        return (
            check_flag("smooth", self.smooth),
            check_flag("sublinear", self.sublinear),
            _check_norm(self.norm),
        )

    def _read_counts(self, X: object, *, reset: bool) -> Features:
        """Return the rows; raise if a logarithm is needed and values are negative."""
        rows = self._read(X, reset=reset)
        if self.sublinear:
            check_not_negative(rows, "TfIdf(sublinear=True)")
        return rows

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: with `sublinear`, values must not be negative."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.sublinear is True
        return tags


def inverse_frequency(rows: Features, smooth: bool) -> Float:
    """Return the idf of each column; see :class:`TfIdf`."""
    n_rows, extra = rows.shape[0], int(smooth)
    having = np.maximum(rows_with(rows) + extra, 1)
    idf: Float = np.log((n_rows + extra) / having) + 1.0
    return idf


def tfidf_weights(rows: Csr, idf: Float, sublinear: bool, norm: str | None) -> Float:
    """Return the weight of each stored cell; see :class:`TfIdf`."""
    frequency = rows.data.astype(np.float64)
    if sublinear:
        frequency = np.log(frequency) + 1.0
    weights: Float = frequency * idf[rows.indices]
    return weights if norm is None else unit_length(rows, weights)


def read_idf(state: Mapping[str, State], n_features: int) -> Float:
    """Return the idf of a state: one positive number per column."""
    idf = read_array(state, "idf", np.float64, (n_features,))
    if not np.all(idf > 0):
        raise ModelFormatError("idf: expected numbers above 0")
    return idf


def _check_norm(value: object) -> str | None:
    """Return `value`, None or "l2"."""
    if value is None:
        return None
    if not isinstance(value, str) or value != "l2":
        raise InvalidArgumentError("norm", "'l2' or None", repr(value))
    return value


def _read_norm(state: Mapping[str, State]) -> str | None:
    """Return the norm in a state, checked."""
    with damage_if_refused():
        return _check_norm(read_value(state, "norm"))
