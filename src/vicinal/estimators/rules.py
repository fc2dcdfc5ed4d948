"""Turn the ``threshold`` and ``never_empty`` parameters into decision rules."""

from dataclasses import replace

import numpy as np

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_flag, check_real
from vicinal.decision import (
    CardinalityThreshold,
    Decision,
    FittedDecision,
    NeverEmpty,
    Threshold,
)
from vicinal.graph import NeighborGraph
from vicinal.scoring import Scoring


def resolve_decision(threshold: object, never_empty: object, own: Decision) -> Decision:
    """Return the decision rule for the two parameters.

    Parameters
    ----------
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        None for the method's own rule; a float t predicts the labels that score more than t.
    never_empty : bool or None
        Whether every row gets at least one label. None: if the method's own rule ensures it, with
        any threshold.
    own : Decision
        The method's own rule.

    Examples
    --------
    >>> resolve_decision(0.3, None, own=Threshold(0.5))
    Threshold(value=0.3, inclusive=False)
    >>> resolve_decision("two-pass", True, own=Threshold(0.5))
    NeverEmpty(rule=CardinalityThreshold(method='two-pass'), when_all_zero='most-frequent')
    """
    rule = own if threshold is None else _rule(threshold)
    if never_empty is not None and not check_flag("never_empty", never_empty):
        return rule.rule if isinstance(rule, NeverEmpty) else rule
    if isinstance(rule, NeverEmpty):
        return rule
    if isinstance(own, NeverEmpty):
        return replace(own, rule=rule)
    return rule if never_empty is None else NeverEmpty(rule)


def check_decides(decision: FittedDecision, scoring: Scoring, X: Features, metric: str) -> None:
    """Raise if a fitted rule cannot decide on the method's scores; tried on a block of no rows."""
    width = min(scoring.k, X.shape[0])
    ids = np.empty((0, width), dtype=np.int32)
    no_queries = NeighborGraph(ids, np.empty((0, width)), metric, X.shape[0])
    decision.decide(scoring.scores(no_queries, X[:0]))


def _rule(threshold: object) -> Decision:
    """Return the rule for a threshold other than None."""
    if isinstance(threshold, str):
        named = {"cardinality": "exact", "two-pass": "two-pass"}
        if threshold in named:
            return CardinalityThreshold(named[threshold])
    elif isinstance(threshold, Decision) and not isinstance(threshold, type):
        return threshold
    elif isinstance(threshold, int | float | np.integer | np.floating):
        return Threshold(check_real("threshold", threshold))
    raise InvalidArgumentError(
        "threshold", "None, 'cardinality', 'two-pass', a number or a decision rule", repr(threshold)
    )
