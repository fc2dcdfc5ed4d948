"""A baseline without features: the frequency of each label."""

import numpy as np

from vicinal._base.arrays import Csr, Features, Float, row_ids
from vicinal.baselines._classifier import WeightedClassifier
from vicinal.decision import Threshold
from vicinal.estimators.method import Method
from vicinal.scores import Scores


class LabelFrequency(WeightedClassifier):
    """Score each label by its frequency in the training rows; predict those of at least 0.5.

    Attributes
    ----------
    frequencies_ : ndarray of float64, shape (L,)

    Examples
    --------
    >>> model = LabelFrequency().fit([[0.0], [1.0], [2.0], [3.0]], [[1, 0], [1, 0], [0, 0], [0, 1]])
    >>> model.predict_proba([[7.0]])
    array([[0.5 , 0.25]])
    >>> model.predict([[7.0]])
    array([[1, 0]])
    """

    method = Method("frequency", neighbors=None, is_baseline=True)

    frequencies_: Float

    def _learn_weighted(self, X: Features, Y: Csr, weights: Float) -> None:
        """Count."""
        counts = np.bincount(Y.indices, weights[row_ids(Y)], minlength=int(Y.shape[1]))
        self.frequencies_ = counts / float(weights.sum())

    def _score(self, X: Features) -> Float:
        """Return the frequencies for every row."""
        return np.tile(self.frequencies_, (int(X.shape[0]), 1))

    def predict_proba(self, X: object) -> Float:
        """Return the frequencies for every row."""
        return self.decision_function(X)

    def decide(self, scores: Scores) -> Csr:
        """Return the labels with a frequency of at least 0.5."""
        return Threshold(0.5, inclusive=True).decide(scores)
