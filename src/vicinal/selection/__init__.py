"""Model selection: stratified multi-label folds and tuning by cross-validation.

Input: rows and labels. Output: training and test rows; the best setting of each method for every
metric, the full table of results, and an estimator fitted with the best setting. Imports
``methods`` and earlier layers; may be imported by ``comparison`` and the command line.

::

    tuning ─▶ runner ─▶ measure, lcif_grid      settings × folds × metrics, stored as computed
       │ └ grid  └ folds                        one search for every fold, or one per fold
       └ tuning_table
"""

from vicinal.selection.stratification import IterativeStratification
from vicinal.selection.tuning import NestedResult, TuningResult, nested, tune
from vicinal.selection.tuning_table import Best, TuningTable

__all__ = [
    "Best",
    "IterativeStratification",
    "NestedResult",
    "TuningResult",
    "TuningTable",
    "nested",
    "tune",
]
