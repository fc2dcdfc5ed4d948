"""Ridge regression of every label on the features, with closed-form leave-one-out scores.

Comes in: rows and labels. Goes out: a :class:`RidgeScoring`, which scores rows by one product.
``system`` decides what is solved (primal, dual, Gaussian kernel, iterative), ``solve`` solves it.
"""

from vicinal.scoring.ridge.scoring import RidgeScoring
from vicinal.scoring.ridge.settings import RidgeSettings

__all__ = ["RidgeScoring", "RidgeSettings"]
