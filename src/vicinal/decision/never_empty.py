"""Predict at least one label per row."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from vicinal._core.arrays import Csr, Float, Int, row_ids
from vicinal._core.checks import check_integer, check_option
from vicinal._core.state import SaveableRecord
from vicinal.decision._cells import from_entries
from vicinal.decision.rule import (
    Decision,
    FittedDecision,
    fit_blocks,
    is_fitted,
    needs_of,
)
from vicinal.errors import InvalidArgumentError
from vicinal.scores import Scores


@dataclass(frozen=True)
class NeverEmpty(SaveableRecord):
    """Predict the highest-scoring label if another rule predicts none.

    Parameters
    ----------
    rule : Decision
        The rule that is applied first.
    when_all_zero : {"most-frequent", "first"}
        The label of a row whose highest score is 0 (scores are not negative, so all are 0): the
        most frequent label of the training rows (methods of the LCIF paper), or the first label,
        which wins all ties (BRkNN-a).

    Examples
    --------
    >>> from scipy import sparse
    >>> from vicinal.decision.threshold import Threshold
    >>> Y = sparse.csr_array(np.array([[0, 1], [1, 1]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.3, 0.1], [0.0, 0.0]]))
    >>> NeverEmpty(Threshold(0.5)).fit(scores, Y).decide(scores).toarray()
    array([[1, 0],
           [0, 1]], dtype=int32)
    """

    rule: Decision
    when_all_zero: str = "most-frequent"
    weighs_rows: ClassVar = True

    def __post_init__(self) -> None:
        """Check the fields."""
        check_option("when_all_zero", self.when_all_zero, ("most-frequent", "first"))
        if not isinstance(self.rule, Decision):
            raise InvalidArgumentError("rule", "a decision rule", repr(self.rule))

    @property
    def needs_scores(self) -> bool:
        """Whether the rule needs scores of the training rows."""
        return needs_of(self.rule).needs_scores

    @property
    def n_folds(self) -> int | None:
        """The number of folds for the scores that the rule is fitted on; None for leave-one-out."""
        return needs_of(self.rule).n_folds

    @property
    def by_blocks(self) -> bool:
        """Whether the rule accepts scores in blocks of rows."""
        return needs_of(self.rule).by_blocks

    def fit(self, scores: Scores, Y: Csr) -> "FittedNeverEmpty":
        """Fit the rule, and find the most frequent label."""
        return FittedNeverEmpty(self.rule.fit(scores, Y), self._label(Y))

    def fit_blocks(
        self, blocks: Iterable[Scores], Y: Csr, weights: Float | None = None
    ) -> "FittedNeverEmpty":
        """Fit the rule on scores in blocks of rows, which may have weights."""
        rule = fit_blocks(self.rule, blocks, Y, weights)
        return FittedNeverEmpty(rule, self._label(Y, weights))

    def _label(self, Y: Csr, weights: Float | None = None) -> int:
        """Return the label of rows whose scores are all 0."""
        of_entry = None if weights is None else weights[row_ids(Y)]
        return self.label_by_counts(np.bincount(Y.indices, of_entry, minlength=Y.shape[1]))

    def label_by_counts(self, counts: Int | Float) -> int:
        """Return the label of rows whose scores are all 0, given the number of rows per label."""
        return int(np.argmax(counts)) if self.when_all_zero == "most-frequent" else 0


@dataclass(frozen=True)
class FittedNeverEmpty(SaveableRecord):
    """The fitted rule and the label of rows whose scores are all 0."""

    rule: FittedDecision
    label_when_all_zero: int

    def __post_init__(self) -> None:
        """Check the fields."""
        check_integer("label_when_all_zero", self.label_when_all_zero, low=0)
        if not is_fitted(self.rule):
            raise InvalidArgumentError("rule", "a fitted decision rule", repr(self.rule))

    @property
    def cut(self) -> object:
        """The fixed threshold of the rule; None if it has none."""
        return getattr(self.rule, "cut", None)

    def decide(self, scores: Scores) -> Csr:
        """Return the labels that the rule predicts, or the best label if there are none."""
        n_labels = scores.shape[1]
        if self.label_when_all_zero >= n_labels:
            raise InvalidArgumentError(
                "label_when_all_zero", f"a label id below {n_labels}", self.label_when_all_zero
            )
        decided = self.rule.decide(scores)
        empty = np.flatnonzero(np.diff(decided.indptr) == 0)
        if len(empty) == 0:
            return decided
        best, value = scores.take(empty).top(1)
        labels = np.where(value[:, 0] == 0, self.label_when_all_zero, best[:, 0])
        return from_entries(
            np.concatenate([row_ids(decided), empty]),
            np.concatenate([decided.indices.astype(np.int64), labels.astype(np.int64)]),
            (int(decided.shape[0]), int(decided.shape[1])),
        )
