"""Explanations of predictions: each score as an exact sum of parts, shown in several formats.

Input: the breakdown of a score by its scoring method (:class:`Breakdown`), and names from the
estimator. Output: one :class:`Explanation` per row, as tables in the terminal, JSON or a web page.

``estimator.explain(X)`` returns explanations. This package imports only ``_core``; ``scoring``,
whose methods compute the breakdowns, and all packages above it may import it.
"""

from vicinal.explain.breakdown import (
    Breakdown,
    Terms,
    exact_shapley,
    linear_breakdown,
    mixture_breakdown,
    shapley_of_maximum,
    vote_breakdowns,
    weighted_breakdowns,
)
from vicinal.explain.values import (
    Explanation,
    Explanations,
    LabelExplanation,
    Neighbor,
    Part,
    Removal,
    Word,
)

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
