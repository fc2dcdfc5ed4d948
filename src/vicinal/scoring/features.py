"""Features, for the methods that use more than neighbours."""

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError


def check_given(X: Features | None, n_rows: int, n_features: int | None = None) -> Features:
    """Return the features of `n_rows` rows, or raise if they are missing."""
    columns = "m" if n_features is None else n_features
    expected = (
        f"features of shape ({n_rows}, {columns}), which this method needs in addition to the graph"
    )
    if X is None:
        raise InvalidArgumentError("X", expected, None)
    if X.shape[0] != n_rows or n_features not in (None, X.shape[1]):
        raise InvalidArgumentError("X", expected, f"shape {X.shape}")
    return X
