"""Okapi BM25 weights of words in documents."""

from collections.abc import Mapping
from typing import Self

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from vicinal._base.arrays import Csr, Features, Float, Int
from vicinal._base.errors import ModelFormatError
from vicinal._base.fitting import all_or_nothing
from vicinal._base.state import State, damage_if_refused, read_plain
from vicinal._base.validation import check_option, check_real
from vicinal.preprocess._transformer import FittedTransformer, check_not_negative
from vicinal.preprocess._weights import check_outcome, reweigh, row_sums, rows_with, spread
from vicinal.preprocess.tfidf import read_idf

SIDES = ("document", "both", "pipeline")


class BM25(FittedTransformer):
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

    idf_: Float
    average_length_: float

    def __init__(self, *, k1: float = 1.2, b: float = 0.75, side: str = "document") -> None:
        self.k1 = k1
        self.b = b
        self.side = side

    @all_or_nothing
    def fit(self, X: object, y: object = None) -> Self:
        """Learn how many rows have each word, and the mean length of rows."""
        self._parameters()
        self._learn(self._read_counts(X, reset=True))
        return self

    @all_or_nothing
    def fit_transform(self, X: object, y: object = None, **fit_params: object) -> Features:
        """Fit, and return the rows weighted as documents."""
        _, _, side = self._parameters()
        rows = self._read_counts(X, reset=True)
        self._learn(rows)
        return self._documents(rows, self._share_of_idf(side))

    def transform(self, X: object) -> Features:
        """Return the weighted rows (queries if `side` is "pipeline"); sparse if `X` is sparse."""
        check_is_fitted(self)
        _, _, side = self._parameters()
        rows = self._read_counts(X, reset=False)
        idf = self._share_of_idf(side)
        if side == "pipeline":
            return reweigh(rows, lambda stored: stored.data * idf[stored.indices])
        return self._documents(rows, idf)

    def get_state(self) -> dict[str, State]:
        """Return the parameters, the columns, the idf and the mean length."""
        check_is_fitted(self)
        k1, b, side = self._parameters()
        return {
            "k1": k1,
            "b": b,
            "side": side,
            **self._columns_state(),
            "idf": self.idf_,
            "average_length": self.average_length_,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        self = cls(
            k1=read_plain(state, "k1", float),
            b=read_plain(state, "b", float),
            side=read_plain(state, "side", str),
        )
        with damage_if_refused():
            self._parameters()
        self.idf_ = read_idf(state, self._restore_columns(state))
        self.average_length_ = read_plain(state, "average_length", float)
        if not 0 <= self.average_length_ < np.inf:
            raise ModelFormatError("average_length: expected a finite number of at least 0")
        return self

    def _parameters(self) -> tuple[float, float, str]:
        """Return the parameters, checked."""
        return (
            check_real("k1", self.k1, low=0.0),
            check_real("b", self.b, low=0.0, high=1.0),
            check_option("side", self.side, SIDES),
        )

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
        self.idf_ = _inverse_frequency(rows_with(rows), rows.shape[0])
        self.average_length_ = float(average)

    def _share_of_idf(self, side: str) -> Float:
        """Return the factor of the idf in the weights of a row: all of it, or its square root."""
        share: Float = self.idf_ if side == "document" else np.sqrt(self.idf_)
        return share

    def _documents(self, rows: Features, idf: Float) -> Features:
        """Return the saturated counts of the rows, multiplied by `idf`."""
        k1, b, _ = self._parameters()
        average = self.average_length_
        return reweigh(
            rows, lambda stored: _saturated(stored, k1, b, average) * idf[stored.indices]
        )

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: counts must not be negative."""
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


def _inverse_frequency(having: Int, n_rows: int) -> Float:
    """Return idf from the number of rows that have each word."""
    idf: Float = np.log1p((n_rows - having + 0.5) / (having + 0.5))
    return idf


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
