"""Decision: from scores to label sets.

Input: :class:`~vicinal.scores.Scores`, and for rules that are fitted the training rows' scores and
labels. Output: a label indicator. A rule is immutable; ``fit`` returns the fitted rule. Sparse
scores are never made dense. May be imported by ``persistence`` and what follows.

::

    one threshold   Threshold, CardinalityThreshold, MetricThreshold  ─▶ Threshold
    one per label   PerLabelThreshold (SCut), PCut                    ─▶ LabelThresholds
    one per row     MCut
    best labels     TopS, RCut                                        ─▶ TopS
    wrappers        NeverEmpty, CrossValidated (fitted on K-fold scores)
"""

from vicinal.decision.cardinality import CardinalityThreshold
from vicinal.decision.label_thresholds import PCut, PerLabelThreshold
from vicinal.decision.metric import MetricThreshold
from vicinal.decision.never_empty import FittedNeverEmpty, NeverEmpty
from vicinal.decision.rule import CrossValidated, Decision, FittedDecision, LabelSets
from vicinal.decision.threshold import LabelThresholds, MCut, RCut, Threshold, TopS

__all__ = [
    "CardinalityThreshold",
    "CrossValidated",
    "Decision",
    "FittedDecision",
    "FittedNeverEmpty",
    "LabelSets",
    "LabelThresholds",
    "MCut",
    "MetricThreshold",
    "NeverEmpty",
    "PCut",
    "PerLabelThreshold",
    "RCut",
    "Threshold",
    "TopS",
]
