"""What the transformers of numeric rows share: the door, the columns they know, the tags."""

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
    """A transformer whose columns out are its columns in, by number and by name."""

    def _read(self, X: object, *, reset: bool) -> Features:
        """Return `X` as float rows; learn (`reset`) or check the number and names of columns.

        scikit-learn looks at names and shape, so that its messages are the ones its users know;
        what goes further is what ``check_features`` lets through.
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
        """Return the columns seen at fit; None where the transformer was used without one."""
        n_features: int | None = getattr(self, "n_features_in_", None)
        return {"n_features": n_features, "feature_names": feature_names_of(self)}

    def _restore_columns(self, state: Mapping[str, State]) -> int | None:
        """Set the columns from a state; return how many there are."""
        if state.get("n_features", 0) is None:
            return None
        n_features = read_count(state, "n_features")
        self.n_features_in_ = n_features
        restore_feature_names(self, state, n_features)
        return n_features

    def __sklearn_tags__(self) -> Tags:
        """Sparse rows are welcome; float32 stays float32."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FittedTransformer(ColumnwiseTransformer):
    """A transformer that is nothing before it is fitted."""

    def _restore_columns(self, state: Mapping[str, State]) -> int:
        """Set the columns from a state, which must have some."""
        n_features = super()._restore_columns(state)
        if n_features is None:
            raise ModelFormatError("n_features: expected int, got None")
        return n_features


class RowLocalTransformer(ColumnwiseTransformer):
    """A transformer that needs no fit: it learns nothing but the columns, to check them later."""

    def __sklearn_tags__(self) -> Tags:
        """Usable without a fit."""
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        return tags


def check_not_negative(rows: Features, user: str) -> None:
    """Refuse values below 0, in the words scikit-learn's checks look for."""
    values = rows if isinstance(rows, np.ndarray) else rows.data
    if values.size and values.min() < 0:
        raise InvalidArgumentError(
            "X", "values of at least 0", f"Negative values in data passed to {user}"
        )
