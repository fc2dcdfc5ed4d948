"""What saving a class of scikit-learn takes, and the parameters that can be saved."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias, cast

import numpy as np

from vicinal._core.state import (
    Saveable,
    State,
    feature_names_of,
    read_count,
    read_part,
    restore_feature_names,
)
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence.sklearn_parts.classes import sklearn_class

AsPart: TypeAlias = Callable[[str, Any], Saveable]
_KINDS_OF_NUMBERS = "fiub"
"""Floats, integers with and without a sign, and bool, in NumPy's letters."""


class Codec(NamedTuple):
    """How a fitted transformer becomes plain values, and how it is built from them."""

    state: Callable[[Any, AsPart], dict[str, State]]
    build: Callable[[Mapping[str, State]], Any]


def params_state(model: Any, *, left_out: tuple[str, ...] = ()) -> dict[str, State]:
    """Return the parameters of a transformer as plain values; functions are refused by name."""
    params = model.get_params(deep=False)
    return {
        name: _plain(type(model).__name__, name, value)
        for name, value in params.items()
        if name not in left_out
    }


def _plain(owner: str, name: str, value: Any) -> State:
    """Return a parameter as a file can hold it."""
    if isinstance(value, type | np.dtype) and np.dtype(value).kind in _KINDS_OF_NUMBERS:
        return {"dtype": np.dtype(value).name}
    if isinstance(value, np.generic):
        return cast("State", value.item())
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return {"tuple": [_plain(owner, name, each) for each in value]}
    if isinstance(value, list):
        return [_plain(owner, name, each) for each in value]
    if isinstance(value, np.random.RandomState):  # of no use to a transformer that is fitted
        return None
    raise InvalidArgumentError(
        f"{owner}({name}=…)", "plain values (functions cannot be saved)", repr(value)[:80]
    )


def read_params(state: Mapping[str, State], key: str = "params") -> dict[str, Any]:
    """Return the parameters that :func:`params_state` gave."""
    return {name: _value(each) for name, each in read_part(state, key, dict).items()}


def _value(state: Any) -> Any:
    """Return one parameter."""
    if isinstance(state, dict):
        if set(state) == {"tuple"} and isinstance(state["tuple"], list):
            return tuple(_value(each) for each in state["tuple"])
        if set(state) == {"dtype"} and isinstance(state["dtype"], str):
            return _dtype(state["dtype"])
        raise ModelFormatError("params: expected plain values")
    return [_value(each) for each in state] if isinstance(state, list) else state


def _dtype(name: str) -> Any:
    """Return a type of numbers."""
    try:
        found = np.dtype(name)
    except TypeError:
        found = np.dtype(object)
    if found.kind not in _KINDS_OF_NUMBERS:
        raise ModelFormatError(f"dtype: expected a type of numbers, got {name!r}")
    return found.type


def made(kind: str, state: Mapping[str, State]) -> Any:
    """Return an unfitted transformer with the parameters of the state."""
    return sklearn_class(kind)(**read_params(state))


def columns_state(model: Any) -> dict[str, State]:
    """Return number and names of the columns seen at fit."""
    count: int | None = getattr(model, "n_features_in_", None)
    return {"n_features": count, "feature_names": feature_names_of(model)}


def restore_columns(model: Any, state: Mapping[str, State]) -> int | None:
    """Set number and names of the columns seen at fit."""
    if state.get("n_features") is None:
        return None
    model.n_features_in_ = read_count(state, "n_features")
    restore_feature_names(model, state, model.n_features_in_)
    return int(model.n_features_in_)
