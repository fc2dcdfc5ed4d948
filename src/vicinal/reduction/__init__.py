"""Fewer, better columns: linear projections learned from features and labels together.

Comes in: features, dense or sparse, and labels as every estimator takes them. Goes out: a
scikit-learn transformer whose ``transform`` gives the projected rows, dense, for any method behind
it in a ``Pipeline``. ``MDDM``, ``OPLS`` and ``LabelCCA`` solve an eigenproblem; ``MLARP`` searches
for the projection under which ML-kNN itself errs least.

No matrix here has the square of the features for its size where features are many. May be imported
by the command line only.
"""

from vicinal.reduction.label_cca import LabelCCA
from vicinal.reduction.mddm import MDDM
from vicinal.reduction.mlarp import MLARP
from vicinal.reduction.opls import OPLS

__all__ = ["MDDM", "MLARP", "OPLS", "LabelCCA"]
