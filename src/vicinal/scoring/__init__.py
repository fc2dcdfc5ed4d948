"""Scoring: one small file per method of a paper.

Input: the leave-one-out graph of the training rows and their labels (a :class:`Training`). Output:
a state of plain arrays, which turns the graph of new rows into :class:`vicinal.scores.Scores`.
Independent of indexes, files and scikit-learn's estimators. May be imported by ``decision`` and
later layers.
"""

from vicinal.scoring.brknn import BRkNNScoring
from vicinal.scoring.dmlknn import DMLkNNScoring
from vicinal.scoring.feature_knn import FeatureKNNScoring
from vicinal.scoring.iblr import IBLRScoring
from vicinal.scoring.instance_knn import InstanceKNNScoring
from vicinal.scoring.lamlknn import LAMLkNNScoring
from vicinal.scoring.lcif import LCIFScoring
from vicinal.scoring.lpknn import LPkNNScoring
from vicinal.scoring.mlknn import MLkNNScoring
from vicinal.scoring.ridge import RidgeScoring
from vicinal.scoring.second_order import SecondOrderScoring
from vicinal.scoring.training import Scoring, Training

__all__ = [
    "BRkNNScoring",
    "DMLkNNScoring",
    "FeatureKNNScoring",
    "IBLRScoring",
    "InstanceKNNScoring",
    "LAMLkNNScoring",
    "LCIFScoring",
    "LPkNNScoring",
    "MLkNNScoring",
    "RidgeScoring",
    "Scoring",
    "SecondOrderScoring",
    "Training",
]
