"""What a decision rule is."""

from collections.abc import Iterable
from typing import Protocol, runtime_checkable

from scipy import sparse

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


@runtime_checkable
class BlockwiseDecision(Decision, Protocol):
    """A rule that can be fitted on training scores of which some rows are there at a time."""

    def fit_blocks(self, blocks: Iterable[Scores], Y: Csr) -> FittedDecision:
        """Return what ``fit`` returns for the blocks one below the other."""


def fit_blocks(rule: Decision, blocks: Iterable[Scores], Y: Csr) -> FittedDecision:
    """Fit a rule on scores that come some rows at a time; all are held only if it wants them all.

    Blocks are not asked for where the rule looks at none.
    """
    if isinstance(rule, BlockwiseDecision):
        return rule.fit_blocks(blocks, Y)
    if isinstance(rule, FittedDecision):
        return rule.fit(Scores.sparse(sparse.csr_array((0, Y.shape[1]))), Y)
    return rule.fit(Scores.stack(list(blocks)), Y)
