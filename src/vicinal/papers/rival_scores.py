"""What any scikit-learn multi-label estimator answers, in the library's own terms."""

from typing import Any

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.indicator import check_indicator
from vicinal.datasets import Dataset
from vicinal.scores import Scores


def rival_answers(estimator: Any, train: Dataset, test: Dataset) -> tuple[Csr, Scores]:
    """Fit an estimator and return its label sets and scores of the test rows."""
    estimator.fit(train.X, train.Y.toarray())
    predicted = check_indicator(sparse.csr_array(estimator.predict(test.X)))
    if hasattr(estimator, "decision_function"):
        scores = estimator.decision_function(test.X)
    else:
        scores = estimator.predict_proba(test.X)
    return predicted, Scores.dense(np.asarray(scores, dtype=np.float64))
