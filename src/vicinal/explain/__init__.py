"""Explanations of predictions: each score as an exact sum of parts, shown in several formats.

Input: the breakdown of a score by its scoring method (:class:`Breakdown`), and names from the
estimator. Output: one :class:`Explanation` per row, as tables in the terminal, JSON or a web page.

``estimator.explain(X)`` returns explanations. This package imports only ``_base``; ``scoring``,
whose methods compute the breakdowns, and all packages above it may import it.
"""

from vicinal.explain.breakdown import (
    Breakdown,
    Terms,
    linear_breakdown,
    vote_breakdowns,
    weighted_breakdowns,
)
from vicinal.explain.mixture import mixture_breakdown
from vicinal.explain.parts import Neighbor, Part, Removal, Word
from vicinal.explain.shapley import exact_shapley, shapley_of_maximum
from vicinal.explain.values import Explanation, Explanations, LabelExplanation

__all__ = [
    "Breakdown",
    "Explanation",
    "Explanations",
    "LabelExplanation",
    "Neighbor",
    "Part",
    "Removal",
    "Terms",
    "Word",
    "exact_shapley",
    "linear_breakdown",
    "mixture_breakdown",
    "shapley_of_maximum",
    "vote_breakdowns",
    "weighted_breakdowns",
]
