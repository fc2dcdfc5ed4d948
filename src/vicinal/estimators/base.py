"""The base class of all estimators: fitting, scoring and predicting."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags

from vicinal._base.arrays import Csr, Float, Int32
from vicinal._base.checked_csr import adopted, stacked
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.fitting import unchanged_on_failure
from vicinal._base.labels import Labels, read_labels
from vicinal._base.progress import blocks
from vicinal._base.state import State
from vicinal._base.threads import using_threads
from vicinal._base.validation import check_integer, owned
from vicinal.decision import Decision, FittedDecision
from vicinal.decision.rule import fit_blocks, fit_weighted, is_fitted, needs_of
from vicinal.distances import get_distance
from vicinal.estimators.answer_kinds import SubsetAccuracy, labels_as, probabilities_as
from vicinal.estimators.block_rows import block_rows, training_blocks
from vicinal.estimators.calibration import fold_scores
from vicinal.estimators.explainable import Explainable
from vicinal.estimators.method import Method, declare
from vicinal.estimators.neighbor_queries import NeighborQueries
from vicinal.estimators.row_names import RowNames, check_row_names
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
    NeighborQueries, SubsetAccuracy, Explainable, ClassifierMixin, BaseEstimator, ABC
):
    """Base class of the multi-label estimators; users call its subclasses.

    A subclass defines ``_fit_scoring`` and the attribute ``method``, its declaration
    (:class:`vicinal.estimators.method.Method`).

    Attributes
    ----------
    scoring_ : object
        What the method learned, as plain arrays.
    decision_ : object
        The fitted rule that turns scores into labels.
    label_names_ : tuple of str
    metric_ : str
        The metric of the neighbour graph that the model was fitted on.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if `X` had column names.
    row_names_ : tuple of str or None
        Names of the training rows, if they were given.
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
        """Register a subclass that has a declaration."""
        super().__init_subclass__(**options)
        declare(cls)

    def _neighbors(self) -> int:
        """Return the validated number of neighbours that the method uses; 0 for none."""
        return check_integer("n_neighbors", self.n_neighbors, low=1)

    @abstractmethod
    def _fit_scoring(self, training: Training) -> Scoring:
        """Learn from the training rows."""

    def _finish_fit(self, scoring: Scoring, training: Training) -> None:
        """Warn of what was learned, or keep more of it.

        Called once per fit, whereas ``_fit_scoring`` is also called for folds and for the parts of
        a blend.
        """

    def _own_decision(self) -> Decision:
        """Return the method's own rule, declared by the class or by one of its parents."""
        for kind in type(self).__mro__:
            rule = getattr(vars(kind).get("method"), "rule", None)
            if rule is not None:
                own: Decision = rule
                return own
        expected = f"Method(rule=…) in {type(self).__name__}, or in a class that it derives from"
        raise InvalidArgumentError("method", expected, None)

    def _sweep(self, training: Training, ks: Sequence[int]) -> Iterable[Scoring]:
        """Learn from the training rows for each of the increasing `ks`."""
        return refitted(self, training, ks)

    def needed_neighbors(self) -> int:
        """Return how many neighbours per row the method uses; 0 for none."""
        return self._neighbors()

    def decision_rule(self) -> Decision:
        """Return the unfitted decision rule for the current parameters."""
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
            The model keeps these rows to search them when it predicts. They are copied unless their
            arrays are read-only. Features are used unchanged: if columns have different units,
            scale them first (:class:`vicinal.preprocess.MinMax`), as the command line does.
        Y : array-like or sparse indicator, shape (n, L), or list of label-name collections
            The latter may be a column of a data frame. A one-dimensional array of 0 and 1 is one
            label; predictions are then one-dimensional too.
        graph : NeighborGraph, optional
            The leave-one-out graph of `X` (``index.query_self(k)``), with at least as many
            neighbours as the method uses. It replaces the search, and the model uses its metric.
        label_names : sequence of str, optional
            Names of the columns of `Y`; by default the columns of a data frame, or the label names
            in `Y`, sorted.
        row_names : sequence of str, optional
            Names of the rows, for explanations; saved with the model.
        **unsupported
            ``sample_weight`` is refused with an error that gives the reason: a repeated row takes
            further places among the neighbours, which a weight cannot do.

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
        """Validate all arguments, then learn from the rows; those of weight 0 are left out."""
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
        row_names: RowNames | None,
        weights: Float | None = None,
    ) -> None:
        """Learn from rows, their leave-one-out graph and labels; publish the result at the end."""
        rule = self.decision_rule()
        training = Training(graph, adopted(labels.matrix), search.X, weights=weights)
        with using_threads(search.n_jobs):
            scoring = self._fit_scoring(training)
            decision = self._fit_decision(rule, scoring, training, search)
            self._finish_fit(scoring, training)
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
        """Fit a rule on leave-one-out or K-fold scores; raise if it does not suit the scores."""
        fitted = self._fitted_decision(decision, scoring, training, search)
        check_decides(fitted, scoring, search.X, search.metric)
        return fitted

    def _fitted_decision(
        self, decision: Decision, scoring: Scoring, training: Training, search: TrainingRows
    ) -> FittedDecision:
        """Fit a rule; scores are computed only if the rule needs them."""
        if is_fitted(decision):
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
        """Return the predicted label indicator, in the array type and dtype of `Y` at fit.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame, shape (n, m)
        graph : NeighborGraph, optional
            Neighbours of `X` among the training rows, from :meth:`neighbor_graph`; replaces the
            search.
        """
        version = self._fitted()
        decided = self._decided(version, X, graph)
        return labels_as(decided, version.label_kind, version.label_dtype)

    def _decided(self, version: Version, X: object, graph: NeighborGraph | None) -> Csr:
        """Return the label indicator (int32) that one version predicts."""
        scored = self._score_blocks(version, X, graph)
        return stacked([version.decision.decide(scores) for scores in scored])

    def predict_blocks(self, X_blocks: Iterable[object]) -> Iterator[NDArray[Any] | Csr]:
        """Yield the predicted label indicator of each block of rows.

        Memory: one block at a time. All blocks are predicted by the model as it was at the first
        block, even if it learns further rows in between.

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
        """Return the label indicator (int32) that the fitted rule predicts from scores."""
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

        The result has shape (n, L). It is a CSR array if the training labels were sparse and the
        method scores a label without votes 0. If it is dense and too large for memory, an error
        points to :meth:`rank`.
        """
        version = self._fitted()
        return probabilities_as(self._scores(version, X, graph), version.label_kind)

    def decision_function(self, X: object, *, graph: NeighborGraph | None = None) -> Float:
        """Return every score minus the threshold: positive for the labels that pass it.

        One (n, L) array; raises if it is too large for memory (use :meth:`rank`). Rules that
        compare the labels of a row with each other (``RCut``, ``TopS``, label sets, …) have no
        threshold; the result is then the scores themselves. With ``never_empty``, a row may be
        given a label that does not pass the threshold.
        """
        version = self._fitted()
        scores = self._scores(version, X, graph).toarray()
        cut: Any = getattr(version.decision, "cut", None)
        above = scores if cut is None else scores - cut
        return above.ravel() if version.label_kind == "flat" else above

    def scores(self, X: object, *, graph: NeighborGraph | None = None) -> Scores:
        """Return the scores of every row and label.

        Sparse for any number of labels, except for the methods that compute a separate score for
        every row and label (DML-kNN, LAML-kNN, IBLR).
        """
        return self._scores(self._fitted(), X, graph)

    def _scores(self, version: Version, X: object, graph: NeighborGraph | None) -> Scores:
        """Return the scores of every row and label that one version computes."""
        if isinstance(version.scoring, EveryLabel):
            check_cells(self._read_new_X(X).shape[0], len(version.label_names))
        return Scores.stack(list(self._score_blocks(version, X, graph)))

    def rank(
        self, X: object, top: int = 5, *, graph: NeighborGraph | None = None
    ) -> tuple[Int32, Float]:
        """Return the `top` best labels of each row and their scores, best first.

        Memory: (n, top) only, for any number of labels.

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
        """Score the rows of `X` with one version, in blocks."""
        queries = self._read_new_X(X)
        known, scoring = version.rows, version.scoring
        n_rows, k = queries.shape[0], scoring.k
        if graph is not None:
            check_graph(graph, n_rows, known.n_ids, min(k, known.n_rows))
            graph = known.by_place(graph)
            if graph.metric != known.metric:
                expected = f"a graph of the model's metric, {known.metric}"
                raise InvalidArgumentError("graph", expected, graph.metric)
        elif k and known.prefers_whole_batches:
            graph = known.query(queries, k)
        for start, stop in blocks(n_rows, block_rows(scoring), "Scoring rows"):
            some = queries if stop - start == n_rows else queries[start:stop]
            if graph is None:
                near = known.query(some, k)
            else:
                near = narrowed(graph.queries(start, stop), k)
            with using_threads(known.n_jobs if n_rows > 1 else 1):
                scores = scoring.scores(near, some)
            yield scores

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: sparse features, label indicators only."""
        return for_label_indicators(super().__sklearn_tags__())

    @property
    def classes_(self) -> NDArray[Any]:
        """The two classes of each label, shape (L, 2), or (2,) if `Y` was one-dimensional."""
        pair = np.array([0, 1])
        if self.label_kind_ == "flat":
            return pair
        return np.broadcast_to(pair, (len(self.label_names_), 2))
