"""Base class of the baselines: input validation and predictions from scores."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import BLOCK_CELLS, Csr, Features, Float
from vicinal._core.checks import unchanged_on_failure
from vicinal._core.labels import read_labels
from vicinal._core.validation import owned, read_features
from vicinal.decision import Threshold
from vicinal.errors import InvalidArgumentError
from vicinal.methods._arguments import (
    check_sample_weight,
    for_label_indicators,
    refuse_fit_arguments,
    refuse_one_dimensional,
)
from vicinal.methods.registry import Method, declare
from vicinal.scores import DENSE_LIMIT, Scores

ORDER_OF_ROWS = "its solver stops at a tolerance, so a weight would not equal repeated rows"
"""Why a support vector machine has no weighted form here."""


class MultiLabelClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Base class of the baselines; users call the subclasses."""

    method: ClassVar[Method]

    def __init_subclass__(cls, **options: Any) -> None:
        """Register a class that declares a method."""
        super().__init_subclass__(**options)
        declare(cls)

    @abstractmethod
    def _learn(self, X: Features, Y: Csr) -> None:
        """Check the parameters and learn from float64 rows and their labels."""

    @abstractmethod
    def _score(self, X: Features) -> Float:
        """Return the score of each label for float64 rows."""

    def fit(self, X: object, Y: object, **unsupported: object) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m)
            Training rows.
        Y : array-like or sparse indicator, shape (n, L), or list of label-name collections
            Labels of the training rows.
        **unsupported
            ``sample_weight`` raises an error that gives the reason.
        """
        refuse_fit_arguments(self, unsupported, ORDER_OF_ROWS)
        return self._fit(X, Y)

    def _fit(self, X: object, Y: object, sample_weight: object = None) -> Self:
        """Learn from rows and their labels, which have weights only in a weighted baseline."""
        with unchanged_on_failure(self):
            rows = self._read(X, reset=True)
            refuse_one_dimensional(Y)
            labels = read_labels(Y, int(rows.shape[0]))
            check_cells(*labels.matrix.shape)
            weights = check_sample_weight(sample_weight, int(rows.shape[0]))
            if weights is not None and isinstance(self, WeightedClassifier):
                kept = np.flatnonzero(weights)
                self._learn_weighted(rows[kept], labels.matrix[kept], weights[kept])
            else:
                self._learn(rows, labels.matrix)
            self.label_names_ = labels.names
            self.label_kind_ = labels.kind
            self.label_dtype_ = labels.dtype
        return self

    def decision_function(self, X: object) -> Float:
        """Return the score of every row and label: float64, shape (n, L)."""
        check_is_fitted(self)
        rows = self._read(X, reset=False)
        check_cells(int(rows.shape[0]), len(self.label_names_))
        return self._score(rows)

    def scores(self, X: object) -> Scores:
        """Return the scores in the form used by metrics and decision rules."""
        return Scores.dense(self.decision_function(X))

    def predict(self, X: object) -> NDArray[Any] | Csr:
        """Return the label indicator of each row, with the array type and dtype of `Y` in fit."""
        decided = cast("Csr", self.decide(self.scores(X)).astype(self.label_dtype_))
        return decided.toarray() if self.label_kind_ == "dense" else decided

    def decide(self, scores: Scores) -> Csr:
        """Return the label sets; by default the labels with a score above 0."""
        return Threshold(0.0).decide(scores)

    def _read(self, X: object, *, reset: bool) -> Features:
        """Return `X` as float64 rows; learn (`reset`) or check the number and names of columns."""
        rows = read_features(self, X, reset=reset).astype(np.float64, copy=False)
        return owned(rows, X) if reset else rows

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether ``fit`` has run."""
        return hasattr(self, "label_names_")

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn: sparse features, label indicators only."""
        return for_label_indicators(super().__sklearn_tags__())

    @property
    def classes_(self) -> NDArray[Any]:
        """The two classes of each label, shape (L, 2): scikit-learn's scorers need them."""
        return np.broadcast_to([0, 1], (len(self.label_names_), 2))


class WeightedClassifier(MultiLabelClassifier):
    """Base class of the baselines whose training rows may have weights."""

    @abstractmethod
    def _learn_weighted(self, X: Features, Y: Csr, weights: Float) -> None:
        """Learn from rows, their labels and their weights, which are above 0."""

    def _learn(self, X: Features, Y: Csr) -> None:
        """Learn from rows that count once each."""
        self._learn_weighted(X, Y, np.ones(int(Y.shape[0])))

    def fit(
        self, X: object, Y: object, sample_weight: object = None, **unsupported: object
    ) -> Self:
        """Learn from rows and their labels, which may have weights.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m)
            Training rows.
        Y : array-like or sparse indicator, shape (n, L), or list of label-name collections
            Labels of the training rows.
        sample_weight : array-like of shape (n,), optional
            A row of weight w counts as w equal rows; rows of weight 0 are left out.
        """
        refuse_fit_arguments(self, unsupported, "")
        return self._fit(X, Y, sample_weight)


def check_cells(n_rows: int, n_labels: int) -> None:
    """Raise if one number per row and label would take more than 2 GiB."""
    if n_rows * n_labels > DENSE_LIMIT:
        raise InvalidArgumentError(
            "X", f"at most {DENSE_LIMIT} rows × labels", f"{n_rows} rows × {n_labels} labels"
        )


def row_blocks(n_rows: int, width: int) -> Iterator[slice]:
    """Yield blocks of rows of limited size, given `width` numbers per row."""
    step = max(1, BLOCK_CELLS // max(width, 1))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
