"""Scoring: one small file per method of a paper.

Comes in: the leave-one-out graph of the training rows and their labels (a :class:`Training`). Goes
out: a state of plain arrays, which turns the graph of new rows into :class:`vicinal.scores.Scores`.
Knows nothing of indices, files or scikit-learn. May be imported by ``decision`` and what follows.
"""

from vicinal.scoring.brknn import BRkNNScoring
from vicinal.scoring.mlknn import MLkNNScoring
from vicinal.scoring.training import Scoring, Training

__all__ = ["BRkNNScoring", "MLkNNScoring", "Scoring", "Training"]
