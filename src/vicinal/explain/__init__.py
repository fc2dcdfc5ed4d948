"""Why a row got a label: scores as sums of parts, exactly, and forms to read them in.

Comes in: what a scoring method says of its own sum (:class:`Breakdown`), with names from the
estimator. Goes out: an :class:`Explanation` per row, as a table for the terminal, JSON, or a page.

``estimator.explain(X)`` makes explanations. Imports only ``_base``; may be imported by ``scoring``,
whose methods each say how their score comes about, and by everything after it.
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
