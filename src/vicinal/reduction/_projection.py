r"""Base class of the projections: validation, products, column names and saving.

With :math:`H = I - \frac1n 11^\top`, the centred rows are :math:`HX`, and

.. math:: (HX)V = XV - 1(\mu^\top V), \qquad (HX)^\top U = X^\top U - \mu (1^\top U)

so that products only need X and its mean :math:`\mu`.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Self, cast

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Csr, Features, Float
from vicinal._core.labels import read_labels
from vicinal._core.state import (
    State,
    feature_names_of,
    read_array,
    read_count,
    read_part,
    restore_feature_names,
)
from vicinal._core.threads import one_blas_thread
from vicinal._core.validation import read_features
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.methods._arguments import refuse_one_dimensional


class LinearProjection(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Rows times a matrix, minus an offset."""

    projection_: Float
    offset_: Float
    _learned: ClassVar[tuple[str, ...]] = ()
    """Names of further fitted attributes that are float64 vectors."""

    def transform(self, X: object) -> Float:
        """Return the projected rows as a dense float64 array, shape (n, r)."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        with one_blas_thread():  # so that the last bits do not depend on the number of threads
            projected: Float = np.asarray(rows @ self.projection_) - self.offset_
        return projected

    def _read(self, X: object, *, reset: bool, at_least: int = 1) -> Features:
        """Return `X` as float64 rows; learn (`reset`) or check the number and names of columns."""
        rows = read_features(self, X, reset=reset, at_least=at_least)
        return rows.astype(np.float64, copy=False)

    def _read_both(self, X: object, Y: object, *, at_least: int = 1) -> tuple[Features, Csr]:
        """Return the training rows and their labels as an indicator."""
        rows = self._read(X, reset=True, at_least=at_least)
        refuse_one_dimensional(Y)
        return rows, read_labels(Y, int(rows.shape[0])).matrix

    @property
    def _n_features_out(self) -> int:
        """The number of output columns, which scikit-learn names after the class."""
        return int(self.projection_.shape[1])

    def get_state(self) -> dict[str, State]:
        """Return the parameters, columns and arrays."""
        check_is_fitted(self)
        params = {key: _plain(value) for key, value in self.get_params(deep=False).items()}
        return {
            "params": cast("dict[str, State]", params),
            "n_features": self.n_features_in_,
            "feature_names": feature_names_of(self),
            "projection": self.projection_,
            "offset": self.offset_,
            **{name: getattr(self, name) for name in self._learned},
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Restore from the result of :meth:`get_state`, which is validated."""
        try:
            self = cls(**read_part(state, "params", dict))
            self._check_params()
        except (TypeError, InvalidArgumentError) as error:
            raise ModelFormatError(str(error)) from None
        self.n_features_in_ = read_count(state, "n_features")
        self.projection_ = read_array(state, "projection", np.float64, (self.n_features_in_, None))
        self.offset_ = read_array(state, "offset", np.float64, (self._n_features_out,))
        for name in cls._learned:
            setattr(self, name, read_array(state, name, np.float64, (None,)))
        restore_feature_names(self, state, self.n_features_in_)
        return self

    def _check_params(self) -> None:
        """Raise for parameters that ``fit`` would reject."""
        raise NotImplementedError

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether ``fit`` has run."""
        return hasattr(self, "projection_")

    def __sklearn_tags__(self) -> Tags:
        """Sparse features, label indicators."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.single_output = False
        tags.target_tags.multi_output = True
        return tags


def _plain(value: Any) -> object:
    """Return a parameter in a form that can be saved; a random generator becomes None."""
    if isinstance(value, np.generic):
        return value.item()
    return value if isinstance(value, bool | int | float | str) else None


def positive_first(directions: Float) -> Float:
    """Return the columns, with signs chosen so that their largest entry is positive."""
    largest = np.abs(directions).argmax(axis=0)
    signs = np.sign(directions[largest, np.arange(directions.shape[1])])
    return directions * np.where(signs == 0, 1.0, signs)


GRAM_ROWS = 256
"""Number of rows of a square matrix computed at a time."""


class CentredRows:
    """The matrix :math:`HX`, or X itself, represented by its products."""

    def __init__(self, X: Features, *, center: bool = True) -> None:
        self.shape = int(X.shape[0]), int(X.shape[1])
        mean = np.asarray(X.mean(axis=0)).ravel() if center else np.zeros(self.shape[1])
        self.mean: Float = mean.astype(np.float64)
        self._stored: Features = X
        self._shift: Float = self.mean
        if not isinstance(X, sparse.csr_array):
            self._stored, self._shift = X - self.mean, np.zeros(self.shape[1])

    def dot(self, V: Float) -> Float:
        """Return (HX)V."""
        return cast("Float", np.asarray(self._stored @ V) - self._shift @ V)

    def transposed_dot(self, U: Features) -> Float:
        """Return (HX)ᵀU, dense."""
        product = _dense(self._stored.T @ U)
        shift: Float = np.multiply.outer(self._shift, np.asarray(U.sum(axis=0)))
        return product - shift

    def gram_of_columns(self) -> Float:
        """Return (HX)ᵀ(HX), d × d."""
        gram = _gram(self._stored.T)
        gram -= self.shape[0] * np.outer(self._shift, self._shift)
        return gram

    def gram_of_rows(self) -> Float:
        """Return (HX)(HX)ᵀ, n × n."""
        gram = _gram(self._stored)
        cross = np.asarray(self._stored @ self._shift)
        gram -= cross[:, np.newaxis]
        gram -= cross
        gram += self._shift @ self._shift
        return gram

    def mean_strength(self) -> float:
        """Return the mean of the possibly non-zero eigenvalues: tr((HX)ᵀ(HX)) / min(n, d).

        A regularisation relative to it does not depend on the units of the features.
        """
        values = self._stored.data if sparse.issparse(self._stored) else self._stored
        values = np.asarray(values)
        total = float(np.sum(values * values)) - self.shape[0] * float(self._shift @ self._shift)
        return max(total, 0.0) / min(self.shape)


def _gram(rows: Any) -> Float:
    """Return ``rows @ rows.T`` as an array, in blocks if `rows` is sparse: few products are 0."""
    if not sparse.issparse(rows):
        return _dense(rows @ rows.T)
    by_row = cast("Csr", sparse.csr_array(cast("Any", rows)))
    gram = np.empty((by_row.shape[0], by_row.shape[0]))
    for start in range(0, len(gram), GRAM_ROWS):
        part = slice(start, start + GRAM_ROWS)
        gram[part] = _dense(by_row[part] @ by_row.T)
    return gram


def _dense(product: object) -> Float:
    """Return a product of dense or sparse matrices as an array."""
    if sparse.issparse(product):
        return cast("Float", cast("Any", product).toarray())
    return np.asarray(product, dtype=np.float64)
