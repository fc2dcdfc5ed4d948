"""Small changes of a model, with work proportional to the change and no copies of the rest.

For methods that define how a change revises what they learned (``_revise``). All other methods,
small models and large changes are fitted again on the updated graph (``incremental.py``).
"""

from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from vicinal._base.arrays import Csr, Features, Int
from vicinal._base.checked_csr import widened, with_rows
from vicinal._base.errors import InvalidArgumentError
from vicinal.decision import Decision, FittedDecision
from vicinal.decision.never_empty import FittedNeverEmpty, NeverEmpty
from vicinal.decision.rule import fit_blocks, needs_of
from vicinal.estimators.live_graph import LiveGraph, can_follow
from vicinal.estimators.row_names import extended_row_names
from vicinal.estimators.rules import check_decides
from vicinal.estimators.version import Version
from vicinal.estimators.writer import Writer
from vicinal.graph.neighbor_graph import narrowed
from vicinal.index import TrainingRows
from vicinal.scoring import Scoring

if TYPE_CHECKING:
    from vicinal.estimators.incremental import IncrementalEstimator

FEWEST_ROWS = 256
"""Models of fewer rows are fitted again, which takes no longer."""
LARGEST_SHARE = 0.02
"""Changes of a larger share of the rows update the whole graph, on all cores."""
EMPTY_SHARE = 0.05
"""Share of empty places above which the model is compacted."""
FEWEST_EMPTY = 64
"""Number of empty places below which the model is never compacted."""


@dataclass(frozen=True, eq=False)
class Revision:
    """A change of the training rows, from which a method revises what it learned.

    Parameters
    ----------
    rows : TrainingRows
        The rows after the change; some places may be empty.
    Y : csr_array of int32
        Labels by place.
    graph : LiveGraph or None
        The leave-one-out graph after the change, for methods that need one.
    writer : Writer
    """

    rows: TrainingRows
    Y: Csr
    graph: LiveGraph | None
    writer: Writer

    def label_counts(self) -> Int:
        """Return how many rows have each label; later changes update this array in place."""
        counts = self.writer.known_counts()
        if counts is None:
            Y = self.Y
            if self.rows.n_empty:
                Y = Y[np.flatnonzero(~self.rows.gone)]
            counts = self.writer.keep_counts(np.bincount(Y.indices, minlength=Y.shape[1]))
        return counts


