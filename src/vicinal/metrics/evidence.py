"""One prediction to evaluate, and the counts that metrics share, computed when first needed."""

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

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
        name, rules = info.name, self.rules
        if info.k is not None:
            return self._at_k(name.partition("@")[0], info.k)
        if name in EXAMPLE_BASED:
            return EXAMPLE_BASED[name](self._row_counts, rules)
        if name in LABEL_BASED:
            return LABEL_BASED[name](self._label_counts, rules)
        if name in RANKING:
            return RANKING[name](self._ranks, rules)
        return AREAS[name](self.truth, _given(self.scores, "scores"), rules, self.n_jobs)

    def _at_k(self, family: str, k: int) -> float:
        """Compute a metric of the first k labels."""
        if family in AT_K:
            return AT_K[family](self._ranks, self.rules, k)
        weights = _given(self.inverse_propensity, "train_label_counts")
        return PROPENSITY_AT_K[family](self._ranks, self.rules, k, weights)

    @cached_property
    def _row_counts(self) -> RowCounts:
        return count_rows(self.truth, _given(self.labels, "labels"))

    @cached_property
    def _label_counts(self) -> LabelCounts:
        return count_labels(self.truth, _given(self.labels, "labels"))

    @cached_property
    def _ranks(self) -> TrueRanks:
        scores = _given(self.scores, "scores")
        return rank_truth(self.truth, scores, self.rules.tie_tolerance, self.n_jobs)


def _given(value: Given | None, name: str) -> Given:
    """Return a value, or raise if it is missing."""
    if value is None:
        raise InvalidArgumentError(name, "a value, which the metric needs", None)
    return value
