"""What all estimators share: validation, search, and the way from scores to answers."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.validation import validate_data

from vicinal._base.arrays import Csr, Features, Float, Int32
from vicinal._base.checked_csr import adopted, stacked
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.fitting import unchanged_on_failure
from vicinal._base.labels import Labels, read_labels
from vicinal._base.progress import blocks
from vicinal._base.state import State
from vicinal._base.threads import using_threads
from vicinal._base.validation import check_features, check_integer, check_readable, owned
from vicinal.decision import Decision, FittedDecision
from vicinal.decision.rule import fit_blocks, fit_weighted, needs_of
from vicinal.distances import get_distance
from vicinal.estimators.answer_kinds import SubsetAccuracy, labels_as, probabilities_as
from vicinal.estimators.block_rows import block_rows, training_blocks
from vicinal.estimators.calibration import fold_scores
from vicinal.estimators.explainable import Explainable
from vicinal.estimators.method import Method, declare
from vicinal.estimators.quick_rows import quick_rows
from vicinal.estimators.row_names import check_row_names
from vicinal.estimators.rules import check_decides, resolve_decision
from vicinal.estimators.sample_weights import (
    NEIGHBOR_PLACES,
    check_sample_weight,
    refuse_fit_arguments,
    refuse_graph,
)
from vicinal.estimators.saving import estimator_state, restore_estimator
from vicinal.estimators.sweep import refitted
from vicinal.estimators.targets import for_label_indicators, refuse_classes
from vicinal.estimators.version import Calibration, Version
from vicinal.estimators.versioned import Versioned
from vicinal.graph import NeighborGraph
from vicinal.graph.checks import check_graph, check_training_graph
from vicinal.graph.neighbor_graph import narrowed
from vicinal.index import TrainingRows
from vicinal.index.build import index_factory
from vicinal.persistence import write_folder
from vicinal.scores import Scores
from vicinal.scoring import Scoring, Training
from vicinal.scoring.every_label import EveryLabel, check_cells
from vicinal.scoring.training import leave_one_out


class NeighborEstimator(
    Versioned, SubsetAccuracy, Explainable, ClassifierMixin, BaseEstimator, ABC
):
    """Base of the multi-label estimators; see the subclasses for what a user calls.

    A subclass gives ``_fit_scoring`` and declares itself by an attribute ``method``
    (:class:`vicinal.estimators.method.Method`).

    Attributes
    ----------
    scoring_ : object
        What the method learned: plain arrays.
    decision_ : object
        The fitted rule that turns scores into labels.
    label_names_ : tuple of str
    metric_ : str
        The metric in effect: that of the graph the model was fitted on.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Where X came with column names.
    row_names_ : tuple of str or None
        Names of the training rows, where they were given.
    """

    method: ClassVar[Method]

    n_neighbors: int
    metric: str
    threshold: object
    never_empty: bool | None
    n_jobs: int | None
    algorithm: object = "auto"
    _keeps_graph = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Register a class that declares itself."""
        super().__init_subclass__(**options)
        declare(cls)

    def _neighbors(self) -> int:
        """Return the number of neighbours the method uses, checked; 0 if it uses none."""
        return check_integer("n_neighbors", self.n_neighbors, low=1)

    @abstractmethod
    def _fit_scoring(self, training: Training) -> Scoring:
        """Learn from the training rows."""

    def _own_decision(self) -> Decision:
        """Return the method's own rule, as the class or one that it derives from declares it."""
        for kind in type(self).__mro__:
            rule = getattr(vars(kind).get("method"), "rule", None)
            if rule is not None:
                own: Decision = rule
                return own
        name = type(self).__name__
        raise InvalidArgumentError("method", f"a rule of its own for {name} (Method(rule=…))", None)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterable[Scoring]:
        """Learn from the training rows for each of rising `ks`; by default one fit per k."""
        return refitted(self, training, ks)

    def needed_neighbors(self) -> int:
        """Return how many neighbours of each row the method uses; 0 for none."""
        return self._neighbors()

    def decision_rule(self) -> Decision:
        """Return the rule that the parameters ask for, not fitted."""
        return resolve_decision(self.threshold, self.never_empty, self._own_decision())

    def fit(
        self,
        X: object,
        Y: object,
        *,
        graph: NeighborGraph | None = None,
        label_names: Sequence[str] | None = None,
        row_names: Sequence[str] | None = None,
        **unsupported: object,
    ) -> Self:
        """Learn from rows and their labels.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m)
            Kept, and searched when the model predicts: copied, unless its arrays are read-only.
            Features are taken as they are; scale columns of different units first
            (:class:`vicinal.preprocess.MinMax`), as the command line does.
        Y : array-like or sparse indicator, shape (n, L), or list of label-name collections
            A column of a frame that holds lists of names will do for the latter. One-dimensional
            0 and 1 are one label: then predictions are one-dimensional too.
        graph : NeighborGraph, optional
            The leave-one-out graph of `X` (``index.query_self(k)``), wide enough for the method.
            Replaces the search, and its metric becomes the model's.
        label_names : sequence of str, optional
            Names of the columns of `Y`; taken from a data frame, sorted from lists of names.
        row_names : sequence of str, optional
            Names of the rows, which explanations show; saved with the model.
        **unsupported
            ``sample_weight`` is refused with an error that says why: a repeated row takes further
            places among the neighbours, which a weight cannot do.

        Returns
        -------
        self
        """
        refuse_fit_arguments(self, unsupported, NEIGHBOR_PLACES)
        with unchanged_on_failure(self):
            self._learn(X, Y, graph, label_names, row_names)
        return self

    def _learn(
        self,
        X: object,
        Y: object,
        graph: NeighborGraph | None,
        label_names: Sequence[str] | None,
        row_names: Sequence[str] | None,
        sample_weight: object = None,
    ) -> None:
        """Check everything, then learn and keep it; rows of weight 0 are left out."""
        k = self._neighbors()
        metric = get_distance(self.metric).name
        index_factory(self.algorithm)
        rows = owned(self._read_X(X, reset=True), X)
        refuse_classes(Y)
        labels = read_labels(Y, rows.shape[0], label_names)
        names = None if row_names is None else check_row_names(row_names, rows.shape[0])
        weights = check_sample_weight(sample_weight, rows.shape[0])
        if weights is not None:
            refuse_graph(graph)
            kept = np.flatnonzero(weights)
            rows, weights = rows[kept], weights[kept]
            labels = replace(labels, matrix=labels.matrix[kept])
            names = None if names is None else tuple(names[row] for row in kept.tolist())
        if graph is not None:
            graph = check_training_graph(graph, rows.shape[0], k)
            metric = graph.metric
        search = TrainingRows(rows, metric, self.n_jobs, algorithm=self.algorithm)
        near = search.query_self(k) if graph is None else graph
        self._adopt(search, near, labels, names, weights)

    def _adopt(
        self,
        search: TrainingRows,
        graph: NeighborGraph,
        labels: Labels,
        row_names: tuple[str, ...] | None,
        weights: Float | None = None,
    ) -> None:
        """Learn from rows, their leave-one-out graph and labels; nothing is set before all is."""
        rule = self.decision_rule()
        training = Training(graph, adopted(labels.matrix), search.X, weights=weights)
        with using_threads(search.n_jobs):
            scoring = self._fit_scoring(training)
            decision = self._fit_decision(rule, scoring, training, search)
        version = Version(
            search,
            scoring,
            decision,
            labels.names,
            labels.kind,
            labels.dtype,
            self._params(),
            Calibration(search.n_rows),
            graph if self._keeps_graph else None,
            row_names,
        )
        self._publish(version)

    def _fit_decision(
        self, decision: Decision, scoring: Scoring, training: Training, search: TrainingRows
    ) -> FittedDecision:
        """Fit a rule on leave-one-out or K-fold scores; refuse one that could not decide."""
        fitted = self._fitted_decision(decision, scoring, training, search)
        check_decides(fitted, scoring, search.X, search.metric)
        return fitted

    def _fitted_decision(
        self, decision: Decision, scoring: Scoring, training: Training, search: TrainingRows
    ) -> FittedDecision:
        """Fit a rule; scores are made only for a rule that needs some."""
        if isinstance(decision, FittedDecision):
            return decision
        if training.weights is not None:
            blocks = training_blocks(scoring, training)
            return fit_weighted(decision, blocks, training.Y, training.weights)
        needs = needs_of(decision)
        if needs.by_blocks or not needs.needs_scores:
            return fit_blocks(decision, training_blocks(scoring, training), training.Y)
        if needs.n_folds is None:
            return decision.fit(leave_one_out(scoring, training), training.Y)
        near, k = training.graph, scoring.k
        scores = fold_scores(self._fit_scoring, search, near, training.Y, k, needs.n_folds)
        return decision.fit(scores, training.Y)

    def predict(self, X: object, *, graph: NeighborGraph | None = None) -> NDArray[Any] | Csr:
        """Return the label indicator of each row, in the kind and type of array `Y` was at fit.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m)
        graph : NeighborGraph, optional
            Neighbours of `X` among the training rows; replaces the search.
        """
        version = self._fitted()
        decided = self._decided(version, X, graph)
        return labels_as(decided, version.label_kind, version.label_dtype)

    def _decided(self, version: Version, X: object, graph: NeighborGraph | None) -> Csr:
        """Return the label indicator (int32) of each row by one version."""
        scored = self._score_blocks(version, X, graph)
        return stacked([version.decision.decide(scores) for scores in scored])

    def predict_blocks(self, X_blocks: Iterable[object]) -> Iterator[NDArray[Any] | Csr]:
        """Yield the label indicators of blocks of rows, one after the other.

        Memory: that of one block, however many there are. All blocks are answered by the model as
        it is when the first is asked for, whatever it learns in between.

        Parameters
        ----------
        X_blocks : iterable of array-like, sparse matrix or data frame
            Each as for :meth:`predict`.
        """
        version = self._fitted()
        for X in X_blocks:
            decided = self._decided(version, X, None)
            yield labels_as(decided, version.label_kind, version.label_dtype)

    def decide(self, scores: Scores) -> Csr:
        """Return the label indicator (int32) that the fitted rule derives from scores of rows."""
        return self._fitted().decision.decide(scores)

    def predict_names(self, X: object, *, graph: NeighborGraph | None = None) -> list[list[str]]:
        """Return the names of the labels predicted for each row."""
        version = self._fitted()
        decided = self._decided(version, X, graph)
        return [
            [version.label_names[label] for label in labels]
            for labels in np.split(decided.indices, decided.indptr[1:-1])
        ]

    def predict_proba(self, X: object, *, graph: NeighborGraph | None = None) -> Float | Csr:
        """Return the score of every row and label.

        One (n, L) array; CSR where labels came sparse at fit and an absent score means 0. Where it
        cannot be sparse and is too large to hold, an error that points to :meth:`rank`.
        """
        version = self._fitted()
        return probabilities_as(self._scores(version, X, graph), version.label_kind)

    def decision_function(self, X: object, *, graph: NeighborGraph | None = None) -> Float:
        """Return how far every score lies above the threshold: positive where it passes.

        One (n, L) array, refused where it is too large to hold (use :meth:`rank`). The score less
        the rule's threshold, of all labels or of each. Rules that compare the labels of a row with
        each other (``RCut``, ``TopS``, label sets, …) have no threshold: then the scores as they
        are. A row that must not stay empty may be given a label that does not pass.
        """
        version = self._fitted()
        scores = self._scores(version, X, graph).toarray()
        cut: Any = getattr(version.decision, "cut", None)
        above = scores if cut is None else scores - cut
        return above.ravel() if version.label_kind == "flat" else above

    def scores(self, X: object, *, graph: NeighborGraph | None = None) -> Scores:
        """Return the scores of every row and label.

        Stored sparsely for any number of labels, except by the methods that have a score of its own
        for each row and label (DML-kNN, LAML-kNN, IBLR).
        """
        return self._scores(self._fitted(), X, graph)

    def _scores(self, version: Version, X: object, graph: NeighborGraph | None) -> Scores:
        """Return the scores of every row and label by one version."""
        if isinstance(version.scoring, EveryLabel):
            check_cells(self._read_new_X(X).shape[0], len(version.label_names))
        return Scores.stack(list(self._score_blocks(version, X, graph)))

    def rank(
        self, X: object, top: int = 5, *, graph: NeighborGraph | None = None
    ) -> tuple[Int32, Float]:
        """Return the `top` best labels of each row and their scores, best first, for any L.

        Returns
        -------
        ids : ndarray of int32, shape (n, min(top, L))
        scores : ndarray of float64, of the same shape
        """
        version = self._fitted()
        top = check_integer("top", top, low=1)
        n_jobs = version.rows.n_jobs
        blocks = [scores.top(top, n_jobs) for scores in self._score_blocks(version, X, graph)]
        return np.concatenate([ids for ids, _ in blocks]), np.concatenate([s for _, s in blocks])

    def neighbor_graph(self, X: object, k: int | None = None) -> NeighborGraph:
        """Return the `k` nearest training rows of each row, as many as the method uses by default.

        The graph can be passed as ``graph=``. Rows are known by their ids (``row_ids_``).
        """
        version = self._fitted()
        queries = self._read_new_X(X)
        width = version.scoring.k if k is None else check_integer("k", k, low=1)
        return version.rows.by_id(version.rows.query(queries, width))

    def kneighbors(
        self, X: object = None, n_neighbors: int | None = None, return_distance: bool = True
    ) -> tuple[Float, Int32] | Int32:
        """Return the nearest training rows, as scikit-learn's ``kneighbors`` does.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m), or None
            None for the training rows, each without itself.
        n_neighbors : int or None
            At most the number of training rows (less one where `X` is None); None for as many as
            the method uses, or all rows where there are fewer.
        return_distance : bool

        Returns
        -------
        distances : ndarray of float64, shape (n, n_neighbors)
            Rising. The Euclidean distance, 1 − cosine, or the negated dot product; inf where there
            is no further neighbour. Only if `return_distance`.
        ids : ndarray of int32, of the same shape
            Ids of training rows (``row_ids_``, which :meth:`forget` leaves as they are); −1 where
            there is no further neighbour: for cosine and dot product only rows that share a feature
            are neighbours.
        """
        graph = self._neighbors_of(X, n_neighbors)
        if not return_distance:
            return graph.ids
        distances = graph.distance_kind.as_distances(graph.values)
        return np.where(graph.ids < 0, np.inf, distances), graph.ids

    def _neighbors_of(self, X: object, n_neighbors: int | None) -> NeighborGraph:
        """Return the graph that :meth:`kneighbors` shows, as wide as asked for."""
        version = self._fitted()
        rows = version.whole.rows if X is None else version.rows
        most = rows.n_rows - (X is None)
        k = min(version.scoring.k, most)
        if n_neighbors is not None:
            k = check_integer("n_neighbors", n_neighbors, low=1)
            if k > most:
                raise InvalidArgumentError("n_neighbors", f"at most {most} (training rows)", k)
        found = rows.query_self(k) if X is None else rows.query(self._read_new_X(X), k)
        return rows.by_id(narrowed(found, k))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model as a folder; :func:`vicinal.load` reads it."""
        self._fitted()
        write_folder(self, path)

    def get_state(self) -> dict[str, State]:
        """Return the fitted model as plain values, arrays and parts."""
        return estimator_state(self)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return restore_estimator(cls, state)

    def _score_blocks(
        self, version: Version, X: object, graph: NeighborGraph | None
    ) -> Iterator[Scores]:
        """Score the rows of `X` by one version, some at a time."""
        queries = self._read_new_X(X)
        known, scoring = version.rows, version.scoring
        n_rows, k = queries.shape[0], scoring.k
        if graph is not None:
            check_graph(graph, n_rows, known.n_ids, min(k, known.n_rows))
            graph = known.by_place(graph)
            if graph.metric != known.metric:
                raise InvalidArgumentError("graph", f"a {known.metric} graph", graph.metric)
        elif k and known.prefers_whole_batches:
            graph = known.query(queries, k)
        for start, stop in blocks(n_rows, block_rows(scoring), "Scoring rows"):
            some = queries if stop - start == n_rows else queries[start:stop]
            if graph is None:
                near = known.query(some, k)
            else:
                near = narrowed(graph.queries(start, stop), k)
            with using_threads(known.n_jobs):
                scores = scoring.scores(near, some)
            yield scores

    def _read_X(self, X: object, *, reset: bool) -> Features:
        """Return checked features; names and number are learned (`reset`) or compared."""
        if not reset and "feature_names_in_" not in vars(self):
            quick = quick_rows(X, self.n_features_in_)
            if quick is not None:
                return quick
        check_readable(X)
        checked = validate_data(
            self, X, reset=reset, accept_sparse="csr", dtype=[np.float64, np.float32]
        )
        return check_features(checked)

    def _read_new_X(self, X: object) -> Features:
        """Return checked features of rows to predict."""
        self._fitted()
        return self._read_X(X, reset=False)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn: sparse features, label indicators only."""
        return for_label_indicators(super().__sklearn_tags__())

    @property
    def classes_(self) -> NDArray[Any]:
        """The two classes of each label, shape (L, 2), or (2,) where `Y` was one-dimensional."""
        pair = np.array([0, 1])
        return pair if self.label_kind_ == "flat" else np.broadcast_to(pair, (self._n_labels, 2))

    @property
    def _n_labels(self) -> int:
        return len(self.label_names_)
