"""Base classes of the transformers of numeric rows: validation, columns and tags."""

from collections.abc import Mapping

import numpy as np
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import State, feature_names_of, read_count, restore_feature_names
from vicinal._base.validation import check_features, check_readable


class ColumnwiseTransformer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):
    """A transformer whose output has the same columns as its input."""

    def _read(self, X: object, *, reset: bool) -> Features:
        """Return `X` as float rows; store (`reset`) or compare the number and names of columns.

        scikit-learn validates names and shape first, so that users see its familiar messages;
        ``check_features`` validates the values.
        """
        check_readable(X)
        rows = validate_data(
            self,
            X,
            reset=reset,
            accept_sparse=True,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
        )
        return check_features(rows)

    def _columns_state(self) -> dict[str, State]:
        """Return the columns seen by ``fit``; None if the transformer was not fitted."""
        n_features: int | None = getattr(self, "n_features_in_", None)
        return {"n_features": n_features, "feature_names": feature_names_of(self)}

    def _restore_columns(self, state: Mapping[str, State]) -> int | None:
        """Set the columns from a state and return their number."""
        if state.get("n_features", 0) is None:
            return None
        n_features = read_count(state, "n_features")
        self.n_features_in_ = n_features
        restore_feature_names(self, state, n_features)
        return n_features

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: sparse rows are accepted, float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FittedTransformer(ColumnwiseTransformer):
    """A transformer that must be fitted before use."""

    def _restore_columns(self, state: Mapping[str, State]) -> int:
        """Set the columns from a state, which must contain them."""
        n_features = super()._restore_columns(state)
        if n_features is None:
            raise ModelFormatError("n_features: expected int, got None")
        return n_features


class RowLocalTransformer(ColumnwiseTransformer):
    """A transformer that needs no fit; ``fit`` only stores the columns, to check later rows."""

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: no fit is required."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def check_not_negative(rows: Features, user: str) -> None:
    """Raise for values below 0, with the message that scikit-learn's checks require."""
    values = rows if isinstance(rows, np.ndarray) else rows.data
    if values.size and values.min() < 0:
        raise InvalidArgumentError(
            "X", "values of at least 0", f"Negative values in data passed to {user}"
        )
