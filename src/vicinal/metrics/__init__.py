"""Metrics of multi-label learning, with explicit conventions for edge cases.

Input: true labels (0/1), and predicted labels (0/1) or scores, dense or sparse; sparse input is
never made dense. Output: floats by name. Imports only ``scores`` and ``_core``; may be imported by
all later layers.

::

    catalogue    names, which side is better, what each system does in edge cases
    families     example_based, label_based, ranking, at_k, auc, probability
    evaluate     all metrics of one prediction ─▶ value_table, per_label
    accumulator  the same for rows in blocks, because metrics are sums over rows (_sums)
"""

from vicinal.metrics.accumulator import MetricAccumulator
from vicinal.metrics.at_k import (
    f1_at_k,
    ndcg_at_k,
    precision_at_k,
    propensities,
    psndcg_at_k,
    psp_at_k,
    recall_at_k,
)
from vicinal.metrics.auc import macro_auc, macro_auc_pr, micro_auc, micro_auc_pr
from vicinal.metrics.catalogue import (
    CONVENTIONS,
    METRICS,
    Conventions,
    Metric,
    MetricInfo,
    metric_info,
)
from vicinal.metrics.evaluate import align_labels, evaluate
from vicinal.metrics.example_based import (
    cardinality,
    empty_share,
    example_accuracy,
    example_f1,
    example_f1_of_means,
    example_precision,
    example_recall,
    hamming_loss,
    jaccard_loss,
    subset_accuracy,
)
from vicinal.metrics.label_based import (
    macro_f1,
    macro_precision,
    macro_recall,
    micro_f1,
    micro_precision,
    micro_recall,
)
from vicinal.metrics.per_label import LabelTable, label_table
from vicinal.metrics.probability import brier_score, calibration_error, log_loss, reliability
from vicinal.metrics.ranking import (
    average_precision,
    coverage,
    coverage_normalised,
    one_error,
    r_precision,
    ranking_loss,
)
from vicinal.metrics.value_table import MetricScorer, MetricsTable, metrics_table, scorer

__all__ = [
    "CONVENTIONS",
    "METRICS",
    "Conventions",
    "LabelTable",
    "Metric",
    "MetricAccumulator",
    "MetricInfo",
    "MetricScorer",
    "MetricsTable",
    "align_labels",
    "average_precision",
    "brier_score",
    "calibration_error",
    "cardinality",
    "coverage",
    "coverage_normalised",
    "empty_share",
    "evaluate",
    "example_accuracy",
    "example_f1",
    "example_f1_of_means",
    "example_precision",
    "example_recall",
    "f1_at_k",
    "hamming_loss",
    "jaccard_loss",
    "label_table",
    "log_loss",
    "macro_auc",
    "macro_auc_pr",
    "macro_f1",
    "macro_precision",
    "macro_recall",
    "metric_info",
    "metrics_table",
    "micro_auc",
    "micro_auc_pr",
    "micro_f1",
    "micro_precision",
    "micro_recall",
    "ndcg_at_k",
    "one_error",
    "precision_at_k",
    "propensities",
    "psndcg_at_k",
    "psp_at_k",
    "r_precision",
    "ranking_loss",
    "recall_at_k",
    "reliability",
    "scorer",
    "subset_accuracy",
]
