"""A rule fitted on K-fold cross-validated scores instead of leave-one-out scores.

With leave-one-out scores a row is not its own neighbour, but its labels are still part of the
method's statistics (counts, column similarities, regressions). With K-fold scores they are not.
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
    """Fit a rule on K-fold cross-validated scores.

    Parameters
    ----------
    rule : Decision
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
