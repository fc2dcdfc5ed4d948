"""Fit any estimator on a fold and predict label sets and scores; all tools share this code."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from vicinal._base.arrays import Csr, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.fold import Fold
from vicinal.graph import NeighborGraph
from vicinal.scores import DENSE_LIMIT, Scores


@runtime_checkable
class Decider(Protocol):
    """An estimator, such as vicinal's own, that separates scoring from deciding.

    It also accepts sparse labels.
    """

    def scores(self, X: object) -> Scores:
        """Return the scores of every row and label."""

    def decide(self, scores: Scores) -> Csr:
        """Return the label sets predicted from scores."""


def fit_on(model: Any, fold: Fold) -> Any:
    """Fit an estimator on a fold's training rows, with their graph if it uses neighbours."""
    X, Y = fold.training.X, fold.training.Y
    if isinstance(model, NeighborEstimator):
        return model.fit(X, Y, graph=fold.training.graph if model.needed_neighbors() else None)
    return model.fit(X, Y if isinstance(model, Decider) else dense_labels(Y))


def answers_on(model: Any, fold: Fold) -> tuple[object, object]:
    """Return the label sets and scores of a fold's held-out rows, as :func:`answers` does."""
    return answers(model, fold.X, graph_for(model, fold))


def graph_for(model: Any, fold: Fold) -> NeighborGraph | None:
    """Return the graph of a fold's held-out rows, or None if the estimator uses no neighbours."""
    uses = isinstance(model, NeighborEstimator) and model.needed_neighbors() > 0
    return fold.graph if uses else None


def answers(model: Any, X: object, graph: NeighborGraph | None = None) -> tuple[object, object]:
    """Return label sets and scores of rows; the scores are None if the estimator has none.

    Parameters
    ----------
    model : fitted estimator
    X : rows
    graph : NeighborGraph or None
        Neighbours of the rows, for an estimator of vicinal.
    """
    if isinstance(model, NeighborEstimator):
        scores = model.scores(X, graph=graph)
        return model.decide(scores), scores
    if isinstance(model, Decider):
        scores = model.scores(X)
        return model.decide(scores), scores
    return model.predict(X), outside_scores(model, X)


def outside_scores(model: Any, X: object) -> object:
    """Return the scores (rows × labels) of an estimator from another library, or None.

    scikit-learn's estimators return probabilities, as one array or as a list of one array per
    label, or decision values.
    """
    if hasattr(model, "predict_proba"):
        given = model.predict_proba(X)
        if isinstance(given, list):
            return np.column_stack(
                [_positive_class(*each) for each in zip(given, model.classes_, strict=True)]
            )
    elif hasattr(model, "decision_function"):
        given = model.decision_function(X)
    else:
        return None
    scores: Float = np.asarray(given.toarray() if hasattr(given, "toarray") else given, np.float64)
    return scores if scores.ndim == 2 else scores[:, None]


def dense_labels(Y: Csr) -> Any:
    """Return labels as estimators of other libraries accept them: a dense array of int64."""
    if Y.shape[0] * Y.shape[1] > DENSE_LIMIT:
        expected = (
            f"rows × labels of at most {DENSE_LIMIT:,}, because the method needs dense labels"
        )
        raise InvalidArgumentError("datasets", expected, f"{Y.shape[0]:,} × {Y.shape[1]:,}")
    return Y.toarray().astype(np.int64)


def _positive_class(probabilities: Any, classes: Any) -> Float:
    """Return the probability of having the label; 0 if no training row had it."""
    for column, known in enumerate(classes):
        if known == 1:
            return np.asarray(probabilities)[:, column].astype(np.float64)
    return np.zeros(len(probabilities))
