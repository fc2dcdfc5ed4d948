"""Fit any estimator on a fold and predict label sets and scores; all tools share this code."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from vicinal._base.arrays import Csr
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.outside_scores import outside_scores
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


def dense_labels(Y: Csr) -> Any:
    """Return labels as estimators of other libraries accept them: a dense array of int64."""
    if Y.shape[0] * Y.shape[1] > DENSE_LIMIT:
        expected = (
            f"rows × labels of at most {DENSE_LIMIT:,}, because the method needs dense labels"
        )
        raise InvalidArgumentError("datasets", expected, f"{Y.shape[0]:,} × {Y.shape[1]:,}")
    return Y.toarray().astype(np.int64)
