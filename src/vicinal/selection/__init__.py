"""Choosing settings honestly: folds that keep the labels in proportion, and tuning on them.

Comes in: rows and labels. Goes out: which rows are trained on and tested on; the best setting of
each method, for every metric, with the whole table behind it, and an estimator fitted with it.
Imports ``estimators`` and what they stand on; ``comparison`` and the command line may import it.

::

    tuning ─▶ explore ─▶ runner ─▶ measure ─▶ sweeps, lcif_sweep     settings × folds × metrics
       │         └ strategy, grid     └ fold_source ─▶ shared_search   one search, every fold
       └ problem                      └ kept_values                    interrupted runs resume
"""

from vicinal.selection.folds import IterativeStratification
from vicinal.selection.nested import NestedResult, nested
from vicinal.selection.table import Best, TuningTable
from vicinal.selection.tuning import TuningResult, tune

__all__ = [
    "Best",
    "IterativeStratification",
    "NestedResult",
    "TuningResult",
    "TuningTable",
    "nested",
    "tune",
]
