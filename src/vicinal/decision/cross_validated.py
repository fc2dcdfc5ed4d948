"""A rule fitted on K-fold scores in place of leave-one-out scores.

In leave-one-out scores a row is not its own neighbour, but the method's statistics (counts,
similarities of columns, regressions) have seen its labels. In K-fold scores they have not.
"""

from dataclasses import dataclass

from vicinal._base.arrays import Csr
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.state import SaveableRecord
from vicinal._base.validation import check_integer
from vicinal.decision.rule import Decision, FittedDecision
from vicinal.scores import Scores


@dataclass(frozen=True)
class CrossValidated(SaveableRecord):
    """Ask for K-fold scores to fit a rule on.

    Parameters
    ----------
    rule : Decision
    n_folds : int
        Row i belongs to fold i mod `n_folds`; each fold is scored by the method fitted on the
        others. At most as many as rows.

    Notes
    -----
    The rule itself takes the scores it is given; the estimator makes them, at the price of one fit
    for each fold.

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
        """Fit the rule on these scores, which are to be K-fold ones."""
        return self.rule.fit(scores, Y)
