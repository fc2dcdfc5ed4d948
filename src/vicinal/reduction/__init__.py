"""Fewer, better columns: linear projections learned from features and labels together.

Input: features, dense or sparse, and labels as every estimator takes them. Output: a
scikit-learn transformer whose ``transform`` gives the projected rows, dense, for any method behind
it in a ``Pipeline``. ``MDDM``, ``OPLS`` and ``LabelCCA`` solve an eigenproblem; ``MLARP`` searches
for the projection under which ML-kNN itself errs least.

No matrix here has the square of the features for its size where features are many. A name is loaded
when it is first asked for, so that the search itself (``_descent``, NumPy alone) can be used beside
:mod:`vicinal.gpu`. May be imported by the command line only.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vicinal.reduction.label_cca import LabelCCA
    from vicinal.reduction.mddm import MDDM
    from vicinal.reduction.mlarp import MLARP
    from vicinal.reduction.opls import OPLS

__all__ = ["MDDM", "MLARP", "OPLS", "LabelCCA"]

_HOMES = {"LabelCCA": "label_cca", "MDDM": "mddm", "MLARP": "mlarp", "OPLS": "opls"}


def __getattr__(name: str) -> object:
    """Load a projection."""
    if name not in _HOMES:
        raise AttributeError(f"module 'vicinal.reduction' has no attribute {name!r}")
    value: object = getattr(import_module(f"vicinal.reduction.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
