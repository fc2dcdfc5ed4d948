"""Incremental learning: rows are learned and forgotten one by one or many at a time, exactly.

After ``partial_fit`` or ``forget`` the scores of a model equal those of one fitted from scratch on
the same rows, to the bit. A small change revises what the method learned (``revising.py``): the
rows whose neighbours change are found by one search, and nothing else is touched. A large one
updates the leave-one-out graph and learns from it anew:

- **New rows** are searched among all rows; every old row is searched among the new rows only, and
  what it finds is merged into its list.
- **Forgotten rows** leave every list; the rows whose full lists lost one are searched again.

Changes are serialised by a lock. Predictions take no lock: each works on the version of the model
that it found (``version.py``).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Self, cast

import numpy as np

from vicinal._base.arrays import Csr, Features, Int
from vicinal._base.checked_csr import widened, with_rows
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.labels import Labels, further_labels
from vicinal._base.threads import using_threads
from vicinal._base.validation import check_option, check_real, check_rows, owned
from vicinal.estimators.base import NeighborEstimator
from vicinal.estimators.live_graph import VoteGroups
from vicinal.estimators.revising import Reviser, Revision, decides
from vicinal.estimators.row_names import check_row_names, extended_row_names
from vicinal.estimators.targets import refuse_classes
from vicinal.estimators.version import Calibration, Version
from vicinal.estimators.writer import Writer
from vicinal.graph import NeighborGraph
from vicinal.graph.neighbor_graph import narrowed
from vicinal.index import TrainingRows
from vicinal.index.graph_updates import graph_with, graph_without
from vicinal.scoring import Scoring, Training


class IncrementalEstimator(NeighborEstimator):
    """An estimator that learns and forgets rows without starting over.

    A subclass may give ``_revise``; those that do not learn from the updated graph anew.
    """

    recalibrate_at: float | str = 0.01
    _keeps_graph = True
    _learns_from_graph = False

    def _can_revise(self) -> bool:
        """Tell whether ``_revise`` holds for the parameters as they are."""
        return True

    def _vote_groups(self, scoring: Scoring, X: Features) -> VoteGroups | None:
        """Return the groups of rows whose votes are counted apart; None for one group."""
        return None

    def _revise(self, scoring: Scoring, revision: Revision) -> Scoring:
        """Return what the method learned, revised after a small change of the rows.

        Used only where the class that gives ``_fit_scoring`` gives it too.
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
        """Learn further rows; the model then equals one fitted on all of them at once.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n_new, m)
        Y : indicator with the columns of ``label_names_``, or list of label-name collections
            Names, here or as the columns of a data frame, may be new: such labels come last.
        classes : ignored
            scikit-learn's classifiers must be told of their classes; labels are 0 and 1.
        label_names : sequence of str, optional
            Names of the columns of `Y`, where they are others than those known.
        row_names : sequence of str, optional
            Names of the new rows; in a model whose rows have names, a row without one goes by its
            id.

        Notes
        -----
        Time in proportion to the new rows and the lists that they enter; see
        ``docs/incremental.md`` for what each method costs. More than
        :data:`~vicinal.estimators.revising.LARGEST_SHARE` of the rows at once cost a search of the
        new rows among all, one of all rows among the new ones, and one pass over the graph.

        Predictions in other threads do not wait, and answer for the rows before or after.
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
                self._learn_anew(version.whole, fresh, labels, names, new_names)
        return self

    def forget(self, rows: object) -> Self:
        """Forget training rows by id; the model then equals one fitted without them.

        Parameters
        ----------
        rows : array-like of int
            Ids as in ``row_ids_``, :meth:`kneighbors` and :meth:`neighbor_graph`.

        Notes
        -----
        Time in proportion to the rows that had a forgotten one among their neighbours.

        The row is not found any more. Its features and labels leave a place empty, whose memory is
        released once more than :data:`~vicinal.estimators.revising.EMPTY_SHARE` of the places are
        empty; :meth:`compact` does so now, and saved models never hold it.
        """
        with self._changing() as reviser:
            version = reviser.version
            ids = np.unique(check_rows("rows", rows, version.rows.n_ids))
            gone = version.rows.places_of(ids)
            n_left = version.rows.n_rows - len(gone)
            if n_left == 0:
                raise InvalidArgumentError("rows", "at least one row left over", "all rows")
            if reviser.can_revise(len(gone), n_left):
                self._settle(reviser, reviser.forgotten(gone))
            else:
                self._forget_anew(version.whole, ids)
        return self

    def recalibrate(self) -> Self:
        """Fit the threshold on the rows there are; labels then equal those of a refit.

        Nothing to do for rules that have nothing to fit. Costs leave-one-out scores of all rows.
        Predictions in other threads do not wait.
        """
        with self._changing() as reviser:
            self._settle(reviser, reviser.version, recalibrate=True)
        return self

    def compact(self) -> Self:
        """Release all memory that is still held for forgotten rows."""
        with self._changing() as reviser:
            version = reviser.compacted(reviser.version)
            version.rows.compact()
            self._settle(reviser, version, recalibrate=False)
        return self

    @property
    def graph_(self) -> NeighborGraph:
        """The leave-one-out graph: the one kept, or a fresh search."""
        version = self._whole("graph_")
        if version.graph is not None:
            return version.graph
        with self._writer.lock:
            graph, newest = self._writer.graph, self._fitted()
            is_known = self._writer.follows(newest) and newest.whole is version
            if graph is not None and is_known:
                return graph.graph(newest.rows.gone)
        return version.rows.query_self(version.scoring.k)

    @property
    def _writer(self) -> Writer:
        """What changes of the model need."""
        known = vars(self).get("_writes")
        return cast(
            "Writer", vars(self).setdefault("_writes", Writer()) if known is None else known
        )

    @contextmanager
    def _changing(self) -> Iterator[Reviser]:
        """Change the model, after others that do; whatever fails within leaves it as it was."""
        before = self._fitted()
        writer = self._writer
        with writer.lock:
            before = self._fitted()
            try:
                with writer.changing(before):
                    yield Reviser(self, writer, before)
            except BaseException:
                self._publish(before)
                raise

    def _settle(self, reviser: Reviser, version: Version, recalibrate: bool | None = None) -> None:
        """Publish a version, its threshold fitted where it lags too far (None), always or never."""
        if recalibrate is None:
            recalibrate = self._lags(reviser.version, version)
        if recalibrate and reviser.fits_threshold:
            version = self._recalibrated(reviser, version)
        reviser.writer.keep_for(version)
        self._publish(version)

    def _lags(self, before: Version, version: Version) -> bool:
        """Tell whether the threshold must be fitted now."""
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
        """Return a version without empty places whose threshold is fitted on its rows."""
        version = reviser.compacted(version)
        live, rows, scoring = reviser.writer.graph, version.rows, version.scoring
        graph = rows.query_self(scoring.k) if live is None else live.graph(rows.gone)
        training = Training(graph, scoring.Y, rows.X)
        with using_threads(rows.n_jobs):
            decision = self._fit_decision(reviser.rule, scoring, training, rows)
        return replace(version, decision=decision, calibration=Calibration(rows.n_rows))

    def _learn_anew(
        self,
        version: Version,
        fresh: Features,
        labels: Csr,
        names: tuple[str, ...],
        row_names: tuple[str, ...] | None,
    ) -> None:
        """Learn further rows by updating the graph as a whole."""
        k = self._neighbors()
        graph = self._training_graph(version, k)
        rows = version.rows.grown(fresh)
        Y = with_rows(widened(version.scoring.Y, len(names)), labels)
        known = Labels(Y, names, version.label_kind, version.label_dtype)
        every_name = extended_row_names(version.row_names, row_names, rows.place_ids)
        self._adopt(rows, graph_with(graph, rows, fresh, k), known, every_name)

    def _forget_anew(self, version: Version, ids: Int) -> None:
        """Forget rows by updating the graph as a whole."""
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
        row_names: tuple[str, ...] | None,
    ) -> None:
        """Learn anew; what changes need is then that of another version."""
        check_recalibrate_at(self.recalibrate_at)
        with self._writer.lock:
            self._writer.drop()
            super()._adopt(search, graph, labels, row_names)

    def _training_graph(self, version: Version, k: int) -> NeighborGraph:
        """Return the leave-one-out graph for k: one that is known, or a fresh search."""
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
