"""What a decision rule is."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol, runtime_checkable

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
    """A rule as a user writes it down: fitted on training scores before it decides.

    A rule may state what it needs as attributes, see :class:`Needs`.
    """

    def fit(self, scores: Scores, Y: Csr) -> FittedDecision:
        """Return the rule fitted on the training rows' leave-one-out scores and labels."""


class Needs(NamedTuple):
    """What a rule needs to be fitted; read from its attributes of these names, where it has them.

    Parameters
    ----------
    needs_scores : bool
        Whether it looks at scores of the training rows, and not at their labels alone. By default a
        rule that can decide as it is does not.
    n_folds : int or None
        By how many folds these scores are to be made; None for leave-one-out scores.
    by_blocks : bool
        Whether it takes the scores some rows at a time (``fit_blocks``), so that not all are held.

    Examples
    --------
    >>> from vicinal.decision import CardinalityThreshold, CrossValidated, NeverEmpty, Threshold
    >>> needs_of(NeverEmpty(Threshold(0.5))).needs_scores
    False
    >>> needs_of(NeverEmpty(CrossValidated(CardinalityThreshold(), n_folds=5))).n_folds
    5
    """

    needs_scores: bool
    n_folds: int | None
    by_blocks: bool


def needs_of(rule: Decision) -> Needs:
    """Return what a rule says it needs, or what its interface shows."""
    is_fitted = isinstance(rule, FittedDecision)
    return Needs(
        getattr(rule, "needs_scores", not is_fitted),
        getattr(rule, "n_folds", None),
        getattr(rule, "by_blocks", is_fitted or isinstance(rule, BlockwiseDecision)),
    )


@runtime_checkable
class BlockwiseDecision(Decision, Protocol):
    """A rule that can be fitted on training scores of which some rows are there at a time."""

    def fit_blocks(self, blocks: Iterable[Scores], Y: Csr) -> FittedDecision:
        """Return what ``fit`` returns for the blocks one below the other."""


def fit_blocks(rule: Decision, blocks: Iterable[Scores], Y: Csr) -> FittedDecision:
    """Fit a rule on scores that come some rows at a time; all are held only if it wants them all.

    Blocks are not asked for where the rule needs no scores.
    """
    if isinstance(rule, BlockwiseDecision):
        return rule.fit_blocks(blocks, Y)
    if not needs_of(rule).needs_scores:
        return rule.fit(Scores.sparse(sparse.csr_array((0, Y.shape[1]))), Y)
    return rule.fit(Scores.stack(list(blocks)), Y)
