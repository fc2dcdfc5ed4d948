"""What a saved label ridge holds besides plain arrays, read and checked."""

from collections.abc import Mapping

import numpy as np

from vicinal._base.arrays import Features, Float, Int
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.state import State, read_array, read_plain, read_value
from vicinal._base.validation import check_features


def read_columns(state: Mapping[str, State], n_features: int) -> Int | None:
    """Return the kept columns, rising."""
    if read_value(state, "columns") is None:
        return None
    columns = read_array(state, "columns", np.int64, (None,))
    if len(columns) and (
        columns[0] < 0 or columns[-1] >= n_features or np.any(np.diff(columns) <= 0)
    ):
        raise ModelFormatError(f"columns: expected rising ids below {n_features}")
    return columns


def read_kernel(
    state: Mapping[str, State], shape: tuple[int, int]
) -> tuple[float | None, Features | None]:
    """Return gamma and the rows of a kernel, or None for both."""
    if read_value(state, "gamma") is None:
        return None, None
    gamma = read_plain(state, "gamma", float)
    try:
        rows = check_features(read_value(state, "rows"), "rows")
    except InvalidArgumentError as error:
        raise ModelFormatError(str(error)) from None
    if rows.shape != shape or gamma <= 0:
        raise ModelFormatError(f"rows: expected shape {shape} and a gamma above 0")
    return gamma, rows


def read_weights(state: Mapping[str, State], n_rows: int) -> Float | None:
    """Return the weights of the training rows; models of earlier versions have none."""
    if state.get("weights") is None:
        return None
    weights = read_array(state, "weights", np.float64, (n_rows,))
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise ModelFormatError("weights: expected finite numbers above 0")
    return weights
