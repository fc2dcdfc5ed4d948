"""The base class of all estimators: what they have in common, and how they are fitted."""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags

from vicinal._core.arrays import Float
from vicinal._core.checks import check_integer, unchanged_on_failure
from vicinal._core.csr import trust
from vicinal._core.labels import Labels, read_labels
from vicinal._core.state import State
from vicinal._core.threads import using_threads
from vicinal._core.validation import owned
from vicinal.decision import Decision, FittedDecision
from vicinal.decision.rule import fit_blocks, is_fitted, needs_of
from vicinal.distances import get_distance
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph, check_training_graph, metric_of_rows
from vicinal.index import TrainingRows
from vicinal.index.build import index_factory
from vicinal.methods._arguments import (
    NEIGHBOR_PLACES,
    check_decides,
    check_sample_weight,
    for_label_indicators,
    refuse_classes,
    refuse_fit_arguments,
    refuse_graph,
    resolve_decision,
)
from vicinal.methods.explaining import Explainable
from vicinal.methods.fitted_state import (
    Calibration,
    FittedState,
    RowNames,
    check_row_names,
    estimator_state,
    index_names,
    restore_estimator,
)
from vicinal.methods.predicting import Predictions, SubsetAccuracy
from vicinal.methods.registry import Method, declare, method_of
from vicinal.methods.training import Scoring, Training, fold_scores, leave_one_out, training_blocks
from vicinal.persistence import write_model


@dataclass(eq=False, repr=False, kw_only=True)
class SharedParameters:
    """The parameters of every method; scikit-learn reads them from the generated ``__init__``.

    Parameters
    ----------
    metric : {"euclidean", "cosine", "dot"}
        Distance or similarity by which neighbours are found.
    threshold : None, {"cardinality", "two-pass"}, float or decision object
        How scores become labels. ``"cardinality"`` is the threshold at which as many labels are
        predicted on the training rows as they have. None is the method's own rule:
        ``RULE``.
    never_empty : bool or None
        Whether every row gets at least one label; None for what the method's own rule says.
    n_jobs : int or None
        Number of threads; None for all cores.
    algorithm : str or callable
        The index for the neighbour search: ``"auto"`` (exact: inverted if X is sparse, else dense),
        another name, or a factory (:func:`vicinal.index.build_index`).
    recalibrate_at : float or {"always", "never"}
        ``partial_fit`` and ``forget`` refit a threshold that depends on the training rows once this
        share of the rows has changed (see :meth:`recalibrate`). Scores are always exact.
    """

    metric: str = "euclidean"
    threshold: object = None
    never_empty: bool | None = None
    n_jobs: int | None = None
    algorithm: object = "auto"


def documented(kind: type[Any]) -> str | None:
    """Return the docstring of a method with the shared parameters that it does not describe."""
    described, heading, rest = cleandoc(kind.__doc__ or "").partition("\nParameters\n----------\n")
    if not heading:
        return kind.__doc__
    own, _, others = rest.partition("\n\n")
    shared = cleandoc(SharedParameters.__doc__ or "").partition(heading)[2]
    for each in re.split(r"\n(?=\w)", shared.replace("RULE", str(kind.method.rule))):
        name = each.partition(" :")[0]
        if hasattr(kind, name) and not re.search(rf"^{name} :", own, re.MULTILINE):
            own = f"{own}\n{each}"
    return f"{described}{heading}{own}\n\n{others}"


class NeighborEstimator(
    SharedParameters, Predictions, SubsetAccuracy, Explainable, ClassifierMixin, BaseEstimator, ABC
):
    """Base class of the multi-label estimators; users call its subclasses.

    A subclass defines ``_fit_scoring`` and the attribute ``method``, its declaration
    (:class:`vicinal.methods.registry.Method`).

    """

    method: ClassVar[Method]

    n_neighbors: int
    _keeps_graph = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Register a subclass that has a declaration."""
        super().__init_subclass__(**options)
        declare(cls)
        if "method" in vars(cls):
            cls.__doc__ = documented(cls)

    def _neighbors(self) -> int:
        """Return the validated number of neighbours that the method uses; 0 for none."""
        return check_integer("n_neighbors", self.n_neighbors, low=1)

    @abstractmethod
    def _fit_scoring(self, training: Training) -> Scoring:
        """Learn from the training rows."""

    if not TYPE_CHECKING:  # a type checker would take every attribute for known

        def __getattr__(self, name: str) -> Any:
            """Name a remedy where a method does not learn incrementally."""
            if name in ("partial_fit", "forget", "recalibrate"):
                remedy = "call fit again, or use MLkNN"
                kind = type(self).__name__
                raise AttributeError(f"{kind} does not learn incrementally: {remedy}")
            return object.__getattribute__(self, name)  # raises what Python or a property says

    def _finish_fit(self, scoring: Scoring, training: Training) -> None:
        """Warn of what was learned or keep more of it, once per fit: not for folds or parts."""

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
        name = method_of(type(self)).neighbors
        for k in ks:
            each = clone(self) if name is None else clone(self).set_params(**{name: k})
            yield each._fit_scoring(training)

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
            arrays are read-only. `Blend` weights and scales features itself. The other methods use
            them unchanged: if columns have different units, scale them first
            (:class:`vicinal.preprocess.MinMax`), as the command line does.
        Y : array-like or sparse indicator, shape (n, L), or list of label-name collections
            The latter may be a column of a data frame. A one-dimensional array of 0 and 1 is one
            label; predictions are then one-dimensional too.
        graph : NeighborGraph, optional
            The leave-one-out graph of `X` (``index.query_self(k)``), with at least as many
            neighbours as the method uses. It replaces the search, and the model uses its metric. If
            its values are not distances of `X`, the model cannot search: then every later call
            needs a graph too.
        label_names : sequence of str, optional
            Names of the columns of `Y`; by default the columns of a data frame, or the label names
            in `Y`, sorted.
        row_names : sequence of str, optional
            Names of the rows, for explanations; saved with the model. By default the index of a
            pandas data frame, unless it only numbers the rows.
        **unsupported
            ``sample_weight`` raises an error that gives the reason: a repeated row is a further
            neighbour, a weighted one is not.

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
        row_names = index_names(X) if row_names is None else row_names
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
            metric = metric_of_rows(graph, rows)
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
        training = Training(graph, trust(labels.matrix), search.X, weights=weights)
        with using_threads(search.n_jobs):
            scoring = self._fit_scoring(training)
            decision = self._fit_decision(rule, scoring, training, search)
            self._finish_fit(scoring, training)
        state = FittedState(
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
        self._publish(state)

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
            return fit_blocks(decision, blocks, training.Y, training.weights)
        needs = needs_of(decision)
        if needs.by_blocks or not needs.needs_scores:
            return fit_blocks(decision, training_blocks(scoring, training), training.Y)
        if needs.n_folds is None:
            return decision.fit(leave_one_out(scoring, training), training.Y)
        near, k = training.graph, scoring.k
        scores = fold_scores(self._fit_scoring, search, near, training.Y, k, needs.n_folds)
        return decision.fit(scores, training.Y)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the fitted model as one file, which :func:`vicinal.load` reads."""
        self._fitted()
        write_model(self, path)

    def get_state(self) -> dict[str, State]:
        """Return the fitted model as plain values, arrays and parts."""
        return estimator_state(self)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return restore_estimator(cls, state)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: sparse features, label indicators only."""
        return for_label_indicators(super().__sklearn_tags__())
