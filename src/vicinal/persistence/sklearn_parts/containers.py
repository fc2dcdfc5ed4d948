"""``FeatureUnion``, ``ColumnTransformer`` and ``Pipeline`` of parts that can be saved."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from vicinal._core.state import State, read_names, read_part, read_plain
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence.sklearn_parts.classes import sklearn_class
from vicinal.persistence.sklearn_parts.codec import AsPart, Codec, columns_state, restore_columns

WORDS = ("drop", "passthrough")
"""What may stand in place of a transformer."""
NOTHING = slice(0, 0)
"""Where scikit-learn says that the columns of a transformer are that has none."""


def _part(name: str, step: Any, as_part: AsPart) -> State:
    """Return a step, or the word that stands in its place."""
    if step is None or (isinstance(step, str) and step in WORDS):
        return cast("State", step)
    return as_part(name, step)


def _step(part: Any) -> Any:
    """Return the transformer of a part, or the word in its place."""
    if part is None or (isinstance(part, str) and part in WORDS):
        return part
    estimator = getattr(part, "estimator", part)
    if not hasattr(estimator, "transform"):
        raise ModelFormatError(f"expected a transformer, got a {type(estimator).__name__}")
    return estimator


def _steps(state: Mapping[str, State]) -> list[tuple[str, Any]]:
    """Return named transformers."""
    names, parts = read_names(state, "names"), read_part(state, "steps", list)
    if len(names) != len(parts) or not names or len(set(names)) != len(names):
        raise ModelFormatError("expected transformers, and a name of its own for each")
    return [(name, _step(part)) for name, part in zip(names, parts, strict=True)]


def _list_state(attribute: str, model: Any, as_part: AsPart) -> dict[str, State]:
    """Return the named transformers of a list."""
    steps = getattr(model, attribute)
    return {
        "names": [name for name, _ in steps],
        "steps": [_part(name, step, as_part) for name, step in steps],
    }


def _union_state(model: Any, as_part: AsPart) -> dict[str, State]:
    """Return transformers and their weights."""
    weights = model.transformer_weights
    return {
        **_list_state("transformer_list", model, as_part),
        "weights": None if weights is None else {str(k): float(v) for k, v in weights.items()},
    }


def _build_union(state: Mapping[str, State]) -> Any:
    """Return a union of fitted transformers."""
    steps, weights = _steps(state), state.get("weights")
    if weights is not None:
        known = [name for name, _ in steps]
        if not isinstance(weights, dict) or not set(weights) <= set(known):
            raise ModelFormatError("weights: expected numbers by the names of transformers")
        weights = {name: read_plain(weights, name, float) for name in weights}
    return sklearn_class("FeatureUnion")(steps, transformer_weights=weights)


def _columns_state(model: Any, as_part: AsPart) -> dict[str, State]:
    """Return the fitted transformers with their columns."""
    if not isinstance(model.remainder, str):
        expected = "remainder 'drop' or 'passthrough', to be saved"
        raise InvalidArgumentError("ColumnTransformer", expected, repr(model.remainder))
    fitted = {name: step for name, step, _ in model.transformers_}
    found = {name: chosen for name, _, chosen in model.transformers_}
    places: dict[str, slice] = getattr(model, "output_indices_", {})  # none where all are empty
    names, steps, columns = [], [], []
    for name, given, chosen in model.transformers:
        is_word = isinstance(given, str)
        names.append(name)
        # Without columns a transformer is left as it was given: not fitted.
        empty = not is_word and places.get(name, NOTHING) == NOTHING
        steps.append("drop" if empty else _part(name, given if is_word else fitted[name], as_part))
        # A function chose its columns when the transformer was fitted.
        columns.append(_chosen_state(name, found[name] if callable(chosen) else chosen))
    return {
        "names": list(names),
        "steps": list(steps),
        "columns": list(columns),
        "remainder": model.remainder,
        "sparse_threshold": float(model.sparse_threshold),
        "prefixed": bool(model.verbose_feature_names_out),
        "sparse_output": bool(getattr(model, "sparse_output_", False)),
        **columns_state(model),
    }


def _chosen_state(name: str, columns: Any) -> State:
    """Return a choice of columns: a name, a number, or a list of either."""
    if isinstance(columns, slice):
        if isinstance(columns.start, str) or isinstance(columns.stop, str):
            raise InvalidArgumentError(name, "columns by name, number or list", repr(columns))
        return {"slice": [columns.start, columns.stop, columns.step]}
    if isinstance(columns, str | int) and not isinstance(columns, bool):
        return columns
    found = [each.item() if isinstance(each, np.generic) else each for each in list(columns)]
    if not all(isinstance(each, bool | int | str) for each in found):
        raise InvalidArgumentError(name, "columns by name, number or list", repr(columns)[:80])
    return list(found)


def _chosen(state: Any) -> Any:
    """Return a choice of columns, checked."""
    if isinstance(state, str | int):
        return state
    if isinstance(state, list) and all(isinstance(each, bool | int | str) for each in state):
        return state
    bounds = state.get("slice") if isinstance(state, dict) else None
    if (
        isinstance(bounds, list)
        and len(bounds) == 3
        and all(each is None or type(each) is int for each in bounds)
    ):
        return slice(*bounds)
    raise ModelFormatError("columns: expected names, numbers or a list of either")


def _build_columns(state: Mapping[str, State]) -> Any:
    """Return a column transformer, fitted with its own transformers frozen on one made-up row.

    So scikit-learn itself works out everything besides what the transformers learned.
    """
    from sklearn.frozen import FrozenEstimator

    steps = _steps(state)
    columns = [_chosen(each) for each in read_part(state, "columns", list)]
    if len(columns) != len(steps):
        raise ModelFormatError("columns: expected one choice per transformer")
    remainder = read_plain(state, "remainder", str)
    model = sklearn_class("ColumnTransformer")(
        [
            (name, step if isinstance(step, str) else FrozenEstimator(step), chosen)
            for (name, step), chosen in zip(steps, columns, strict=True)
        ],
        remainder=remainder,
        sparse_threshold=read_plain(state, "sparse_threshold", float),
        verbose_feature_names_out=read_plain(state, "prefixed", bool),
    )
    names = _Names(state)
    model.fit(names.framed(_row(steps, columns, names)))
    frozen = dict(steps)
    model.transformers_ = [
        (name, frozen[name] if isinstance(step, FrozenEstimator) else step, chosen)
        for name, step, chosen in model.transformers_
    ]
    model.transformers = [
        (name, step if isinstance(step, str) else clone(step), chosen)
        for (name, step), chosen in zip(steps, columns, strict=True)
    ]
    model.sparse_output_ = read_plain(state, "sparse_output", bool)
    return model


class _Names:
    """The columns of the rows that a column transformer takes."""

    def __init__(self, state: Mapping[str, State]) -> None:
        self._holder = type("Columns", (), {})()
        self.count = restore_columns(self._holder, state) or 0
        if not 0 < self.count < 10_000_000:
            raise ModelFormatError("n_features: expected a number of columns")
        found = getattr(self._holder, "feature_names_in_", None)
        self.names = None if found is None else found.tolist()

    def numbers(self, chosen: Any) -> list[int]:
        """Return the numbers of chosen columns."""
        if isinstance(chosen, slice):
            return list(range(self.count))[chosen]
        each = chosen if isinstance(chosen, list) else [chosen]
        if each and all(isinstance(one, bool) for one in each):
            return [at for at, one in enumerate(each) if one]
        return [self._number(one) for one in each]

    def _number(self, column: Any) -> int:
        """Return the number of one column."""
        if isinstance(column, str):
            if self.names is None or column not in self.names:
                raise ModelFormatError(f"columns: no column {column!r}")
            return int(self.names.index(column))
        return int(range(self.count)[column])

    def framed(self, row: list[object]) -> Any:
        """Return one row as the transformer takes it: a frame where columns have names."""
        table = np.empty((1, self.count), dtype=object)
        table[0, :] = row
        if self.names is None:
            return table
        from importlib import import_module

        frame = import_module("pandas").DataFrame(table, columns=self.names)
        return frame.infer_objects()


def _row(steps: list[tuple[str, Any]], columns: list[Any], names: _Names) -> list[object]:
    """Return one row that every transformer can transform."""
    row: list[object] = [0.0] * names.count
    for (_, step), chosen in zip(steps, columns, strict=True):
        numbers = names.numbers(chosen)
        first = _first(step)
        for place, at in enumerate(numbers):
            if hasattr(first, "categories_"):
                row[at] = first.categories_[place][0]
            elif hasattr(first, "vocabulary_") and not isinstance(row[at], str):
                row[at] = ""
    return row


def _first(step: Any) -> Any:
    """Return the transformer that meets the columns themselves."""
    while hasattr(step, "steps") or hasattr(step, "transformer_list"):
        step = getattr(step, "steps", None) or step.transformer_list
        step = step[0][1]
    return step


def _build_pipeline(state: Mapping[str, State]) -> Any:
    """Return a pipeline of fitted transformers."""
    return sklearn_class("Pipeline")(_steps(state))


CODECS = {
    "FeatureUnion": Codec(_union_state, _build_union),
    "ColumnTransformer": Codec(_columns_state, _build_columns),
    "Pipeline": Codec(lambda model, as_part: _list_state("steps", model, as_part), _build_pipeline),
}
