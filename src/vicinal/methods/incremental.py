"""Exact incremental learning: models learn and forget rows, one or many at a time.

After ``partial_fit`` or ``forget`` the scores of a model equal those of one fitted from scratch on
the same rows. A small change revises what the method learned (:class:`SmallChange`):
one search finds the rows whose neighbours change, and nothing else is touched. A large change
updates the leave-one-out graph and fits the method on it again:

- **New rows** are searched among all rows. Every old row is searched among the new rows only, and
  the result is merged into its list of neighbours.
- **Forgotten rows** are removed from all lists. Rows whose full lists lost a neighbour are searched
  again.

A lock serialises changes. Predictions take no lock: each uses the version of the model that was
current when it started (``fitted_state.py``).

Small changes are revised by methods that define how (``_update``). All other methods, small models
and large changes are fitted again on the updated graph.

Threads of one interpreter take turns, and one that learns rows without a pause would take more
turns than each of those that predict: its calls of compiled code are many and short, and after each
of them it is the first to ask for the next turn. So a change that replaces a version which other
threads have read is followed by a pause, in proportion to the time that the change took.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, cached_property
from threading import get_ident
from typing import Any, Self, cast

import numpy as np

from vicinal._core.arrays import Csr, Features, Float, Int
from vicinal._core.checks import check_real
from vicinal._core.csr import widened, with_rows
from vicinal._core.labels import Labels, further_labels
from vicinal._core.threads import ForkLock, using_threads
from vicinal._core.validation import check_rows, owned
from vicinal.decision import Decision, FittedDecision
from vicinal.decision.never_empty import FittedNeverEmpty, NeverEmpty
from vicinal.decision.rule import fit_blocks, needs_of
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph, check_training_graph, narrowed
from vicinal.index import TrainingRows
from vicinal.index.build import EXACT
from vicinal.index.training_rows import LiveGraph, VoteGroups, can_follow, graph_with, graph_without
from vicinal.methods._arguments import check_decides, refuse_classes
from vicinal.methods.base import NeighborEstimator
from vicinal.methods.fitted_state import (
    Calibration,
    FittedState,
    RowNames,
    check_row_names,
    extended_row_names,
)
from vicinal.methods.training import Scoring, Training


class LiveData:
    """Serialises changes of a model, and keeps the data they need up to date with its version.

    This data is changed in place, so it is dropped whenever a change is incomplete: it failed, was
    interrupted, or was under way in another process when this one was forked from it.
    """

    def __init__(self) -> None:
        self.lock = ForkLock()
        self.graph: LiveGraph | None = None
        self.counts: Int | None = None
        """How many rows have each label, if that is known."""
        self._of: FittedState | None = None
        self._is_changing = False
        self.ready: tuple[TrainingRows, Scoring] | None = None
        """Rows that were not changed yet, with what was learned from them, ready to be revised."""
        self.rule: Decision | None = None
        self.fits_threshold = False

    def __reduce__(self) -> tuple[object, ...]:
        """Start without live data in a copy or another process."""
        return LiveData, ()

    @contextmanager
    def changing(self, version: FittedState) -> Iterator[None]:
        """Drop data that does not belong to this version, and all data if the change fails."""
        if self._is_changing or self._of is not version:
            self.drop()
        self._is_changing = True
        try:
            yield
        except BaseException:
            self.drop()
            raise
        finally:
            self._is_changing = False

    def drop(self) -> None:
        """Drop all data."""
        self.graph = self.counts = self._of = self.ready = self.rule = None

    def follows(self, version: FittedState) -> bool:
        """Tell whether the data belongs to a version."""
        return self._of is version and not self._is_changing

    def keep_for(self, version: FittedState) -> None:
        """Record that the data now belongs to this version."""
        self._of = version

    def count(self, Y: Csr, by: int) -> None:
        """Update the label counts for rows that were added (`by` 1) or removed (−1), if known."""
        if self.counts is None:
            return
        more = int(Y.shape[1]) - len(self.counts)
        if more:
            self.counts = np.append(self.counts, np.zeros(more, dtype=np.int64))
        np.add.at(self.counts, Y.indices, by)


FEWEST_ROWS = 256
"""Models of fewer rows are fitted again, which takes no longer."""
LARGEST_SHARE = 0.02
"""Changes of a larger share of the rows update the whole graph, on all cores."""
EMPTY_SHARE = 0.05
"""Share of empty places above which the model is compacted."""
FEWEST_EMPTY = 64
"""Number of empty places below which the model is never compacted."""


@dataclass(frozen=True, eq=False)
class ChangedRows:
    """A change of the training rows, from which a method revises what it learned."""

    rows: TrainingRows
    Y: Csr
    graph: LiveGraph | None
    live: LiveData

    def label_counts(self) -> Int:
        """Return how many rows have each label; later changes update this array in place."""
        if self.live.counts is None:
            Y = self.Y
            if self.rows.n_empty:
                Y = Y[np.flatnonzero(~self.rows.gone)]
            self.live.counts = np.bincount(Y.indices, minlength=Y.shape[1])
        return self.live.counts


@dataclass(frozen=True, eq=False)
class SmallChange:
    """Makes the next version of a model after a small change."""

    model: "IncrementalEstimator"
    live: LiveData
    version: FittedState

    @cached_property
    def has_same_parameters(self) -> bool:
        """Whether the parameters have not changed since the version was made."""
        before, now, plain = (
            self.version.params,
            self.model._params(),
            str | int | float | bool | None,
        )
        return before.keys() == now.keys() and all(
            now[name] is value  # arrays are unchanged only if they are the same objects
            or name == "recalibrate_at"
            or (isinstance(value, plain) and isinstance(now[name], plain) and now[name] == value)
            for name, value in before.items()
        )

    @cached_property
    def rule(self) -> Decision:
        """The decision rule for the parameters, cached by the live data."""
        live = self.live
        if live.rule is None or not self.has_same_parameters:
            live.rule = self.model.decision_rule()
            live.fits_threshold = needs_of(live.rule).needs_scores
        return live.rule

    @property
    def fits_threshold(self) -> bool:
        """Whether the rule is fitted on leave-one-out scores."""
        _ = self.rule
        return self.live.fits_threshold or not self.model._searches_rows

    def can_update(self, n_changed: int, n_left: int, X: Features | None = None) -> bool:
        """Tell whether a change of `n_changed` rows that leaves `n_left` can be revised."""
        model, version = self.model, self.version
        if not updates_itself(type(model)) or not model._can_update():
            return False
        if not hasattr(version.scoring, "as_fitted"):
            return False
        if not model._searches_rows:
            return self.has_same_parameters
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
    ) -> FittedState:
        """Return the version with further rows."""
        version, graph = self.with_graph()
        if graph is not None:
            graph.learn(X, Y, self.model._vote_groups(version.scoring, X))
        self.live.count(Y, 1)
        labels = with_rows(widened(version.scoring.Y, len(names)), Y)
        changed = ChangedRows(version.rows.grown(X), labels, graph, self.live)
        more = self._revised(version, changed, names, learned=int(X.shape[0]))
        known = extended_row_names(version.row_names, row_names, more.rows.place_ids)
        return replace(more, row_names=known)

    def forgotten(self, places: Int) -> FittedState:
        """Return the version without the rows at these places."""
        ids = self.version.rows.place_ids[places]
        version, graph = self.with_graph()
        places = version.rows.places_of(ids)
        Y = version.scoring.Y
        self.live.count(Y[places], -1)
        if graph is None:
            rows = version.rows.without(places)
        else:
            rows = version.rows
            for place in places.tolist():  # the graph forgets them one at a time
                rows = rows.without(np.array([place]))
                graph.forget(place, rows)
        changed = ChangedRows(rows, Y, graph, self.live)
        fewer = self._revised(version, changed, version.label_names, forgotten=len(places))
        most = max(FEWEST_EMPTY, EMPTY_SHARE * fewer.rows.n_rows)
        is_due = fewer.rows.n_empty > most and not self.model._keeps_places()
        return self.compacted(fewer) if is_due else fewer

    def compacted(self, version: FittedState) -> FittedState:
        """Return the version without empty places, after compacting the graph as well."""
        if version.rows.n_empty and self.live.graph is not None:
            self.live.graph.compact()
        return version.as_fitted

    def _needs_graph(self) -> bool:
        """Tell whether the method, or the fit of its rule, uses the leave-one-out graph."""
        return self.version.scoring.k > 0 and (self.model._learns_from_graph or self.fits_threshold)

    def with_graph(self) -> tuple[FittedState, LiveGraph | None]:
        """Return the version and its live graph, which is built if it does not exist yet."""
        if not self._needs_graph():
            return self.version, None
        if self.live.graph is None:
            whole = self.version.as_fitted
            k = whole.scoring.k
            known = whole.graph
            graph = whole.rows.query_self(k) if known is None else narrowed(known, k)
            groups = self.model._vote_groups(whole.scoring, whole.rows.X)
            self.live.graph = LiveGraph(whole.rows, graph, whole.scoring.Y, k, groups)
            return whole, self.live.graph
        return self.version, self.live.graph

    def _revised(
        self, version: FittedState, changed: ChangedRows, names: tuple[str, ...], **counts: int
    ) -> FittedState:
        """Return the version after a change; a threshold fitted on scores stays unchanged."""
        known, self.live.ready = self.live.ready, None
        is_ready = known is not None and known[0] is version.rows
        scoring = self.model._update(known[1] if known and is_ready else version.scoring, changed)
        decision, calibration = version.decision, version.calibration
        if self.fits_threshold:
            calibration = calibration.after(**counts)
        else:
            decision = self._fixed(self.rule, decision, scoring, changed)
            calibration = replace(calibration, n_rows=changed.rows.n_rows)
        return replace(
            version,
            rows=changed.rows,
            scoring=scoring,
            decision=decision,
            label_names=names,
            calibration=calibration,
            graph=None,
        )

    def _fixed(
        self, rule: Decision, decision: FittedDecision, scoring: Scoring, changed: ChangedRows
    ) -> FittedDecision:
        """Return a rule that needs no scores, fitted on the current labels."""
        same: object = decision
        if rule is same or rule == same:
            if scoring.Y.shape[1] != self.version.scoring.Y.shape[1]:
                check_decides(decision, scoring, changed.rows.X, changed.rows.metric)
            return decision
        if isinstance(rule, NeverEmpty) and isinstance(decision, FittedNeverEmpty):
            inner = self._fixed(rule.rule, decision.rule, scoring, changed)
            label = rule.label_by_counts(changed.label_counts())
            return replace(decision, rule=inner, label_when_all_zero=label)
        kept = np.flatnonzero(~changed.rows.gone) if changed.rows.n_empty else slice(None)
        return fit_blocks(rule, (), changed.Y[kept])


@cache
def updates_itself(kind: type[Any]) -> bool:
    """Tell whether a class has a ``_update`` that matches its ``_fit_scoring``."""
    for each in kind.__mro__:
        if "_update" in vars(each):
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


PAUSE = 1.0
"""The pause after a change, as a multiple of the time it took."""
LONGEST_PAUSE = 0.01
"""In seconds; a long change is rare, so that readers get their turns afterwards anyway."""


_pauses: ContextVar[bool] = ContextVar("whether changes pause for readers", default=True)


@contextmanager
def without_pauses() -> Iterator[None]:
    """Let changes inside the block not pause: the caller gives readers their turns."""
    token = _pauses.set(False)
    try:
        yield
    finally:
        _pauses.reset(token)


def _pause_for_readers(replaced: FittedState, took: float) -> None:
    """Pause after a change that took so many seconds if others have read what it replaced."""
    if _pauses.get() and replaced.readers - {get_ident()}:
        time.sleep(min(PAUSE * took, LONGEST_PAUSE))


@dataclass(eq=False, repr=False, kw_only=True)
class IncrementalEstimator(NeighborEstimator):
    """An estimator that learns and forgets rows without a fit from scratch.

    A subclass may define ``_update``; one that does not is fitted again on the updated graph.
    """

    recalibrate_at: float | str = 0.01
    _keeps_graph = True
    _learns_from_graph = False
    _searches_rows = True
    """Whether the rows of the model are searched; a blend searches its own views of them, and is
    outdated after a change even if its threshold is fixed."""

    def _can_update(self) -> bool:
        """Tell whether ``_update`` supports the current parameters."""
        return True

    def _keeps_places(self) -> bool:
        """Tell whether the places of forgotten rows stay empty, however many they are."""
        return False

    def _vote_groups(self, scoring: Scoring, X: Features) -> VoteGroups | None:
        """Return the groups of rows whose votes are counted apart; None for one group."""
        return None

    def _update(self, scoring: Scoring, changed: ChangedRows) -> Scoring:
        """Return what the method learned, revised after a small change of the rows.

        Used only if the class that defines ``_fit_scoring`` defines this method too.
        """
        raise NotImplementedError

    def partial_fit(
        self,
        X: object,
        Y: object,
        classes: object = None,
        *,
        label_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
    ) -> Self:
        """Learn further rows; the model then equals one fitted on all rows together.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_new, m)
            New rows, with the features of the training rows.
        Y : indicator with the columns of ``label_names_``, or list of label-name collections
            The names, or the columns of a data frame, may include new labels, which come last.
        classes : ignored
            For compatibility with scikit-learn; the classes of a label are always 0 and 1.
        label_names : sequence of str, optional
            Names of the columns of `Y`, if they differ from ``label_names_``.
        row_names : sequence of str, optional
            Names of the new rows. If only some rows of a model have names, the others are named by
            their ids.

        Notes
        -----
        The time is proportional to the number of new rows and of the neighbour lists that they
        enter; ``docs/how-to/incremental.md`` lists the cost of each method. A change of more than
        :data:`~vicinal.methods.incremental.LARGEST_SHARE` of the rows costs a search of the new
        rows among all, one of all rows among the new ones, and one pass over the graph.

        Predictions in other threads do not wait; they use the model before or after the change.
        """
        if not self.__sklearn_is_fitted__():
            with self._live.lock:
                if not self.__sklearn_is_fitted__():
                    return self.fit(X, Y, label_names=label_names, row_names=row_names)
        refuse_classes(Y)
        fresh = owned(self._read_X(X, reset=False), X)
        count = int(fresh.shape[0])
        new_names = None if row_names is None else check_row_names(row_names, count)
        with self._changing() as change:
            version = change.version
            labels, names = further_labels(version.label_names, Y, count, label_names)
            if change.can_update(count, version.rows.n_rows + count, fresh):
                self._commit(change, change.learned(fresh, labels, names, new_names))
            else:
                self._learn_by_refit(version.as_fitted, fresh, labels, names, new_names)
        return self

    def forget(self, rows: object) -> Self:
        """Forget training rows by id; the model then equals one fitted without them.

        Parameters
        ----------
        rows : array-like of int
            Ids as in ``row_ids_``, :meth:`kneighbors` and :meth:`neighbor_graph`.

        Notes
        -----
        The time is proportional to the number of rows that had a forgotten row as a neighbour.

        A forgotten row is no longer found, but its features and labels stay in memory until more
        than :data:`~vicinal.methods.incremental.EMPTY_SHARE` of the rows in memory are forgotten
        ones. :meth:`compact` releases that memory immediately, and saved models never contain it.
        """
        with self._changing() as change:
            version = change.version
            ids = np.unique(check_rows("rows", rows, version.rows.n_ids))
            gone = version.rows.places_of(ids)
            n_left = version.rows.n_rows - len(gone)
            if n_left == 0:
                expected = "rows of which at least one is left in the model"
                raise InvalidArgumentError("rows", expected, f"all {len(gone)} rows")
            if change.can_update(len(gone), n_left):
                self._commit(change, change.forgotten(gone))
            else:
                self._forget_by_refit(version.as_fitted, ids)
        return self

    def recalibrate(self) -> Self:
        """Refit the threshold on the current rows; predicted labels then equal those of a refit.

        Does nothing for rules that are not fitted. Costs leave-one-out scores of all rows.
        Predictions in other threads do not wait.
        """
        with self._changing() as change:
            self._commit(change, change.version, recalibrate=True)
        return self

    def take_threshold(self, copy: Self) -> bool:
        """Use the threshold of a copy that was recalibrated while this model changed further.

        Parameters
        ----------
        copy : estimator
            A :meth:`snapshot` of this model after :meth:`recalibrate`.

        Returns
        -------
        bool
            False, without an effect, if the method recalibrates more than its threshold; the copy
            then has to learn what it missed and take the place of this model.
        """
        if type(self)._recalibrated is not IncrementalEstimator._recalibrated:
            return False
        with self._changing() as change:
            version, fitted = change.version, copy._fitted()
            learned = version.rows.n_ids - fitted.rows.n_ids
            forgotten = fitted.rows.n_rows + learned - version.rows.n_rows
            if decides(fitted.decision, version.scoring, version.rows):
                since = fitted.calibration.after(learned, forgotten)
                version = replace(version, decision=fitted.decision, calibration=since)
            change.live.keep_for(version)
            self._publish(version)
        return True

    def compact(self) -> Self:
        """Release the memory that forgotten rows still use."""
        with self._changing() as change:
            version = change.compacted(change.version)
            version.rows.compact()
            self._commit(change, version, recalibrate=False)
        return self

    def training_graph(self) -> NeighborGraph:
        """Return the leave-one-out graph of the training rows: the known one, or a new search."""
        known = self.known_graph()
        if known is not None:
            return known
        version = self._fitted()
        return version.rows.compacted().query_self(version.scoring.k)

    def known_graph(self) -> NeighborGraph | None:
        """Return the leave-one-out graph if the model has it; nothing is searched."""
        with self._live.lock:
            graph, version = self._live.graph, self._fitted()
            if version.graph is not None:
                return version.graph
            if graph is not None and self._live.follows(version):
                return graph.graph(version.rows.gone)
        return None

    def prepare(self) -> Self:
        """Compute now what the first small change would need: the live leave-one-out graph.

        Predictions do not change. For programs that load a model to teach it: their first change
        then takes no longer than the next ones.
        """
        with self._changing() as change:
            version = change.version
            if change.can_update(1, version.rows.n_rows):
                version, graph = change.with_graph()
                version = replace(version, rows=version.rows.with_room())
                changed = ChangedRows(version.rows, version.scoring.Y, graph, change.live)
                change.live.ready = version.rows, self._update(version.scoring, changed)
            change.live.keep_for(version)
            self._publish(version)
        return self

    def use_graph(self, graph: NeighborGraph) -> Self:
        """Store a leave-one-out graph that is already known, which saves a search.

        A loaded model does not know its graph and searches it before its first change; this saves
        the search.

        Parameters
        ----------
        graph : NeighborGraph
            :meth:`training_graph` of a model with the same rows and parameters. Its shape, its
            metric and its ids are checked, its distances are not.
        """
        with self._live.lock:
            version = self._fitted()
            if graph.metric != version.rows.metric:
                raise InvalidArgumentError("graph", f"metric {version.rows.metric}", graph.metric)
            checked = check_training_graph(graph, version.rows.n_rows, version.scoring.k)
            self._publish(replace(version, graph=checked))
        return self

    @property
    def _live(self) -> LiveData:
        """The lock and the state that only changes of the model use."""
        known = vars(self).get("_writes")
        return cast(
            "LiveData", vars(self).setdefault("_writes", LiveData()) if known is None else known
        )

    @contextmanager
    def _changing(self) -> Iterator[SmallChange]:
        """Wait for the lock, and restore the model if the change within fails."""
        before = self._fitted()
        live = self._live
        with live.lock:
            start = time.thread_time()  # while it waits for others, they have their turns
            before = self._fitted()
            try:
                with live.changing(before):
                    yield SmallChange(self, live, before)
            except BaseException:
                self._publish(before)
                raise
        _pause_for_readers(before, time.thread_time() - start)

    def _commit(
        self, change: SmallChange, version: FittedState, recalibrate: bool | None = None
    ) -> None:
        """Publish a version; refit its threshold always, never, or if it is too outdated (None)."""
        if recalibrate is None:
            recalibrate = self._is_outdated(change.version, version)
        if recalibrate and change.fits_threshold:
            version = self._recalibrated(change, version)
        change.live.keep_for(version)
        self._publish(version)

    def _is_outdated(self, before: FittedState, version: FittedState) -> bool:
        """Tell whether the threshold must be refitted now."""
        if version.calibration.is_current:
            return False
        if len(version.label_names) > len(before.label_names) and not decides(
            version.decision, version.scoring, version.rows
        ):
            return True
        at = check_recalibrate_at(self.recalibrate_at)
        if isinstance(at, str):
            return at == "always"
        return version.calibration.stale_share >= at

    def _recalibrated(self, change: SmallChange, version: FittedState) -> FittedState:
        """Return the version without empty places, with a threshold fitted on its rows."""
        version = change.compacted(version)
        lists, rows, scoring = change.live.graph, version.rows, version.scoring
        if lists is not None:
            graph = lists.graph(rows.gone)
        elif version.graph is not None:
            graph = narrowed(version.graph, scoring.k)
        else:
            graph = rows.query_self(scoring.k)
        training = Training(graph, scoring.Y, rows.X)
        with using_threads(rows.n_jobs):
            decision = self._fit_decision(change.rule, scoring, training, rows)
        return replace(version, decision=decision, calibration=Calibration(rows.n_rows))

    def _learn_by_refit(
        self,
        version: FittedState,
        fresh: Features,
        labels: Csr,
        names: tuple[str, ...],
        row_names: tuple[str, ...] | None,
    ) -> None:
        """Learn further rows by updating the whole graph and fitting again."""
        k = self._neighbors()
        graph = self._training_graph(version, k)
        rows = version.rows.grown(fresh)
        Y = with_rows(widened(version.scoring.Y, len(names)), labels)
        known = Labels(Y, names, version.label_kind, version.label_dtype)
        every_name = extended_row_names(version.row_names, row_names, rows.place_ids)
        self._adopt(rows, graph_with(graph, rows, fresh, k), known, every_name)

    def _forget_by_refit(self, version: FittedState, ids: Int) -> None:
        """Forget rows by updating the whole graph and fitting again."""
        gone = version.rows.places_of(ids)
        kept = np.setdiff1d(np.arange(version.rows.n_rows), gone)
        k = self._neighbors()
        graph = self._training_graph(version, k)
        rows = version.rows.reduced(kept)
        labels = replace(version.labels, matrix=version.scoring.Y[kept])
        names = version.row_names
        names = None if names is None else tuple(names[place] for place in kept.tolist())
        self._adopt(rows, graph_without(graph, rows, kept, gone, k), labels, names)

    def _adopt(
        self,
        search: TrainingRows,
        graph: NeighborGraph,
        labels: Labels,
        row_names: RowNames | None,
        weights: Float | None = None,
    ) -> None:
        """Fit again; the state kept for small changes belongs to the old version and is dropped."""
        check_recalibrate_at(self.recalibrate_at)
        with self._live.lock:
            self._live.drop()
            super()._adopt(search, graph, labels, row_names, weights)

    def _training_graph(self, version: FittedState, k: int) -> NeighborGraph:
        """Return the leave-one-out graph for k: the known one, or a new search."""
        known = version.graph
        lists = self._live.graph
        if known is None and lists is not None and k == version.scoring.k:
            lists.compact()
            known = lists.graph(version.rows.gone)
        if known is None or known.k < min(k, version.rows.width_among_others(k)):
            return version.rows.query_self(k)
        return narrowed(known, k)


def check_recalibrate_at(value: object) -> float | str:
    """Return ``recalibrate_at``, checked."""
    if isinstance(value, str):
        if value not in ("always", "never"):
            expected = "a share of the rows, such as 0.1, or 'always' or 'never'"
            raise InvalidArgumentError("recalibrate_at", expected, repr(value))
        return value
    return check_real("recalibrate_at", value, low=0)
