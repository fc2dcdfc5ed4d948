"""The methods that the papers compare neighbours with: boosting, support vectors, label frequency.

Comes in: features, dense or sparse, and labels as every estimator takes them. Goes out: a
scikit-learn classifier whose ``scores`` rank the labels and whose ``predict`` picks a set. None
looks at neighbours, so none takes a graph, and all hold a number per row and label.

``BoosTexter`` and ``ADTBoostMH`` share one search for the best split; ``RankSVM`` holds an n × n
kernel; ``BinaryRelevanceSVM`` is scikit-learn's own, label by label; ``LabelFrequency`` looks at no
feature. May be imported by selection, comparison and the command line.
"""

from vicinal.baselines.adtboost import ADTBoostMH
from vicinal.baselines.binary_relevance import BinaryRelevanceSVM
from vicinal.baselines.boostexter import BoosTexter
from vicinal.baselines.label_frequency import LabelFrequency
from vicinal.baselines.rank_svm import RankSVM

__all__ = ["ADTBoostMH", "BinaryRelevanceSVM", "BoosTexter", "LabelFrequency", "RankSVM"]
