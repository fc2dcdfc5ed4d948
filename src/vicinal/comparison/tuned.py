"""A method whose settings are tuned on the training rows of each fold (nested cross-validation)."""

from collections.abc import Mapping
from typing import Any, Self

from sklearn.base import BaseEstimator

from vicinal._base.arrays import Csr
from vicinal.estimators.model import estimator_of
from vicinal.scores import Scores
from vicinal.selection import tune


class Tuned(BaseEstimator):
    """Tune a method's settings by cross-validation on the rows it is fitted on.

    Parameters
    ----------
    method : str
        A name of ``METHODS``, or ``module:Class``.
    metric : str
        The metric to optimise.
    cv : int
        Number of inner folds.
    params : mapping of parameter to value, or None
        Parameters that are the same in every setting.
    fast : bool
        Try every third value first, then those around the best.
    random_state : int or None
        Random seed for the inner folds and for stochastic methods.
    n_jobs : int or None

    Attributes
    ----------
    chosen_ : dict of parameter to value
    model_ : estimator
        Fitted on all rows with the chosen setting.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2], [2.0], [2.1]]
    >>> Y = [[1, 0]] * 3 + [[0, 1]] * 3 + [[1, 0]] * 2
    >>> Tuned("brknn", "hamming-loss", cv=2).fit(X, Y).chosen_
    {'variant': 'base', 'n_neighbors': 1}
    """

    def __init__(
        self,
        method: str,
        metric: str,
        cv: int = 5,
        params: Mapping[str, object] | None = None,
        fast: bool = True,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.method = method
        self.metric = metric
        self.cv = cv
        self.params = params
        self.fast = fast
        self.random_state = random_state
        self.n_jobs = n_jobs

    def fit(self, X: object, Y: object) -> Self:
        """Choose the settings by cross-validation, then fit on all rows."""
        result = tune(
            self.method,
            X,
            Y,
            metric=self.metric,
            cv=self.cv,
            params=self.params,
            metrics=[self.metric],
            fast=self.fast,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            progress=False,
        )
        if not result.complete or result.estimator is None:
            raise KeyboardInterrupt  # tuning would return the best setting so far
        self.model_: Any = estimator_of(result.estimator)
        self.chosen_ = dict(result.best[self.metric].params)
        return self

    def predict(self, X: object) -> Any:
        """Return the label indicator of each row."""
        return self.model_.predict(X)

    def scores(self, X: object) -> Scores:
        """Return the scores of every row and label."""
        found: Scores = self.model_.scores(X)
        return found

    def decide(self, scores: Scores) -> Csr:
        """Return the label indicator that follows from scores."""
        decided: Csr = self.model_.decide(scores)
        return decided
