"""Which method is better, and can we know: tests over paired results, and the diagram of ranks.

Comes in: scores of methods on the same folds or data sets. Goes out: frozen records of the tests,
and figures. Imports only ``metrics`` and ``_base``; the command line may import it.

::

    table ─▶ ranks ─▶ friedman ─▶ groups ─▶ diagram
          ├▶ differences ─▶ paired_order (t-test, summed over metrics)
          │              ├▶ wilcoxon (Holm)
          └──────────────┴▶ bootstrap
"""

from vicinal.comparison.bootstrap import MeanDifference, mean_differences
from vicinal.comparison.diagram import critical_difference_diagram
from vicinal.comparison.friedman import FriedmanNemenyi, critical_difference, friedman_nemenyi
from vicinal.comparison.paired_order import PairedOrder, Win, paired_order
from vicinal.comparison.ranks import rank_table
from vicinal.comparison.table import Table, read_table
from vicinal.comparison.wilcoxon import SignedRank, holm, wilcoxon_holm

__all__ = [
    "FriedmanNemenyi",
    "MeanDifference",
    "PairedOrder",
    "SignedRank",
    "Table",
    "Win",
    "critical_difference",
    "critical_difference_diagram",
    "friedman_nemenyi",
    "holm",
    "mean_differences",
    "paired_order",
    "rank_table",
    "read_table",
    "wilcoxon_holm",
]
