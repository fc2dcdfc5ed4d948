"""The methods that the invariants hold for: those of the library, and one defined outside it."""

import inspect
from typing import Any

from weighted_mlknn import WeightedMLkNN

from vicinal.methods import METHODS
from vicinal.methods.incremental import IncrementalEstimator

EVERY_METHOD = {**METHODS, WeightedMLkNN.method.name: WeightedMLkNN}

INCREMENTAL = sorted(
    name
    for name, kind in EVERY_METHOD.items()
    if issubclass(kind, IncrementalEstimator) and kind._searches_rows
)
"""Without the blend, which equals a fresh fit only after ``recalibrate``."""


def repeatable(name: str, **options: Any) -> Any:
    """Return an estimator that learns the same from the same rows each time."""
    kind = EVERY_METHOD[name]
    seed = {"random_state": 0} if "random_state" in inspect.signature(kind).parameters else {}
    return kind(**{**seed, **options})
