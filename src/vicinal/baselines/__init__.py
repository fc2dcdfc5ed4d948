"""Baselines from the papers: boosting, support vector machines, label frequency.

Input: features, dense or sparse, and labels as every estimator takes them. Output: a scikit-learn
classifier whose ``scores`` rank the labels and whose ``predict`` returns label sets. None of them
uses neighbours or a graph, and all keep one number per row and label in memory.

``BoosTexter`` and ``ADTBoostMH`` share one search for the best split; ``RankSVM`` keeps an n × n
kernel matrix; ``BinaryRelevanceSVM`` trains one scikit-learn SVM per label; ``LabelFrequency`` uses
no features. May be imported by selection, comparison and the command line.
"""

import numpy as np

from vicinal._core.arrays import Csr, Features, Float, row_ids
from vicinal.baselines._classifier import WeightedClassifier
from vicinal.baselines.boosting import ADTBoostMH, BoosTexter
from vicinal.baselines.svm import BinaryRelevanceSVM, RankSVM
from vicinal.decision import Threshold
from vicinal.methods.registry import Method
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

    method = Method("frequency", neighbors=None)

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


__all__ = ["ADTBoostMH", "BinaryRelevanceSVM", "BoosTexter", "LabelFrequency", "RankSVM"]
