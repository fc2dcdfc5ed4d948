"""Compare methods: experiments, statistical tests of paired results, and diagrams.

Input: methods and data sets, or scores of methods on the same folds or data sets. Output: results
with their provenance, records of the tests, and figures. The tests import only ``metrics`` and
``_core``; experiments import earlier layers. May be imported by ``report`` and the command line.

::

    candidates ─▶ experiment (selection.runner, one setting per method) ─▶ results
    results ─▶ score_tables ─▶ method_ranking (by one metric)

    table ─▶ friedman ─▶ diagram
          ├▶ pairwise: signed ranks, bootstrap, paired order
          ├▶ bayesian: folds of one data set; several data sets
          └▶ control: one method against the others; effect sizes
"""

from vicinal.comparison.bayesian import (
    CorrectedTest,
    Probabilities,
    bayesian_signed_rank,
    corrected_t_test,
    correlated_t_test,
)
from vicinal.comparison.candidates import Tuned
from vicinal.comparison.control import ControlTest, EffectSize, control_tests, effect_sizes
from vicinal.comparison.diagram import critical_difference_diagram
from vicinal.comparison.experiment import Results, compare
from vicinal.comparison.friedman import FriedmanNemenyi, critical_difference, friedman_nemenyi
from vicinal.comparison.method_ranking import Ranking, rank_methods
from vicinal.comparison.pairwise import (
    MeanDifference,
    PairedOrder,
    SignedRank,
    Win,
    holm,
    mean_differences,
    paired_order,
    wilcoxon_holm,
)
from vicinal.comparison.score_tables import Table, rank_table, read_table, results_table

__all__ = [
    "ControlTest",
    "CorrectedTest",
    "EffectSize",
    "FriedmanNemenyi",
    "MeanDifference",
    "PairedOrder",
    "Probabilities",
    "Ranking",
    "Results",
    "SignedRank",
    "Table",
    "Tuned",
    "Win",
    "bayesian_signed_rank",
    "compare",
    "control_tests",
    "corrected_t_test",
    "correlated_t_test",
    "critical_difference",
    "critical_difference_diagram",
    "effect_sizes",
    "friedman_nemenyi",
    "holm",
    "mean_differences",
    "paired_order",
    "rank_methods",
    "rank_table",
    "read_table",
    "results_table",
    "wilcoxon_holm",
]