@dataclass(frozen=True, eq=False)
class Reviser:
    """Makes the next version of a model after a small change.

    Parameters
    ----------
    model : IncrementalEstimator
    writer : Writer
        The caller holds its lock.
    version : Version
        The current version of the model.
    """

    model: "IncrementalEstimator"
    writer: Writer
    version: Version

    @cached_property
    def has_same_parameters(self) -> bool:
        """Whether the parameters have not changed since the version was made."""
        return _same(self.version.params, self.model._params())

    @cached_property
    def rule(self) -> Decision:
        """The decision rule for the parameters, cached by the writer."""
        writer = self.writer
        if writer.rule is None or not self.has_same_parameters:
            writer.rule = self.model.decision_rule()
            writer.fits_threshold = needs_of(writer.rule).needs_scores
        return writer.rule

    @property
    def fits_threshold(self) -> bool:
        """Whether the rule is fitted on leave-one-out scores."""
        _ = self.rule
        return self.writer.fits_threshold

    def can_revise(self, n_changed: int, n_left: int, X: Features | None = None) -> bool:
        """Tell whether a change of `n_changed` rows that leaves `n_left` can be revised."""
        model, version = self.model, self.version
        if not revises_itself(type(model)) or not model._can_revise():
            return False
        if not hasattr(version.scoring, "settled"):
            return False
        if min(n_left, version.rows.n_rows) < max(FEWEST_ROWS, version.scoring.k + 2):
            return False
        if not self.has_same_parameters or not version.rows.is_mutable:
            return False
        if not self._needs_graph():
            return True
        dtype = version.rows.X.dtype if X is None else X.dtype
        is_small = n_changed <= max(1, LARGEST_SHARE * version.rows.n_rows)
        return is_small and version.rows.algorithm in EXACT and can_follow(version.rows, dtype)

    def learned(
        self, X: Features, Y: Csr, names: tuple[str, ...], row_names: tuple[str, ...] | None
    ) -> Version:
        """Return the version with further rows."""
        version, graph = self._with_graph()
        if graph is not None:
            graph.learn(X, Y, self.model._vote_groups(version.scoring, X))
        self.writer.count(Y, 1)
        labels = with_rows(widened(version.scoring.Y, len(names)), Y)
        revision = Revision(version.rows.grown(X), labels, graph, self.writer)
        more = self._revised(version, revision, names, learned=int(X.shape[0]))
        known = extended_row_names(version.row_names, row_names, more.rows.place_ids)
        return replace(more, row_names=known)

    def forgotten(self, places: Int) -> Version:
        """Return the version without the rows at these places."""
        ids = self.version.rows.place_ids[places]
        version, graph = self._with_graph()
        places = version.rows.places_of(ids)
        Y = version.scoring.Y
        self.writer.count(Y[places], -1)
        rows = self._rows_without(version.rows, places, graph)
        revision = Revision(rows, Y, graph, self.writer)
        fewer = self._revised(version, revision, version.label_names, forgotten=len(places))
        most = max(FEWEST_EMPTY, EMPTY_SHARE * fewer.rows.n_rows)
        return self.compacted(fewer) if fewer.rows.n_empty > most else fewer

    def _rows_without(
        self, rows: TrainingRows, places: Int, graph: LiveGraph | None
    ) -> TrainingRows:
        """Return the remaining rows; the graph forgets the others one at a time."""
        if graph is None:
            return rows.without(places)
        for place in places.tolist():
            rows = rows.without(np.array([place]))
            graph.forget(place, rows)
        return rows

    def compacted(self, version: Version) -> Version:
        """Return the version without empty places, after compacting the graph as well."""
        if version.rows.n_empty and self.writer.graph is not None:
            self.writer.graph.compact()
        return version.whole

    def _needs_graph(self) -> bool:
        """Tell whether the method, or the fit of its rule, uses the leave-one-out graph."""
        return self.version.scoring.k > 0 and (self.model._learns_from_graph or self.fits_threshold)

    def _with_graph(self) -> tuple[Version, LiveGraph | None]:
        """Return the version and its live graph, which is built if it does not exist yet."""
        if not self._needs_graph():
            return self.version, None
        if self.writer.graph is None:
            whole = self.version.whole
            k = whole.scoring.k
            known = whole.graph
            graph = whole.rows.query_self(k) if known is None else narrowed(known, k)
            groups = self.model._vote_groups(whole.scoring, whole.rows.X)
            self.writer.graph = LiveGraph(whole.rows, graph, whole.scoring.Y, k, groups)
            return whole, self.writer.graph
        return self.version, self.writer.graph

    def _revised(
        self, version: Version, revision: Revision, names: tuple[str, ...], **changed: int
    ) -> Version:
        """Return the version after a change; a threshold fitted on scores stays unchanged."""
        scoring = self.model._revise(version.scoring, revision)
        decision, calibration = version.decision, version.calibration
        if self.fits_threshold:
            calibration = calibration.after(**changed)
        else:
            decision = self._fixed(self.rule, decision, scoring, revision)
            calibration = replace(calibration, n_rows=revision.rows.n_rows)
        return replace(
            version,
            rows=revision.rows,
            scoring=scoring,
            decision=decision,
            label_names=names,
            calibration=calibration,
            graph=None,
        )

    def _fixed(
        self, rule: Decision, decision: FittedDecision, scoring: Scoring, revision: Revision
    ) -> FittedDecision:
        """Return a rule that needs no scores, fitted on the current labels."""
        same: object = decision
        if rule is same or rule == same:
            if scoring.Y.shape[1] != self.version.scoring.Y.shape[1]:
                check_decides(decision, scoring, revision.rows.X, revision.rows.metric)
            return decision
        if isinstance(rule, NeverEmpty) and isinstance(decision, FittedNeverEmpty):
            inner = self._fixed(rule.rule, decision.rule, scoring, revision)
            return FittedNeverEmpty(inner, rule.label_by_counts(revision.label_counts()))
        kept = np.flatnonzero(~revision.rows.gone) if revision.rows.n_empty else slice(None)
        return fit_blocks(rule, (), revision.Y[kept])


EXACT = ("auto", "inverted", "dense")
"""Names of the exact indexes."""


@cache
def revises_itself(kind: type[Any]) -> bool:
    """Tell whether a class has a ``_revise`` that matches its ``_fit_scoring``.

    An inherited ``_revise`` is used only if the class inherits ``_fit_scoring`` as well.
    """
    for each in kind.__mro__:
        if "_revise" in vars(each):
            return True
        if "_fit_scoring" in vars(each):
            return False
    return False


def decides(decision: FittedDecision, scoring: Scoring, rows: TrainingRows) -> bool:
    """Tell whether a fitted rule can decide on the current labels."""
    try:
        check_decides(decision, scoring, rows.X, rows.metric)
    except InvalidArgumentError:
        return False
    return True


def _same(before: Any, now: Any) -> bool:
    """Tell whether parameters are unchanged; arrays only if they are the same objects."""
    return before.keys() == now.keys() and all(
        now[name] is value or (_is_plain(value) and _is_plain(now[name]) and now[name] == value)
        for name, value in before.items()
    )


def _is_plain(value: object) -> bool:
    return isinstance(value, str | int | float | bool | type(None))
