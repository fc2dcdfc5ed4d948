"""The interface of decision rules, and the rules that wrap others or a method's own choice.

With leave-one-out scores a row is not its own neighbour, but its labels are still part of the
method's statistics (counts, column similarities, regressions). With K-fold scores they are not.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, Self, TypeGuard, runtime_checkable

from vicinal._core.arrays import Csr, Float
from vicinal._core.checks import check_integer
from vicinal._core.csr import no_rows
from vicinal._core.state import Saveable, SaveableRecord
from vicinal.errors import InvalidArgumentError
from vicinal.scores import Scores


@runtime_checkable
class FittedDecision(Saveable, Protocol):
    """A rule that is ready to predict labels."""

    def decide(self, scores: Scores) -> Csr:
        """Return the indicator (int32) of the labels predicted for each row."""


def is_fitted(rule: object) -> TypeGuard[FittedDecision]:
    """Tell whether a rule is ready; ``isinstance`` looks at a protocol anew each time."""
    return all(hasattr(rule, name) for name in ("decide", "get_state", "from_state"))


@runtime_checkable
class Decision(Protocol):
    """A rule as the user specifies it; it is fitted on training scores before it is applied.

    A rule may state its requirements as attributes; see :class:`Needs`.
    """

    def fit(self, scores: Scores, Y: Csr) -> FittedDecision:
        """Return the rule fitted on the training rows' leave-one-out scores and labels."""


class Needs(NamedTuple):
    """What a rule needs for fitting, read from attributes of these names if the rule has them.

    `needs_scores`: whether the rule uses scores of the training rows, and not only their labels. By
    default this is False for a rule that can decide without being fitted.
    `n_folds`: the number of cross-validation folds for these scores; None for leave-one-out scores.
    `by_blocks`: whether the rule accepts the scores in blocks of rows (``fit_blocks``), so that
    they are never all in memory.
    """

    needs_scores: bool
    n_folds: int | None
    by_blocks: bool


def needs_of(rule: Decision) -> Needs:
    """Return what a rule declares that it needs, or what its interface implies."""
    is_ready = is_fitted(rule)
    return Needs(
        getattr(rule, "needs_scores", not is_ready),
        getattr(rule, "n_folds", None),
        getattr(rule, "by_blocks", is_ready or _takes_blocks(rule)),
    )


@runtime_checkable
class BlockwiseDecision(Decision, Protocol):
    """A rule fitted on scores in blocks of rows, with their weights if it has `weighs_rows`."""

    def fit_blocks(self, blocks: Iterable[Scores], Y: Csr, *weights: Float) -> FittedDecision:
        """Return what ``fit`` returns for the blocks together, each row as often as it weighs."""


def _takes_blocks(rule: Decision) -> TypeGuard[BlockwiseDecision]:
    return hasattr(rule, "fit_blocks")


def fit_blocks(
    rule: Decision, blocks: Iterable[Scores], Y: Csr, weights: Float | None = None
) -> FittedDecision:
    """Fit a rule on scores in blocks of rows, concatenated only if it requires that."""
    if weights is not None and not is_fitted(rule):
        if _takes_blocks(rule) and getattr(rule, "weighs_rows", False):
            return rule.fit_blocks(blocks, Y, weights)
        expected = "None, a number or 'cardinality' where sample_weight is given"
        raise InvalidArgumentError("threshold", expected, repr(rule))
    if _takes_blocks(rule):
        return rule.fit_blocks(blocks, Y)
    if not needs_of(rule).needs_scores:
        return rule.fit(Scores.sparse(no_rows(int(Y.shape[1]))), Y)
    return rule.fit(Scores.stack(list(blocks)), Y)


class FixedRule(SaveableRecord):
    """A rule with nothing to fit."""

    def fit(self, scores: Scores, Y: Csr) -> Self:
        """Return the rule itself: there is nothing to fit."""
        return self


@dataclass(frozen=True)
class CrossValidated(SaveableRecord):
    """Fit a rule on K-fold cross-validated scores.

    Parameters
    ----------
    rule : Decision
        The rule to fit on cross-validated scores.
    n_folds : int
        Row i belongs to fold i mod `n_folds`; each fold is scored by the method fitted on the other
        folds. At most the number of rows.

    Notes
    -----
    The rule uses the scores it is given; the estimator computes them, which takes one fit per fold.

    Examples
    --------
    >>> from vicinal.decision.cardinality import CardinalityThreshold
    >>> CrossValidated(CardinalityThreshold(), n_folds=5).n_folds
    5
    """

    rule: Decision
    n_folds: int = 10

    def __post_init__(self) -> None:
        """Check the fields."""
        check_integer("n_folds", self.n_folds, low=2)
        if not isinstance(self.rule, Decision):
            raise InvalidArgumentError("rule", "a decision rule", repr(self.rule))

    def fit(self, scores: Scores, Y: Csr) -> FittedDecision:
        """Fit the rule on these scores, which must be K-fold scores."""
        return self.rule.fit(scores, Y)


@dataclass(frozen=True)
class LabelSets(FixedRule):
    """Predict the label set that the method chose for each row (LPkNN).

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> chosen = sparse.csr_array(np.array([[0, 1, 1]], dtype=np.int32))
    >>> stored = sparse.csr_array(np.array([[0.6, 0.4, 0.4]]))
    >>> LabelSets().decide(Scores.sparse(stored, label_sets=chosen)).toarray()
    array([[0, 1, 1]], dtype=int32)
    """

    def decide(self, scores: Scores) -> Csr:
        """Return the sets."""
        if scores.label_sets is None:
            raise InvalidArgumentError(
                "threshold", "a rule on scores, since this method chooses no label sets", repr(self)
            )
        return scores.label_sets
