"""Predict at least one label per row."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from vicinal._core.arrays import Csr, Float, Int, row_ids
from vicinal._core.checks import check_flag, check_integer, check_option
from vicinal._core.state import SaveableRecord
from vicinal.decision._cells import from_entries
from vicinal.decision.rule import Decision, FittedDecision, fit_blocks, is_fitted, needs_of
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
    always : bool
        If False, rows are left without a label where that is right more often: if, of the training
        rows for which the rule predicts no label, more have none than have their highest-scoring
        one.

    Examples
    --------
    >>> from scipy import sparse
    >>> from vicinal.decision.threshold import Threshold
    >>> Y = sparse.csr_array(np.array([[0, 1], [1, 1]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.3, 0.1], [0.0, 0.0]]))
    >>> NeverEmpty(Threshold(0.5)).fit(scores, Y).decide(scores).toarray()
    array([[1, 0],
           [0, 1]], dtype=int32)

    Two of three training rows with low scores have no label:

    >>> Y = sparse.csr_array(np.array([[1, 0], [0, 1], [0, 0], [0, 0]], dtype=np.int32))
    >>> scores = Scores.dense(np.array([[0.7, 0.1], [0.3, 0.4], [0.2, 0.1], [0.3, 0.1]]))
    >>> NeverEmpty(Threshold(0.5), always=False).fit(scores, Y).decide(scores).toarray()
    array([[1, 0],
           [0, 0],
           [0, 0],
           [0, 0]], dtype=int32)
    """

    rule: Decision
    when_all_zero: str = "most-frequent"
    always: bool = True
    weighs_rows: ClassVar = True

    def __post_init__(self) -> None:
        """Check the fields."""
        check_option("when_all_zero", self.when_all_zero, ("most-frequent", "first"))
        check_flag("always", self.always)
        if not isinstance(self.rule, Decision):
            raise InvalidArgumentError("rule", "a decision rule", repr(self.rule))

    @property
    def needs_scores(self) -> bool:
        """Whether the rule needs scores of the training rows."""
        return not self.always or needs_of(self.rule).needs_scores

    @property
    def n_folds(self) -> int | None:
        """The number of folds for the scores that the rule is fitted on; None for leave-one-out."""
        return needs_of(self.rule).n_folds

    @property
    def by_blocks(self) -> bool:
        """Whether the rule needs scores only a block of rows at a time."""
        return self.always and needs_of(self.rule).by_blocks

    def fit(self, scores: Scores, Y: Csr) -> "FittedNeverEmpty":
        """Fit the rule, find the most frequent label, and whether rows without one get one."""
        return self._filling(self.rule.fit(scores, Y), [scores], Y, None)

    def fit_blocks(
        self, blocks: Iterable[Scores], Y: Csr, weights: Float | None = None
    ) -> "FittedNeverEmpty":
        """Fit the rule on scores in blocks of rows, which may have weights."""
        kept = blocks if self.always else list(blocks)
        rule = fit_blocks(self.rule, kept, Y, weights)
        return self._filling(rule, kept, Y, weights)

    def _filling(
        self, rule: FittedDecision, blocks: Iterable[Scores], Y: Csr, weights: Float | None
    ) -> "FittedNeverEmpty":
        """Return the rule that fills rows if the best label is right at least as often as none."""
        of_entry = None if weights is None else weights[row_ids(Y)]
        counts = np.bincount(Y.indices, of_entry, minlength=Y.shape[1])
        filling = FittedNeverEmpty(rule, self.label_by_counts(counts))
        if self.always:
            return filling
        gained, start = 0.0, 0
        for scores in blocks:
            empty = np.flatnonzero(np.diff(rule.decide(scores).indptr) == 0)
            known = Y[start + empty]
            is_right = known[np.arange(len(empty)), filling.best(scores.take(empty))] > 0
            gains = np.asarray(is_right).ravel() - 1.0 * (np.diff(known.indptr) == 0)
            gained += float(gains.sum() if weights is None else gains @ weights[start + empty])
            start += scores.shape[0]
        return replace(filling, fills=gained >= 0)

    def label_by_counts(self, counts: Int | Float) -> int:
        """Return the label of rows whose scores are all 0, given the number of rows per label."""
        return int(np.argmax(counts)) if self.when_all_zero == "most-frequent" else 0


@dataclass(frozen=True)
class FittedNeverEmpty(SaveableRecord):
    """The fitted rule, the label of rows whose scores are all 0, and whether empty rows get one."""

    rule: FittedDecision
    label_when_all_zero: int
    fills: bool = True

    def __post_init__(self) -> None:
        """Check the fields."""
        check_integer("label_when_all_zero", self.label_when_all_zero, low=0)
        check_flag("fills", self.fills)
        if not is_fitted(self.rule):
            raise InvalidArgumentError("rule", "a fitted decision rule", repr(self.rule))

    @property
    def cut(self) -> object:
        """The fixed threshold of the rule; None if it has none."""
        return getattr(self.rule, "cut", None)

    def best(self, scores: Scores) -> Int:
        """Return the label that each row gets if the rule predicts none."""
        best, value = scores.top(1)
        return np.where(value[:, 0] == 0, self.label_when_all_zero, best[:, 0]).astype(np.int64)

    def decide(self, scores: Scores) -> Csr:
        """Return the labels that the rule predicts, or the best label if there are none."""
        n_labels = scores.shape[1]
        if self.label_when_all_zero >= n_labels:
            raise InvalidArgumentError(
                "label_when_all_zero", f"a label id below {n_labels}", self.label_when_all_zero
            )
        decided = self.rule.decide(scores)
        empty = np.flatnonzero(np.diff(decided.indptr) == 0)
        if len(empty) == 0 or not self.fills:
            return decided
        labels = self.best(scores.take(empty))
        return from_entries(
            np.concatenate([row_ids(decided), empty]),
            np.concatenate([decided.indices.astype(np.int64), labels]),
            (int(decided.shape[0]), int(decided.shape[1])),
        )
