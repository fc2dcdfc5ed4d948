"""One prediction to evaluate, and the counts that metrics share, computed when first needed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from vicinal._base.arrays import Csr, Float
from vicinal._base.errors import InvalidArgumentError
from vicinal.metrics.auc import AREAS
from vicinal.metrics.bipartition import EXAMPLE_BASED
from vicinal.metrics.catalogue import MetricInfo
from vicinal.metrics.conventions import Conventions
from vicinal.metrics.extreme import AT_K, PROPENSITY_AT_K
from vicinal.metrics.label_based import LABEL_BASED, LabelCounts, count_labels
from vicinal.metrics.ranking import RANKING
from vicinal.metrics.row_counts import RowCounts, count_rows
from vicinal.metrics.summed import Size, SummedMetric, Sums
from vicinal.metrics.true_ranks import TrueRanks, rank_truth
from vicinal.scores import Scores

Given = TypeVar("Given")


@dataclass(frozen=True, eq=False)
class Evidence:
    """Validated true labels, predictions and conventions; parts that were not given are None."""

    truth: Csr
    labels: Csr | None
    scores: Scores | None
    inverse_propensity: Float | None
    rules: Conventions
    n_jobs: int | None = None

    def lacks(self, info: MetricInfo) -> str | None:
        """Return the name of an argument that the metric needs and that was not given."""
        if info.needs == "labels":
            return "labels" if self.labels is None else None
        if self.scores is None:
            return "scores"
        if info.needs_counts and self.inverse_propensity is None:
            return "train_label_counts"
        return None

    def value(self, info: MetricInfo) -> float:
        """Compute one metric."""
        if info.name in LABEL_BASED:
            return LABEL_BASED[info.name](self.label_counts, self.rules)
        if info.name in AREAS:
            scores = _given(self.scores, "scores")
            return AREAS[info.name](self.truth, scores, self.rules, self.n_jobs)
        return summed_metric(info).value(self.sums(info), Size(*self.truth.shape))

    def sums(self, info: MetricInfo) -> Sums:
        """Return the sums over rows that a metric follows from."""
        metric = summed_metric(info)
        if info.name in EXAMPLE_BASED:
            return metric.sums(self._row_counts, self.rules)
        if info.k is None:
            return metric.sums(self._ranks, self.rules)
        if not info.needs_counts:
            return metric.sums(self._ranks, self.rules, info.k)
        weights = _given(self.inverse_propensity, "train_label_counts")
        return metric.sums(self._ranks, self.rules, info.k, weights)

    @cached_property
    def _row_counts(self) -> RowCounts:
        return count_rows(self.truth, _given(self.labels, "labels"))

    @cached_property
    def label_counts(self) -> LabelCounts:
        """The tp, fp and fn of each label."""
        return count_labels(self.truth, _given(self.labels, "labels"))

    @cached_property
    def _ranks(self) -> TrueRanks:
        scores = _given(self.scores, "scores")
        return rank_truth(self.truth, scores, self.rules.tie_tolerance, self.n_jobs)


def summed_metric(info: MetricInfo) -> SummedMetric[Any]:
    """Return a metric that follows from sums over rows: all but label-based ones and areas."""
    if info.name in EXAMPLE_BASED:
        return EXAMPLE_BASED[info.name]
    if info.k is None:
        return RANKING[info.name]
    family = info.name.partition("@")[0]
    return PROPENSITY_AT_K[family] if info.needs_counts else AT_K[family]


def _given(value: Given | None, name: str) -> Given:
    """Return a value, or raise if it is missing."""
    if value is None:
        raise InvalidArgumentError(name, "a value, which the metric needs", None)
    return value
