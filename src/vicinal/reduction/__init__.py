"""Dimensionality reduction: linear projections learned from features and labels.

Input: features, dense or sparse, and labels as every estimator takes them. Output: a scikit-learn
transformer whose ``transform`` returns the projected rows as a dense array, for any method that
follows in a ``Pipeline``. ``MDDM``, ``OPLS`` and ``LabelCCA`` solve an eigenproblem; ``MLARP``
searches for the projection that minimises the error of ML-kNN.

No features × features matrix is built if there are many features. Names are imported on first
access. May be imported by the command line only.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vicinal.reduction.cca_opls import OPLS, LabelCCA
    from vicinal.reduction.mddm import MDDM
    from vicinal.reduction.mlarp import MLARP


__all__ = ["MDDM", "MLARP", "OPLS", "LabelCCA"]

_HOMES = {"LabelCCA": "cca_opls", "MDDM": "mddm", "MLARP": "mlarp", "OPLS": "cca_opls"}


def __getattr__(name: str) -> object:
    """Import a projection on first access."""
    if name not in _HOMES:
        raise AttributeError(f"module 'vicinal.reduction' has no attribute {name!r}")
    value: object = getattr(import_module(f"vicinal.reduction.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
