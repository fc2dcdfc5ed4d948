"""Transformers that are parameters and a few arrays: scalers, ``Normalizer``, ``TruncatedSVD``."""

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from vicinal._core.state import State, read_array
from vicinal.errors import ModelFormatError
from vicinal.persistence.sklearn_parts.codec import (
    AsPart,
    Codec,
    columns_state,
    made,
    params_state,
    restore_columns,
)

PER_COLUMN = {
    "StandardScaler": ("mean_", "var_", "scale_"),
    "MinMaxScaler": ("min_", "scale_", "data_min_", "data_max_", "data_range_"),
    "MaxAbsScaler": ("scale_", "max_abs_"),
    "Normalizer": (),
}
"""Arrays with one number per column; None where a scaler does not use one."""
SEEN = ("StandardScaler", "MinMaxScaler", "MaxAbsScaler")
"""Those that count the rows they have seen."""


def _state(arrays: tuple[str, ...], model: Any, as_part: AsPart) -> dict[str, State]:
    """Return parameters, columns and arrays."""
    found: dict[str, State] = {"params": params_state(model), **columns_state(model)}
    for name in arrays:
        value = getattr(model, name)
        found[name] = None if value is None else np.asarray(value, dtype=np.float64)
    if type(model).__name__ in SEEN:
        found["seen"] = np.atleast_1d(np.asarray(model.n_samples_seen_, dtype=np.int64))
    return found


def _build(kind: str, arrays: tuple[str, ...], state: Mapping[str, State]) -> Any:
    """Return a fitted transformer."""
    model = made(kind, state)
    n_features = restore_columns(model, state)
    for name in arrays:
        missing = state.get(name, ()) is None
        value = None if missing else read_array(state, name, np.float64, (n_features,))
        setattr(model, name, value)
    if kind in SEEN:
        seen = read_array(state, "seen", np.int64, (None,))
        if len(seen) not in (1, n_features):
            raise ModelFormatError(f"seen: expected 1 or {n_features} counts, got {len(seen)}")
        model.n_samples_seen_ = int(seen[0]) if len(seen) == 1 else seen
    return model


def _svd_state(model: Any, as_part: AsPart) -> dict[str, State]:
    """Return parameters, columns and components."""
    names = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_")
    arrays: dict[str, State] = {
        name: np.asarray(getattr(model, name), dtype=np.float64) for name in names
    }
    return {"params": params_state(model), **columns_state(model), **arrays}


def _build_svd(state: Mapping[str, State]) -> Any:
    """Return a fitted ``TruncatedSVD``."""
    model = made("TruncatedSVD", state)
    n_features = restore_columns(model, state)
    model.components_ = read_array(state, "components_", np.float64, (None, n_features))
    count = len(model.components_)
    for name in ("explained_variance_", "explained_variance_ratio_", "singular_values_"):
        setattr(model, name, read_array(state, name, np.float64, (count,)))
    return model


CODECS = {
    **{
        kind: Codec(partial(_state, arrays), partial(_build, kind, arrays))
        for kind, arrays in PER_COLUMN.items()
    },
    "TruncatedSVD": Codec(_svd_state, _build_svd),
}
