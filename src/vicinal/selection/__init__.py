"""Choosing settings honestly: folds that keep the labels in proportion.

Comes in: labels. Goes out: which rows are trained on and tested on. Imports only ``_base``;
``comparison`` and the command line may import it.
"""

from vicinal.selection.folds import IterativeStratification

__all__ = ["IterativeStratification"]
