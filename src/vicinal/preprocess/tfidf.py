"""Tf-idf weights: words that are frequent in a row and rare in the others weigh most."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Csr, Features, Float
from vicinal._core.checks import all_or_nothing, check_flag, check_option, check_real
from vicinal._core.state import State, read_array, read_plain
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.preprocess._base import (
    ColumnwiseTransformer,
    check_not_negative,
    check_outcome,
    reweigh,
    row_sums,
    rows_with,
    spread,
    unit_length,
)


@dataclass(eq=False, repr=False, kw_only=True)
class TfIdf(ColumnwiseTransformer):
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

    smooth: bool = True
    sublinear: bool = False
    norm: str | None = "l2"
    idf_: Float = field(init=False)

    @all_or_nothing
    def fit(self, X: object, y: object = None) -> Self:
        """Learn how many rows have each feature."""
        self._parameters()
        self.idf_ = inverse_frequency(self._read_counts(X, reset=True), self.smooth)
        return self

    def transform(self, X: object) -> Features:
        """Return the weighted rows; sparse if `X` is sparse."""
        check_is_fitted(self)
        self._parameters()
        rows, how = self._read_counts(X, reset=False), (self.sublinear, self.norm)
        return reweigh(rows, lambda stored: tfidf_weights(stored, self.idf_, *how))

    def _parameters(self) -> dict[str, State]:
        if self.norm is not None and (not isinstance(self.norm, str) or self.norm != "l2"):
            raise InvalidArgumentError("norm", "'l2' or None", repr(self.norm))
        return {
            "smooth": check_flag("smooth", self.smooth),
            "sublinear": check_flag("sublinear", self.sublinear),
            "norm": self.norm,
        }

    def _learned(self) -> dict[str, State]:
        return {"idf": self.idf_}

    def _restore(self, state: Mapping[str, State]) -> None:
        self.idf_ = read_idf(state, self._restore_columns(state))

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


SIDES = ("document", "both", "pipeline")


@dataclass(eq=False, repr=False, kw_only=True)
class BM25(ColumnwiseTransformer):
    r"""Weights whose dot product with a query is the Okapi BM25 score of the document.

    .. math:: \mathrm{score}(q, d) = \sum_j q_j \cdot \mathrm{idf}_j \cdot s(d)_j, \qquad
              s(d)_j = \frac{(k_1 + 1)\, d_j}{d_j + k_1 (1 - b + b\, |d| / \overline{|d|})}, \qquad
              \mathrm{idf}_j = \ln\Bigl(1 + \frac{n - n_j + ½}{n_j + ½}\Bigr)

    where :math:`n_j` is the number of the n training rows with word j, :math:`|d|` the sum of a
    row's counts, and :math:`\overline{|d|}` its mean over the training rows. The score is not
    symmetric: the counts of a document saturate, those of a query do not. `side` chooses which of
    the two factors a row becomes. Use it with ``metric="dot"``.

    Parameters
    ----------
    k1 : float
        At least 0: how slowly a repeated word saturates. At 0 only its presence counts.
    b : float
        From 0 to 1: how strongly the weights of long rows are reduced.
    side : {"document", "both", "pipeline"}
        - ``"document"``: every row becomes :math:`\mathrm{idf}_j\, s(x)_j`. For an index whose
          queries are plain counts.
        - ``"both"``: every row becomes :math:`\sqrt{\mathrm{idf}_j}\, s(x)_j`. The dot product of
          two rows is then symmetric. For a query of zeros and ones it is the BM25 score up to a
          factor per query, which changes neither the order of the neighbours nor their relative
          weights. Repeated words of a query saturate like those of a document.
        - ``"pipeline"``: ``fit_transform`` returns documents,
          :math:`\sqrt{\mathrm{idf}_j}\, s(x)_j`, and ``transform`` returns queries,
          :math:`\sqrt{\mathrm{idf}_j}\, x_j`, so that the dot product of a query and a document is
          exactly the BM25 score. This breaks scikit-learn's rule that ``fit_transform(X)`` equals
          ``fit(X).transform(X)``: do not call ``transform`` on the training rows. The dot product
          of two training rows (leave-one-out) is that of ``"both"``.

    Attributes
    ----------
    idf_ : ndarray of float64, shape (n_features,)
    average_length_ : float

    References
    ----------
    S. Robertson, H. Zaragoza: The probabilistic relevance framework: BM25 and beyond. Foundations
    and Trends in Information Retrieval 3(4), 2009. The 1 inside the logarithm keeps the weights of
    words that occur in more than half of the rows above 0.

    Examples
    --------
    >>> documents = BM25(k1=1, b=0).fit_transform([[1, 0], [3, 1]])
    >>> documents.round(4)  # idf: ln(1 + 0.5 / 2.5) and ln(1 + 1.5 / 1.5)
    array([[0.1823, 0.    ],
           [0.2735, 0.6931]])
    """

    k1: float = 1.2
    b: float = 0.75
    side: str = "document"
    idf_: Float = field(init=False)
    average_length_: float = field(init=False)

    @all_or_nothing
    def fit(self, X: object, y: object = None) -> Self:
        """Learn how many rows have each word, and the mean length of rows."""
        self._parameters()
        self._learn(self._read_counts(X, reset=True))
        return self

    @all_or_nothing
    def fit_transform(self, X: object, y: object = None, **fit_params: object) -> Features:
        """Fit, and return the rows weighted as documents."""
        self._parameters()
        rows = self._read_counts(X, reset=True)
        self._learn(rows)
        return self._documents(rows)

    def transform(self, X: object) -> Features:
        """Return the weighted rows (queries if `side` is "pipeline"); sparse if `X` is sparse."""
        check_is_fitted(self)
        self._parameters()
        rows = self._read_counts(X, reset=False)
        if self.side != "pipeline":
            return self._documents(rows)
        roots = np.sqrt(self.idf_)
        return reweigh(rows, lambda stored: stored.data * roots[stored.indices])

    def _parameters(self) -> dict[str, State]:
        return {
            "k1": check_real("k1", self.k1, low=0.0),
            "b": check_real("b", self.b, low=0.0, high=1.0),
            "side": check_option("side", self.side, SIDES),
        }

    def _learned(self) -> dict[str, State]:
        return {"idf": self.idf_, "average_length": self.average_length_}

    def _restore(self, state: Mapping[str, State]) -> None:
        self.idf_ = read_idf(state, self._restore_columns(state))
        self.average_length_ = read_plain(state, "average_length", float)
        if not 0 <= self.average_length_ < np.inf:
            raise ModelFormatError("average_length: expected a finite number of at least 0")

    def _read_counts(self, X: object, *, reset: bool) -> Features:
        """Return the rows; raise if counts are negative."""
        rows = self._read(X, reset=reset)
        check_not_negative(rows, "BM25")
        return rows

    def _learn(self, rows: Features) -> None:
        """Set the fitted attributes from the training rows."""
        with np.errstate(over="ignore"):
            average = rows.sum(dtype=np.float64) / rows.shape[0]
        check_outcome(average)
        having = rows_with(rows)
        self.idf_ = np.log1p((rows.shape[0] - having + 0.5) / (having + 0.5))
        self.average_length_ = float(average)

    def _documents(self, rows: Features) -> Features:
        """Return the saturated counts of the rows, multiplied by the idf or by its square root."""
        idf: Float = self.idf_ if self.side == "document" else np.sqrt(self.idf_)
        k1, b, average = float(self.k1), float(self.b), self.average_length_
        return reweigh(
            rows, lambda stored: _saturated(stored, k1, b, average) * idf[stored.indices]
        )

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: counts must not be negative."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _saturated(rows: Csr, k1: float, b: float, average_length: float) -> Float:
    """Return s(d) of each stored cell; lengths are ignored if all training rows were empty."""
    counts = rows.data.astype(np.float64)
    lengths = row_sums(rows, counts)
    relative = lengths / average_length if average_length > 0 else np.ones_like(lengths)
    damping = k1 * (1.0 - b + b * relative)
    check_outcome(damping)
    # Numerator and denominator are divided by the count, so that large counts do not overflow.
    saturated: Float = (k1 + 1.0) / (1.0 + spread(rows, damping) / counts)
    return saturated
