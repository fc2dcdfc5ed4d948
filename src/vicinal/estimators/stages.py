"""The stages of an estimator, for callers that bring graphs of their own and share them."""

from vicinal._base.arrays import Float
from vicinal._base.threads import using_threads
from vicinal.decision import Decision, FittedDecision, NeverEmpty, folds_wanted
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.calibration import fold_scores
from vicinal.estimators.lamlknn import LAMLkNN
from vicinal.estimators.rules import resolve_decision
from vicinal.estimators.search import Search
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores
from vicinal.scoring import Scoring, Training
from vicinal.scoring.training import leave_one_out


def neighbors_of(model: NeighborEstimator) -> int:
    """Return the number of neighbours a method looks at, checked; 0 if it looks at none."""
    return model._neighbors()


def learn(model: NeighborEstimator, training: Training) -> Scoring:
    """Return what the method learns from training rows, its parameters checked."""
    return model._fit_scoring(training)


def cluster_centers(model: LAMLkNN, training: Training) -> Float:
    """Return the centres that LAML-kNN uses for training rows, given or found."""
    return model._centers(training)


def decision_of(model: NeighborEstimator) -> Decision:
    """Return the rule that the parameters of an estimator ask for, not fitted."""
    return resolve_decision(model.threshold, model.never_empty, model._own_decision())


def needs_scores(decision: Decision) -> bool:
    """Tell whether a rule looks at training scores when it is fitted.

    Examples
    --------
    >>> from vicinal.decision import CardinalityThreshold, Threshold
    >>> needs_scores(NeverEmpty(Threshold(0.5))), needs_scores(NeverEmpty(CardinalityThreshold()))
    (False, True)
    """
    if isinstance(decision, NeverEmpty):
        return needs_scores(decision.rule)
    return not isinstance(decision, FittedDecision)


def k_fold_scores(model: NeighborEstimator, training: Training, k: int) -> Scores | None:
    """Return the K-fold scores of training rows, where a rule is to be fitted on those."""
    n_folds = folds_wanted(decision_of(model))
    if n_folds is None or training.X is None:
        return None
    search = Search(training.X, training.graph.metric, model.n_jobs)
    return fold_scores(model._fit_scoring, search, training.graph, training.Y, k, n_folds)


def training_scores(model: NeighborEstimator) -> Scores:
    """Return the leave-one-out scores of the rows a fitted model was trained on."""
    k = model.scoring_.k
    graph: NeighborGraph | None = getattr(model, "graph_", None)
    if graph is None:
        graph = model.search_.query_self(k)
    with using_threads(model.search_.n_jobs):
        return leave_one_out(model.scoring_, Training(graph, model.scoring_.Y, model.search_.X))
