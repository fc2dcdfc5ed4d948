"""Exact incremental learning: models learn and forget rows, one or many at a time.

After ``partial_fit`` or ``forget`` the scores of a model equal those of one fitted from scratch on
the same rows, bit for bit. A small change revises what the method learned (``revising.py``): one
search finds the rows whose neighbours change, and nothing else is touched. A large change updates
the leave-one-out graph and fits the method on it again:

- **New rows** are searched among all rows. Every old row is searched among the new rows only, and
  the result is merged into its list of neighbours.
- **Forgotten rows** are removed from all lists. Rows whose full lists lost a neighbour are searched
  again.

A lock serialises changes. Predictions take no lock: each uses the version of the model that was
current when it started (``version.py``).
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Self, cast

import numpy as np

from vicinal._base.arrays import Csr, Features, Float, Int
from vicinal._base.checked_csr import widened, with_rows
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.labels import Labels, further_labels
from vicinal._base.threads import using_threads
from vicinal._base.validation import check_option, check_real, check_rows, owned
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.giving_way import give_way
from vicinal.estimators.live_graph import VoteGroups
from vicinal.estimators.revising import Reviser, Revision, decides
from vicinal.estimators.row_names import RowNames, check_row_names, extended_row_names
from vicinal.estimators.targets import refuse_classes
from vicinal.estimators.version import Calibration, Version
from vicinal.estimators.writer import Writer
from vicinal.graph import NeighborGraph
from vicinal.graph.checks import check_training_graph
from vicinal.graph.neighbor_graph import narrowed
from vicinal.index import TrainingRows
from vicinal.index.graph_updates import graph_with, graph_without
from vicinal.scoring import Scoring, Training


class IncrementalEstimator(NeighborEstimator):
    """An estimator that learns and forgets rows without a fit from scratch.

    A subclass may define ``_revise``; one that does not is fitted again on the updated graph.
    """

    recalibrate_at: float | str = 0.01
    _keeps_graph = True
    _learns_from_graph = False

    def _can_revise(self) -> bool:
        """Tell whether ``_revise`` supports the current parameters."""
        return True

    def _vote_groups(self, scoring: Scoring, X: Features) -> VoteGroups | None:
        """Return the groups of rows whose votes are counted apart; None for one group."""
        return None

    def _revise(self, scoring: Scoring, revision: Revision) -> Scoring:
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
        enter; ``docs/incremental.md`` lists the cost of each method. A change of more than
        :data:`~vicinal.estimators.revising.LARGEST_SHARE` of the rows costs a search of the new
        rows among all, one of all rows among the new ones, and one pass over the graph.

        Predictions in other threads do not wait; they use the model before or after the change.
        """
        if not self.__sklearn_is_fitted__():
            with self._writer.lock:
                if not self.__sklearn_is_fitted__():
                    return self.fit(X, Y, label_names=label_names, row_names=row_names)
        refuse_classes(Y)
        fresh = owned(self._read_X(X, reset=False), X)
        count = int(fresh.shape[0])
        new_names = None if row_names is None else check_row_names(row_names, count)
        with self._changing() as reviser:
            version = reviser.version
            labels, names = further_labels(version.label_names, Y, count, label_names)
            if reviser.can_revise(count, version.rows.n_rows + count, fresh):
                self._settle(reviser, reviser.learned(fresh, labels, names, new_names))
            else:
                self._learn_by_refit(version.whole, fresh, labels, names, new_names)
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
        than :data:`~vicinal.estimators.revising.EMPTY_SHARE` of the rows in memory are forgotten
        ones. :meth:`compact` releases that memory at once, and saved models never contain it.
        """
        with self._changing() as reviser:
            version = reviser.version
            ids = np.unique(check_rows("rows", rows, version.rows.n_ids))
            gone = version.rows.places_of(ids)
            n_left = version.rows.n_rows - len(gone)
            if n_left == 0:
                expected = "rows of which at least one is left in the model"
                raise InvalidArgumentError("rows", expected, f"all {len(gone)} rows")
            if reviser.can_revise(len(gone), n_left):
                self._settle(reviser, reviser.forgotten(gone))
            else:
                self._forget_by_refit(version.whole, ids)
        return self

    def recalibrate(self) -> Self:
        """Refit the threshold on the current rows; predicted labels then equal those of a refit.

        Does nothing for rules that are not fitted. Costs leave-one-out scores of all rows.
        Predictions in other threads do not wait.
        """
        with self._changing() as reviser:
            self._settle(reviser, reviser.version, recalibrate=True)
        return self

    def compact(self) -> Self:
        """Release the memory that forgotten rows still use."""
        with self._changing() as reviser:
            version = reviser.compacted(reviser.version)
            version.rows.compact()
            self._settle(reviser, version, recalibrate=False)
        return self

    @property
    def graph_(self) -> NeighborGraph:
        """The leave-one-out graph of the training rows: the stored one, or a new search."""
        known = self.known_graph()
        if known is not None:
            return known
        version = self._whole("graph_")
        return version.rows.query_self(version.scoring.k)

    def known_graph(self) -> NeighborGraph | None:
        """Return :attr:`graph_` if the model has it, and None if it would have to be searched."""
        version = self._whole("graph_")
        if version.graph is not None:
            return version.graph
        with self._writer.lock:
            graph, newest = self._writer.graph, self._fitted()
            is_known = self._writer.follows(newest) and newest.whole is version
            if graph is not None and is_known:
                return graph.graph(newest.rows.gone)
        return None

    def use_graph(self, graph: NeighborGraph) -> Self:
        """Store a leave-one-out graph that is known from elsewhere, so that none is searched.

        A loaded model does not know its graph and searches it before its first change; this saves
        the search.

        Parameters
        ----------
        graph : NeighborGraph
            :attr:`graph_` of a model with the same rows and parameters. Its shape, its metric and
            its ids are checked, its distances are not.
        """
        with self._writer.lock:
            version = self._fitted()
            if graph.metric != version.rows.metric:
                raise InvalidArgumentError("graph", f"metric {version.rows.metric}", graph.metric)
            checked = check_training_graph(graph, version.rows.n_rows, version.scoring.k)
            self._publish(replace(version, graph=checked))
        return self

    @property
    def _writer(self) -> Writer:
        """The lock and the state that only changes of the model use."""
        known = vars(self).get("_writes")
        return cast(
            "Writer", vars(self).setdefault("_writes", Writer()) if known is None else known
        )

    @contextmanager
    def _changing(self) -> Iterator[Reviser]:
        """Wait for the lock, and restore the model if the change within fails.

        After a change, predictions in other threads have their turn.
        """
        before = self._fitted()
        writer = self._writer
        with writer.lock:
            start = time.perf_counter()
            before = self._fitted()
            try:
                with writer.changing(before):
                    yield Reviser(self, writer, before)
            except BaseException:
                self._publish(before)
                raise
        give_way(before, time.perf_counter() - start)

    def _settle(self, reviser: Reviser, version: Version, recalibrate: bool | None = None) -> None:
        """Publish a version; refit its threshold always, never, or if it is too outdated (None)."""
        if recalibrate is None:
            recalibrate = self._is_outdated(reviser.version, version)
        if recalibrate and reviser.fits_threshold:
            version = self._recalibrated(reviser, version)
        reviser.writer.keep_for(version)
        self._publish(version)

    def _is_outdated(self, before: Version, version: Version) -> bool:
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

    def _recalibrated(self, reviser: Reviser, version: Version) -> Version:
        """Return the version without empty places, with a threshold fitted on its rows."""
        version = reviser.compacted(version)
        live, rows, scoring = reviser.writer.graph, version.rows, version.scoring
        graph = rows.query_self(scoring.k) if live is None else live.graph(rows.gone)
        training = Training(graph, scoring.Y, rows.X)
        with using_threads(rows.n_jobs):
            decision = self._fit_decision(reviser.rule, scoring, training, rows)
        return replace(version, decision=decision, calibration=Calibration(rows.n_rows))

    def _learn_by_refit(
        self,
        version: Version,
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

    def _forget_by_refit(self, version: Version, ids: Int) -> None:
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
        with self._writer.lock:
            self._writer.drop()
            super()._adopt(search, graph, labels, row_names, weights)

    def _training_graph(self, version: Version, k: int) -> NeighborGraph:
        """Return the leave-one-out graph for k: the known one, or a new search."""
        known = version.graph
        live = self._writer.graph
        if known is None and live is not None and k == version.scoring.k:
            live.compact()
            known = live.graph(version.rows.gone)
        if known is None or known.k < min(k, version.rows.width_among_others(k)):
            return version.rows.query_self(k)
        return narrowed(known, k)


def check_recalibrate_at(value: object) -> float | str:
    """Return ``recalibrate_at``, checked.

    Examples
    --------
    >>> check_recalibrate_at("often")
    Traceback (most recent call last):
    ...
    vicinal._base.errors.InvalidArgumentError: recalibrate_at: expected one of 'always', 'never',
    got 'often'
    """
    if isinstance(value, str):
        return check_option("recalibrate_at", value, ("always", "never"))
    return check_real("recalibrate_at", value, low=0)
