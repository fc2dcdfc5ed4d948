"""Fitting any estimator on a fold and asking it for label sets and scores: the one way to do it."""

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
    """An estimator that separates scoring from deciding, and takes sparse labels: ours do."""

    def scores(self, X: object) -> Scores:
        """Return the scores of every row and label."""

    def decide(self, scores: Scores) -> Csr:
        """Return the label sets that follow from scores."""


def fit_on(model: Any, fold: Fold) -> Any:
    """Fit an estimator on the training rows of a fold, from their graph if it uses neighbours."""
    X, Y = fold.training.X, fold.training.Y
    if isinstance(model, NeighborEstimator):
        return model.fit(X, Y, graph=fold.training.graph if model.needed_neighbors() else None)
    return model.fit(X, Y if isinstance(model, Decider) else dense_labels(Y))


def answers_on(model: Any, fold: Fold) -> tuple[object, object]:
    """Return the label sets and scores of a fold's held-out rows, as :func:`answers` does."""
    return answers(model, fold.X, graph_for(model, fold))


def graph_for(model: Any, fold: Fold) -> NeighborGraph | None:
    """Return the graph of a fold's held-out rows for an estimator that uses neighbours."""
    uses = isinstance(model, NeighborEstimator) and model.needed_neighbors() > 0
    return fold.graph if uses else None


def answers(model: Any, X: object, graph: NeighborGraph | None = None) -> tuple[object, object]:
    """Return the label sets and scores of rows; None for the scores of an estimator without.

    Parameters
    ----------
    model : fitted estimator
    X : rows
    graph : NeighborGraph or None
        Neighbours of the rows, for an estimator of ours.
    """
    if isinstance(model, NeighborEstimator):
        scores = model.scores(X, graph=graph)
        return model.decide(scores), scores
    if isinstance(model, Decider):
        scores = model.scores(X)
        return model.decide(scores), scores
    return model.predict(X), outside_scores(model, X)


def outside_scores(model: Any, X: object) -> object:
    """Return the scores of an estimator that is not ours, rows × labels, or None.

    scikit-learn's give probabilities in one array, or in a list with one array per label, or else
    decision values.
    """
    if hasattr(model, "predict_proba"):
        given = model.predict_proba(X)
        if isinstance(given, list):
            return np.column_stack(
                [_of_positive(*each) for each in zip(given, model.classes_, strict=True)]
            )
    elif hasattr(model, "decision_function"):
        given = model.decision_function(X)
    else:
        return None
    scores: Float = np.asarray(given.toarray() if hasattr(given, "toarray") else given, np.float64)
    return scores if scores.ndim == 2 else scores[:, None]


def dense_labels(Y: Csr) -> Any:
    """Return labels as estimators that are not ours take them: rows × labels of int64."""
    if Y.shape[0] * Y.shape[1] > DENSE_LIMIT:
        expected = "rows × labels that fit into memory, for methods that want them all"
        raise InvalidArgumentError("datasets", expected, f"{Y.shape[0]:,} × {Y.shape[1]:,}")
    return Y.toarray().astype(np.int64)


def _of_positive(probabilities: Any, classes: Any) -> Float:
    """Return the probability of having the label; a label may have had one class in training."""
    for column, known in enumerate(classes):
        if known == 1:
            return np.asarray(probabilities)[:, column].astype(np.float64)
    return np.zeros(len(probabilities))
