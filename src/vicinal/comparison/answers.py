"""What a fitted estimator says of new rows: label sets and, where it has them, scores."""

from typing import Any

import numpy as np

from vicinal._base.arrays import Csr, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal.comparison.tuned import Tuned
from vicinal.estimators import NeighborEstimator
from vicinal.graph import NeighborGraph
from vicinal.scores import DENSE_LIMIT


def answers(model: Any, X: object, graph: NeighborGraph | None) -> tuple[object, object]:
    """Return the label sets and scores of rows; None for the scores of a model without.

    Parameters
    ----------
    model : fitted estimator
    X : rows
    graph : NeighborGraph or None
        Neighbours of the rows, for a model of ours.
    """
    if isinstance(model, Tuned):
        model = model.model_
    if isinstance(model, NeighborEstimator):
        scores = model.scores(X, graph=graph)
        return model.decision_.decide(scores), scores
    return model.predict(X), outside_scores(model, X)


def outside_scores(model: Any, X: object) -> object:
    """Return the scores of an estimator that takes no graph, rows × labels, or None.

    Ours have ``scores``. scikit-learn's give probabilities in one array or in a list with one array
    a label, or else decision values.
    """
    if hasattr(model, "scores") and type(model).__module__.startswith("vicinal."):
        return model.scores(X)
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
