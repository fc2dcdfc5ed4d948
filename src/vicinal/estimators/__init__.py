"""The scikit-learn face: thin classes that compose index → graph → scoring → decision.

Comes in: features and labels as users have them. Goes out: predicted labels, scores, ranks. An
estimator holds parameters, validates, and calls the stages; whatever a method *is* stands in
``scoring`` and ``decision``.
"""

from vicinal.estimators.brknn import BRkNN
from vicinal.estimators.mlknn import MLkNN
from vicinal.estimators.model import load, save

__all__ = ["BRkNN", "MLkNN", "load", "save"]
