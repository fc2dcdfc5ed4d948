"""Turn the ``threshold`` and ``never_empty`` parameters into decision rules."""

from collections.abc import Mapping, Sized
from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.multiclass import type_of_target

from vicinal._core.arrays import Features, Float
from vicinal._core.checks import check_flag, check_real
from vicinal._core.labels import listed
from vicinal.decision import CardinalityThreshold, Decision, FittedDecision, NeverEmpty, Threshold
from vicinal.errors import InvalidArgumentError, did_you_mean
from vicinal.graph import NeighborGraph
from vicinal.methods.training import Scoring


def resolve_decision(threshold: object, never_empty: object, own: Decision) -> Decision:
    """Return the decision rule for the two parameters."""
    named = {"cardinality": "exact", "two-pass": "two-pass"}
    rule: Decision | None = own
    if isinstance(threshold, str):
        rule = CardinalityThreshold(named[threshold]) if threshold in named else None
    elif threshold is not None:
        rule = given_rule(threshold)
    if rule is None:
        expected = "None, 'cardinality', 'two-pass', a number or a decision rule"
        raise InvalidArgumentError(
            "threshold", expected, repr(threshold), did_you_mean(threshold, named)
        )
    if never_empty is not None and not check_flag("never_empty", never_empty):
        return rule.rule if isinstance(rule, NeverEmpty) else rule
    if isinstance(own, NeverEmpty) and not isinstance(rule, NeverEmpty):
        rule = replace(own, rule=rule)
    if never_empty is None:
        return rule
    return replace(rule, always=True) if isinstance(rule, NeverEmpty) else NeverEmpty(rule)


def check_decides(decision: FittedDecision, scoring: Scoring, X: Features, metric: str) -> None:
    """Raise if a fitted rule cannot decide on the method's scores; tried on a block of no rows."""
    width = min(scoring.k, X.shape[0])
    ids = np.empty((0, width), dtype=np.int32)
    no_queries = NeighborGraph(ids, np.empty((0, width)), metric, X.shape[0])
    decision.decide(scoring.scores(no_queries, X[:0]))


def given_rule(threshold: object) -> Decision | None:
    """Return the rule for a number or a decision rule; None for other values."""
    if isinstance(threshold, Decision) and not isinstance(threshold, type):
        return threshold
    if isinstance(threshold, int | float | np.integer | np.floating):
        return Threshold(check_real("threshold", threshold))
    return None


NEIGHBOR_PLACES = "a repeated row is a further neighbour, a weighted one is not"
"""Why a method of neighbours has no weighted form."""


def check_sample_weight(sample_weight: object, n_rows: int) -> Float | None:
    """Return the weights as float64, one per row; None where none are given."""
    if sample_weight is None:
        return None
    try:
        weights = np.array(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        expected = f"a number for each of {n_rows} rows"
        raise InvalidArgumentError("sample_weight", expected, repr(sample_weight)[:60]) from None
    if weights.ndim == 0:
        weights = np.full(n_rows, float(weights))
    if weights.shape != (n_rows,):
        expected = f"a number for each of {n_rows} rows"
        raise InvalidArgumentError("sample_weight", expected, f"shape {weights.shape}")
    bad = weights[~np.isfinite(weights) | (weights < 0)]
    if len(bad) or not weights.any():
        got = f"{bad[0]:g}" if len(bad) else "only zeros"
        expected = "finite weights of at least 0, one of them above 0"
        raise InvalidArgumentError("sample_weight", expected, got)
    return weights


def refuse_fit_arguments(model: object, given: Mapping[str, object], why: str) -> None:
    """Refuse what ``fit`` was given besides its own arguments: weights, or a mistyped name."""
    name = type(model).__name__
    for key, value in given.items():
        if key != "sample_weight":
            raise TypeError(f"{name}.fit() got an unexpected keyword argument {key!r}")
        if value is not None:
            expected = f"None, because {name} cannot weight rows: {why}"
            hint = "repeat rows with numpy.repeat, or use LabelRidge"
            raise InvalidArgumentError("sample_weight", expected, type(value).__name__, hint)


def refuse_graph(graph: object) -> None:
    """Refuse a ready graph besides weights: the rows that learn may be fewer than those given."""
    if graph is not None:
        raise InvalidArgumentError("graph", "None where sample_weight is given", "a graph")


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
    """Raise if `Y` holds one class (or number) per row instead of one column per label."""
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
    """Raise if `Y` holds one class per row; one-dimensional 0 and 1 are accepted as one label."""
    rows = listed(Y)
    if getattr(rows, "ndim", 0) != 1 and not _is_flat(rows):
        return
    expected = "a list of label names per row, or columns of 0 and 1"
    hint = "a class per row: [[y] for y in Y]; several labels in a cell: [y.split(';') for y in Y]"
    values = np.asarray(Y)
    if values.dtype.kind not in "biuf" and any(isinstance(each, str) for each in values.ravel()):
        raise InvalidArgumentError("Y", expected, "one string per row", hint)
    kind = type_of_target(cast("Any", Y))
    if kind == "binary" and values.dtype.kind in "biuf" and np.isin(values, (0, 1)).all():
        return
    binary = "Only binary classification is supported, label by label"
    got = f"a one-dimensional {kind} target. {binary}"
    raise InvalidArgumentError("Y", expected, got, hint)


def _is_flat(Y: object) -> bool:
    """Tell whether `Y` is a list of single values."""
    if not isinstance(Y, list | tuple) or not Y:
        return False
    return not any(isinstance(item, Sized) and not isinstance(item, str) for item in Y)
