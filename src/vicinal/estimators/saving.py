"""Convert a fitted estimator to plain values, arrays and parts, and back."""

from collections.abc import Mapping
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Int
from vicinal._base.errors import InvalidArgumentError, ModelFormatError
from vicinal._base.labels import Kind
from vicinal._base.sparse_structure import MOST_ROWS
from vicinal._base.state import (
    State,
    damage_if_refused,
    feature_names_of,
    read_array,
    read_names,
    read_part,
    read_plain,
    restore_feature_names,
)
from vicinal._base.validation import check_features, check_option
from vicinal.decision import FittedDecision
from vicinal.distances import get_distance
from vicinal.estimators.row_names import packed_names, unpacked_names
from vicinal.estimators.rules import check_decides
from vicinal.estimators.version import Calibration, Version
from vicinal.index import TrainingRows
from vicinal.index.build import algorithm_name, index_factory
from vicinal.scoring import Scoring

if TYPE_CHECKING:
    from vicinal.estimators.base import NeighborEstimator

LABEL_DTYPES = frozenset(
    ["bool", *(f"{kind}int{bits}" for kind in ("", "u") for bits in (8, 16, 32, 64))]
    + [f"float{bits}" for bits in (16, 32, 64)]
)
"""The number types that a label indicator can have."""

Fitted = TypeVar("Fitted", bound="NeighborEstimator")


def estimator_state(model: "NeighborEstimator") -> dict[str, State]:
    """Return the state that :func:`restore_estimator` needs, without the index.

    The index is built again from `X` when the model is loaded.
    """
    version = model._fitted().whole
    return {
        "params": plain_parameters(model),
        "scoring": version.scoring,
        "decision": version.decision,
        "X": version.rows.X,
        "metric": version.rows.metric,
        "row_ids": version.rows.row_ids,
        "n_ids": version.rows.n_ids,
        "label_names": list(version.label_names),
        "label_kind": version.label_kind,
        "label_dtype": version.label_dtype,
        "calibration": list(astuple(version.calibration)),
        "feature_names": feature_names_of(model),
        "row_names": packed_names(version.row_names),
    }


def plain_parameters(model: "NeighborEstimator") -> dict[str, State]:
    """Return the parameters of an estimator as values that can be saved."""
    return {
        key: algorithm_name(value) if key == "algorithm" else _saved(value)
        for key, value in model.get_params(deep=False).items()
    }


def _saved(value: Any) -> State:
    """Return a parameter as a value that can be saved: array-likes become arrays.

    A random generator becomes None, because a fitted model does not need its state.
    """
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None
    if sparse.issparse(value):
        return np.asarray(cast("Csr", value).toarray())
    if isinstance(value, list | tuple):
        return [_saved(each) for each in value]
    if hasattr(value, "__array__") and not isinstance(value, np.generic):
        return np.asarray(value)
    return cast("State", value)


def restore_estimator(kind: type[Fitted], state: Mapping[str, State]) -> Fitted:
    """Return a fitted estimator, after checking that its parts are consistent."""
    params = read_part(state, "params", dict)
    X = _features(state)
    scoring: Scoring = read_part(state, "scoring", Scoring)
    label_names = read_names(state, "label_names")
    if scoring.Y.shape != (X.shape[0], len(label_names)):
        raise ModelFormatError(
            f"expected labels of shape {X.shape[0], len(label_names)}, got {scoring.Y.shape}"
        )
    decision: FittedDecision = read_part(state, "decision", FittedDecision)
    try:
        model = kind(**params)
        metric = get_distance(state.get("metric")).name
        index_factory(model.algorithm)
        check_decides(decision, scoring, X, metric)
        label_kind = check_option(
            "label_kind", state.get("label_kind"), ("dense", "sparse", "flat")
        )
    except (TypeError, InvalidArgumentError) as error:
        raise ModelFormatError(str(error)) from None
    ids = _row_ids(state, X.shape[0])
    version = Version(
        TrainingRows(X, metric, model.n_jobs, *ids, algorithm=model.algorithm),
        scoring,
        decision,
        label_names,
        cast("Kind", label_kind),
        _label_dtype(state),
        model._params(),
        _calibration(state, X.shape[0]),
        row_names=unpacked_names(state, X.shape[0]),
    )
    model._publish(version)
    model.n_features_in_ = X.shape[1]
    restore_feature_names(model, state, X.shape[1])
    return model


def _features(state: Mapping[str, State]) -> Features:
    """Return the training rows, validated like new input."""
    with damage_if_refused():
        return check_features(state.get("X"))


def _row_ids(state: Mapping[str, State], n_rows: int) -> tuple[Int, int]:
    """Return the increasing ids of the rows, and how many ids were ever assigned."""
    ids, n_ids = read_array(state, "row_ids", np.int64, (n_rows,)), read_plain(state, "n_ids", int)
    if not n_rows <= n_ids <= MOST_ROWS:
        raise ModelFormatError(
            f"n_ids: expected a number from {n_rows} to {MOST_ROWS}, got {n_ids}"
        )
    if n_rows and (ids[0] < 0 or ids[-1] >= n_ids or np.any(ids[1:] <= ids[:-1])):
        raise ModelFormatError(f"row_ids: expected increasing ids from 0 to {n_ids - 1}")
    return ids, n_ids


def _calibration(state: Mapping[str, State], n_rows: int) -> Calibration:
    """Return how outdated the threshold was; older models do not store it, and count as current."""
    if "calibration" not in state:
        return Calibration(n_rows)
    counts = read_part(state, "calibration", list)
    if len(counts) != 3 or not all(type(count) is int and count >= 0 for count in counts):
        raise ModelFormatError(
            f"calibration: expected three integers of at least 0, got {counts!r}"
        )
    return Calibration(*counts)


def _label_dtype(state: Mapping[str, State]) -> str:
    """Return the number type of predictions."""
    name = read_plain(state, "label_dtype", str)
    if name not in LABEL_DTYPES:
        raise ModelFormatError(f"label_dtype: expected a number type, got {name!r}")
    return name
