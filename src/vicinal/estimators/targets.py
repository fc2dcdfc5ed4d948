"""scikit-learn's tags for multi-label estimators, and errors for other kinds of target."""

from collections.abc import Sized
from typing import Any, cast

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.labels import listed


def for_label_indicators(tags: Tags) -> Tags:
    """Set scikit-learn's tags for estimators of sparse features and label indicators only."""
    tags.input_tags.sparse = True
    tags.target_tags.required = True
    tags.target_tags.single_output = False
    tags.target_tags.multi_output = True
    if tags.classifier_tags is not None:
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
    return tags


def refuse_one_dimensional(Y: object) -> None:
    """Raise if `Y` holds one class (or number) per row instead of one column per label.

    Examples
    --------
    >>> refuse_one_dimensional([2, 0, 1])
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: Y: expected one column of 0 and 1 per label, got a
    one-dimensional multiclass target. Only binary classification is supported, label by label
    """
    rows = listed(Y)
    if getattr(rows, "ndim", 0) == 1 or _is_flat(rows):
        kind = type_of_target(cast("Any", Y))
        raise InvalidArgumentError(
            "Y",
            "one column of 0 and 1 per label",
            f"a one-dimensional {kind} target. Only binary classification is supported, "
            "label by label",
        )


def refuse_classes(Y: object) -> None:
    """Raise if `Y` holds one class per row; one-dimensional 0 and 1 are accepted as one label.

    Examples
    --------
    >>> refuse_classes([0, 1, 1])
    >>> refuse_classes(["a", "b", "a"])
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: Y: expected one column of 0 and 1 per label, a list
    of label names per row, or 0 and 1 for one label, got a one-dimensional binary target of 'a'.
    Only binary classification is supported, label by label: turn one class per row into lists,
    [[y] for y in Y]
    """
    rows = listed(Y)
    if getattr(rows, "ndim", 0) != 1 and not _is_flat(rows):
        return
    kind = type_of_target(cast("Any", Y))
    values = np.asarray(Y)
    if kind == "binary" and values.dtype.kind in "biuf" and np.isin(values, (0, 1)).all():
        return
    raise InvalidArgumentError(
        "Y",
        "one column of 0 and 1 per label, a list of label names per row, or 0 and 1 for one label",
        f"a one-dimensional {kind} target of {values.ravel()[:1].tolist()[0]!r}. Only binary "
        "classification is supported, label by label: turn one class per row into lists, "
        "[[y] for y in Y]",
    )


def _is_flat(Y: object) -> bool:
    """Tell whether `Y` is a list of single values."""
    if not isinstance(Y, list | tuple) or not Y:
        return False
    return not any(isinstance(item, Sized) and not isinstance(item, str) for item in Y)
