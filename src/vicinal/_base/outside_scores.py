"""The scores of estimators from other libraries."""

from typing import Any

import numpy as np

from vicinal._base.arrays import Float


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


def _positive_class(probabilities: Any, classes: Any) -> Float:
    """Return the probability of having the label; 0 if no training row had it."""
    for column, known in enumerate(classes):
        if known == 1:
            return np.asarray(probabilities)[:, column].astype(np.float64)
    return np.zeros(len(probabilities))
