"""Read and validate the saved states of scoring methods."""

from collections.abc import Mapping

import numpy as np

from vicinal._base.arrays import Csr
from vicinal._base.errors import ModelFormatError
from vicinal._base.indicator import check_indicator
from vicinal._base.state import State, damage_if_refused, read_csr, read_plain


def read_weight(state: Mapping[str, State], key: str) -> float:
    """Return ``state[key]``, a finite number of at least 0."""
    value = read_plain(state, key, float)
    if not (np.isfinite(value) and value >= 0):
        raise ModelFormatError(f"{key}: expected a finite number of at least 0, got {value}")
    return value


def read_indicator(state: Mapping[str, State], key: str) -> Csr:
    """Return ``state[key]``, a label indicator."""
    with damage_if_refused():
        return check_indicator(read_csr(state, key, (None, None)), key)
