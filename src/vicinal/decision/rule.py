"""What a decision rule is."""

from typing import Protocol, runtime_checkable

from vicinal._base.arrays import Csr
from vicinal._base.state import Saveable
from vicinal.scores import Scores


@runtime_checkable
class FittedDecision(Saveable, Protocol):
    """A rule that can decide."""

    def decide(self, scores: Scores) -> Csr:
        """Return the indicator (int32) of the labels predicted for each row."""


@runtime_checkable
class Decision(Protocol):
    """A rule as a user writes it down: fitted on training scores before it decides."""

    def fit(self, scores: Scores, Y: Csr) -> FittedDecision:
        """Return the rule fitted on the training rows' leave-one-out scores and labels."""
