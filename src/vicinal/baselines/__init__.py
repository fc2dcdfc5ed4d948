"""Baselines from the papers: boosting, support vector machines, label frequency.

Input: features, dense or sparse, and labels as every estimator takes them. Output: a scikit-learn
classifier whose ``scores`` rank the labels and whose ``predict`` returns label sets. None of them
uses neighbours or a graph, and all keep one number per row and label in memory.

``BoosTexter`` and ``ADTBoostMH`` share one search for the best split; ``RankSVM`` keeps an n × n
kernel matrix; ``BinaryRelevanceSVM`` trains one scikit-learn SVM per label; ``LabelFrequency`` uses
no features. May be imported by selection, comparison and the command line.
"""

from vicinal.baselines.adtboost import ADTBoostMH
from vicinal.baselines.binary_relevance import BinaryRelevanceSVM
from vicinal.baselines.boostexter import BoosTexter
from vicinal.baselines.label_frequency import LabelFrequency
from vicinal.baselines.rank_svm import RankSVM

__all__ = ["ADTBoostMH", "BinaryRelevanceSVM", "BoosTexter", "LabelFrequency", "RankSVM"]
