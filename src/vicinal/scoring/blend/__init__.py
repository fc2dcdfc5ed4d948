"""The blend: neighbours, linear models and label statistics, mixed by what leave-one-out says.

Comes in: the training rows, their graph and labels. Goes out: a :class:`BlendScoring`, which turns
rows into calibrated probabilities of their most likely labels. The way of the data::

    rows ─▶ views (as given, weighted by labels, scaled) ─▶ parts (votes, ridge, …) ─▶ scores
         ─▶ cells (a row's candidate labels, with what each part says) ─▶ mixture ─▶ probabilities

``plan`` decides which parts a data set can afford; everything is learned on leave-one-out scores.
"""

from vicinal.scoring.blend.scoring import BlendScoring
from vicinal.scoring.blend.settings import BlendSettings

__all__ = ["BlendScoring", "BlendSettings"]
