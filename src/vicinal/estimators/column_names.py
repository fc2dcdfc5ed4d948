"""Names of the columns that a model was fitted on, for callers that order columns by name.

A model that was fitted on a data frame compares the names of each frame it is given, and
scikit-learn warns where an array has none. Whoever has put the columns in the model's order already
removes the names first, so that users are not warned of an order that was checked.
"""

import copy
from typing import Any

from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline as SklearnPipeline
from sklearn.preprocessing import OneHotEncoder

from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.model import Model
from vicinal.estimators.pipeline import Pipeline, named_pipeline
from vicinal.estimators.pipeline_steps import is_passthrough


def column_names(model: Model) -> tuple[str, ...] | None:
    """Return the names of the columns of numbers that a model expects, if it knows them.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> model = BRkNN(1).fit([[0.0, 1.0]], [[1]])
    >>> column_names(model), column_names(with_feature_names(model, ["size", "age"]))
    (None, ('size', 'age'))
    """
    columns: tuple[str, ...] | None = getattr(model, "columns_", None)
    names = feature_names(model)
    return columns if columns is not None or names is None else tuple(map(str, names))


def feature_names(model: Model) -> Any:
    """Return ``feature_names_in_`` of the first step that takes rows of numbers; None without."""
    first = _first(model)
    # The columns of a frame that these two divide may hold texts or categories.
    if isinstance(first, ColumnTransformer | OneHotEncoder):
        return None
    return vars(first).get("feature_names_in_")


def with_feature_names(model: Model, names: Any) -> Model:
    """Return a shallow copy of a model whose first step has these names; without any if None.

    Changes of the copy do not affect the model.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> model = BRkNN(1).fit([[0.0, 1.0]], [[1]])
    >>> named = with_feature_names(model, ["size", "age"])  # as if fitted on a data frame
    >>> with_feature_names(named, None).predict([[0.0, 1.0]])  # scikit-learn does not warn
    array([[1]])
    """
    first = _first(model)
    changed = first.snapshot() if isinstance(first, NeighborEstimator) else copy.copy(first)
    vars(changed).pop("feature_names_in_", None)
    if names is not None:
        changed.feature_names_in_ = names
    if not isinstance(model, SklearnPipeline):
        renamed: Model = changed
        return renamed
    whole = copy.copy(model)
    whole.steps = [(name, changed if step is first else step) for name, step in model.steps]
    return whole


def ordered_by_name(model: Model) -> Model:
    """Return a model for rows whose columns were put in the order of its ``columns_``.

    A model that was fitted on a data frame becomes a pipeline with these columns, like a model that
    was trained on a file; any other model is returned as it is.

    Examples
    --------
    >>> from vicinal import BRkNN
    >>> model = with_feature_names(BRkNN(1).fit([[0.0, 1.0]], [[1]]), ["size", "age"])
    >>> ordered_by_name(model).columns_
    ('size', 'age')
    """
    if feature_names(model) is None:
        return model
    nameless = with_feature_names(model, None)
    steps = nameless.steps if isinstance(nameless, SklearnPipeline) else [("estimator", nameless)]
    reading = model.reading_ if isinstance(model, Pipeline) else None
    return named_pipeline(steps, column_names(model), reading)


def _first(model: Model) -> Any:
    """Return the first step that does not leave rows as they are; an estimator itself."""
    if not isinstance(model, SklearnPipeline):
        return model
    return next(step for _, step in model.steps if not is_passthrough(step))
