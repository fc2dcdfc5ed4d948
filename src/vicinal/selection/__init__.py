"""Model selection: stratified multi-label folds and tuning by cross-validation.

Input: rows and labels. Output: training and test rows; the best setting of each method for every
metric, the full table of results, and an estimator fitted with the best setting. Imports
``estimators`` and earlier layers; may be imported by ``comparison`` and the command line.

::

    tuning ─▶ explore ─▶ runner ─▶ measure ─▶ sweeps, lcif_sweep     settings × folds × metrics
       │         └ strategy, grid     └ fold_source ─▶ shared_search   one search, every fold
       └ problem                      └ kept_values                    interrupted runs resume
"""

from vicinal.selection.stratification import IterativeStratification
from vicinal.selection.table import Best, TuningTable
from vicinal.selection.tuning import NestedResult, TuningResult, nested, tune

__all__ = [
    "Best",
    "IterativeStratification",
    "NestedResult",
    "TuningResult",
    "TuningTable",
    "nested",
    "tune",
]
