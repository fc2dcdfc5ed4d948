"""Decision: from scores to label sets.

Comes in: :class:`~vicinal.scores.Scores`, and for rules that are fitted the training rows' scores
and labels. Goes out: a label indicator. A rule is a frozen value; ``fit`` returns the fitted rule
and changes nothing. May be imported by ``persistence`` and what follows.
"""

from vicinal.decision.cardinality import CardinalityThreshold
from vicinal.decision.label_sets import LabelSets
from vicinal.decision.never_empty import NeverEmpty
from vicinal.decision.rule import Decision, FittedDecision
from vicinal.decision.threshold import Threshold
from vicinal.decision.top_s import TopS

__all__ = [
    "CardinalityThreshold",
    "Decision",
    "FittedDecision",
    "LabelSets",
    "NeverEmpty",
    "Threshold",
    "TopS",
]
