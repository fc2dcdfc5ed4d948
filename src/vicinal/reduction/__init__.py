"""Dimensionality reduction: linear projections learned from features and labels.

Input: features, dense or sparse, and labels as every estimator takes them. Output: a scikit-learn
transformer whose ``transform`` returns the projected rows as a dense array, for any method that
follows in a ``Pipeline``. ``MDDM``, ``OPLS`` and ``LabelCCA`` solve an eigenproblem; ``MLARP``
searches for the projection that minimises the error of ML-kNN.

No features × features matrix is built if there are many features. May be imported by the command
line only.
"""

from vicinal.reduction.cca_opls import OPLS, LabelCCA
from vicinal.reduction.mddm import MDDM
from vicinal.reduction.mlarp import MLARP

__all__ = ["MDDM", "MLARP", "OPLS", "LabelCCA"]
