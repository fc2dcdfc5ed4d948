"""``OneHotEncoder``: saved as its categories, and built by fitting it on them."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from vicinal._core.state import State, read_part
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence.sklearn_parts.codec import (
    AsPart,
    Codec,
    columns_state,
    made,
    params_state,
    restore_columns,
)

LEFT_OUT = ("categories", "drop")


def _state(model: Any, as_part: AsPart) -> dict[str, State]:
    """Return parameters and the categories of each column."""
    if model.min_frequency is not None or model.max_categories is not None:
        raise InvalidArgumentError(
            "OneHotEncoder", "no min_frequency and no max_categories, to be saved", repr(model)
        )
    if model.drop is not None and not isinstance(model.drop, str):
        raise InvalidArgumentError("OneHotEncoder(drop=…)", "a word or None", repr(model.drop))
    return {
        "params": params_state(model, left_out=LEFT_OUT),
        "drop": model.drop,
        "categories": [_listed(each) for each in model.categories_],
        "is_given": not isinstance(model.categories, str),
        **columns_state(model),
    }


def _listed(categories: Any) -> State:
    """Return the categories of a column: an array of numbers, or a list of strings."""
    if categories.dtype.kind in "fiub":
        return np.asarray(categories)
    for each in categories.tolist():
        if not isinstance(each, str):
            expected = "categories that are all strings or all numbers"
            raise InvalidArgumentError("OneHotEncoder", expected, repr(each))
    return [str(each) for each in categories.tolist()]


def _build(state: Mapping[str, State]) -> Any:
    """Return an encoder fitted on rows that have every category."""
    known = [_categories(each) for each in read_part(state, "categories", list)]
    if not known:
        raise ModelFormatError("categories: expected at least one column")
    model = made("OneHotEncoder", state)
    drop = state.get("drop")
    if drop is not None and not isinstance(drop, str):
        raise ModelFormatError("drop: expected a word or nothing")
    model.drop = drop
    model.categories = known
    is_mixed = any(each.dtype.kind == "O" for each in known)
    rows = np.empty((max(map(len, known)), len(known)), dtype=object if is_mixed else np.float64)
    for column, each in enumerate(known):
        rows[:, column] = each[np.minimum(np.arange(len(rows)), len(each) - 1)]
    model.fit(rows)
    model.categories_ = known
    if not state.get("is_given"):
        model.categories = "auto"
    restore_columns(model, state)
    return model


def _categories(state: Any) -> Any:
    """Return the categories of a column, each once."""
    if isinstance(state, np.ndarray) and state.ndim == 1 and state.dtype.kind in "fiub":
        found = np.array(state)
    elif isinstance(state, list) and all(isinstance(each, str) for each in state):
        found = np.array(state, dtype=object)
    else:
        raise ModelFormatError("categories: expected numbers or strings")
    if not len(found) or len(set(found.tolist())) != len(found):
        raise ModelFormatError("categories: expected at least one per column, and each once")
    return found


CODECS = {"OneHotEncoder": Codec(_state, _build)}
