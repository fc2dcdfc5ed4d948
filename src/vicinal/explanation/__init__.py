"""Explanations of predictions: each score as an exact sum of parts, shown in several formats.

Input: the breakdown of a score by its scoring method (:class:`Breakdown`), and names from the
estimator. Output: one :class:`Explanation` per row, as tables in the terminal, JSON or a web page.

``estimator.explain(X)`` and ``vicinal.explain(model, X)`` return explanations. This package imports
only ``_core``. ``methods``, which compute the breakdowns, and all packages above may import it.
"""

from vicinal.explanation.breakdown import (
    Breakdown,
    Terms,
    exact_shapley,
    linear_breakdown,
    mixture_breakdown,
    shapley_of_maximum,
    vote_breakdowns,
    weighted_breakdowns,
)
from vicinal.explanation.values import (
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
