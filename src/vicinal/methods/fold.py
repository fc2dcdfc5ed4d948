"""One fold: training rows and held-out rows, with their neighbours already searched.

Methods that only keep the labels add up their votes neighbour by neighbour. Other methods may
define ``_sweep(training, ks)``; those that do not are fitted for each k.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any, Protocol, Self, TypeAlias, TypeVar, runtime_checkable

import numpy as np

from vicinal._core.arrays import Csr, Features
from vicinal._core.state import FieldState
from vicinal.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph, votes_by_k
from vicinal.methods.base import NeighborEstimator
from vicinal.methods.training import Scoring, Training, leave_one_out
from vicinal.metrics.value_table import outside_scores
from vicinal.scores import DENSE_LIMIT, Scores


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows that a method is trained on, and the held-out rows that it is tested on."""

    training: Training
    graph: NeighborGraph
    X: Features
    Y: Csr
    search_seconds: float = 0.0

    def __post_init__(self) -> None:
        """Check the parts against each other."""
        if self.graph.n_rows != self.training.n_rows:
            raise InvalidArgumentError(
                "graph", f"neighbours among {self.training.n_rows} training rows", self.graph.n_rows
            )
        rows = {self.graph.n_queries, int(self.X.shape[0]), int(self.Y.shape[0])}
        if len(rows) > 1:
            raise InvalidArgumentError(
                "X, Y, graph", "the same number of held-out rows", f"{sorted(rows)} rows"
            )
        if self.Y.shape[1] != self.training.n_labels:
            raise InvalidArgumentError("Y", f"{self.training.n_labels} labels", self.Y.shape[1])


@runtime_checkable
class Decider(Protocol):
    """An estimator, such as vicinal's own, that separates scoring from deciding."""

    def scores(self, X: object) -> Scores:
        """Return the scores of every row and label."""

    def decide(self, scores: Scores) -> Csr:
        """Return the label sets predicted from scores."""


def fit_on(model: Any, fold: Fold) -> Any:
    """Fit an estimator on a fold's training rows, with their graph if it uses neighbours."""
    X, Y = fold.training.X, fold.training.Y
    if isinstance(model, NeighborEstimator):
        return model.fit(X, Y, graph=fold.training.graph if model.needed_neighbors() else None)
    return model.fit(X, Y if isinstance(model, Decider) else dense_labels(Y))


def predict_on(model: Any, X: object, graph: NeighborGraph | None = None) -> tuple[object, object]:
    """Return label sets and scores of rows, whose graph is used by an estimator of neighbours.

    The scores are None if the estimator has none.
    """
    if isinstance(model, NeighborEstimator):
        scores = model.scores(X, graph=graph if model.needed_neighbors() else None)
    elif isinstance(model, Decider):
        scores = model.scores(X)
    else:
        return model.predict(X), outside_scores(model, X)
    return model.decide(scores), scores


def dense_labels(Y: Csr) -> Any:
    """Return labels as estimators of other libraries accept them: a dense array of int64."""
    if Y.shape[0] * Y.shape[1] > DENSE_LIMIT:
        expected = (
            f"rows × labels of at most {DENSE_LIMIT:,}, because the method needs dense labels"
        )
        raise InvalidArgumentError("datasets", expected, f"{Y.shape[0]:,} × {Y.shape[1]:,}")
    return Y.toarray().astype(np.int64)


Value = TypeVar("Value")


def at_each_k(
    sweep: Callable[[list[int]], Iterable[Value]], ks: Sequence[int], width: int
) -> Iterator[Value]:
    """Yield the value of each of the increasing `ks`; above `width` it stays the same."""
    values = iter(sweep(sorted({min(k, width) for k in ks})))
    reached: int | None = None
    for k in ks:
        if reached is None or min(k, width) > reached:
            reached, value = min(k, width), next(values)
        yield value


class VoteScoring(FieldState):
    """What is learned from the votes of the training rows' neighbours, leave-one-out."""

    @classmethod
    def fit(cls, training: Training, k: int, *settings: Any, **named: Any) -> Self:
        """Learn from the votes of the k nearest rows."""
        return next(cls.fit_sweep(training, [k], *settings, **named))

    @classmethod
    def fit_sweep(
        cls, training: Training, ks: Iterable[int], *settings: Any, **named: Any
    ) -> Iterator[Self]:
        """Fit for each k of `ks` (ascending), counting votes once."""
        wanted = list(ks)
        counts_by_k = at_each_k(
            partial(votes_by_k, training.graph, training.Y), wanted, training.graph.k
        )
        for k, counts in zip(wanted, counts_by_k, strict=True):
            yield cls.of_votes(counts, training, k, *settings, **named)

    @classmethod
    def of_votes(cls, counts: Csr, training: Training, *args: Any, **kwargs: Any) -> Self:
        """Learn from votes for each label, k and the settings of the method."""
        raise NotImplementedError


FoldScores: TypeAlias = tuple[Scores, Scores | None]
"""Scores of the held-out rows, and leave-one-out scores of the training rows or None."""


@runtime_checkable
class SweepScoring(Scoring, Protocol):
    """A scoring whose state does not depend on k, so that one pass scores many values of k."""

    def sweep(self, graph: NeighborGraph, ks: Iterable[int]) -> Iterator[Scores]:
        """Score the queries of `graph` for each of the increasing `ks`."""


@runtime_checkable
class SharedSweepScoring(SweepScoring, Protocol):
    """A scoring that has most of its work in common with those of other parameters."""

    def sweep_with(
        self, others: Sequence[Scoring], graph: NeighborGraph, ks: Iterable[int]
    ) -> Iterator[list[Scores]]:
        """Score the queries for each of the increasing `ks`, by this scoring and by the others."""


def sweep_together(
    models: Sequence["NeighborEstimator"], fold: Fold, ks: Sequence[int], with_training: bool
) -> Iterator[list[FoldScores]]:
    """Yield the scores of several models of one method, for each of the increasing `ks`."""
    training = fold.training
    several = models if len(models) > 1 else []
    states = [next(iter(learned_at_each(model, training, ks))) for model in several]
    first = states[0] if states else None
    if not isinstance(first, SharedSweepScoring):
        learned = (learned_at_each(model, training, ks) for model in models)
        apart = [score_states(each, fold, ks, with_training) for each in learned]
        yield from map(list, zip(*apart, strict=True))
        return
    held_out = at_each_k(partial(first.sweep_with, states[1:], fold.graph), ks, fold.graph.k)
    own = at_each_k(partial(first.sweep_with, states[1:], training.graph), ks, training.graph.k)
    for of_k in held_out:
        yield [*zip(of_k, next(own) if with_training else [None] * len(of_k), strict=True)]


def score_states(
    states: Iterable[Scoring], fold: Fold, ks: Sequence[int], with_training: bool
) -> Iterator[FoldScores]:
    """Yield the scores for each k from what a method learned for it."""
    training = fold.training
    rest = iter(states)
    first = next(rest)
    if isinstance(first, SweepScoring):
        held_out = at_each_k(partial(first.sweep, fold.graph), ks, fold.graph.k)
        if not with_training:
            yield from ((scores, None) for scores in held_out)
            return
        own = at_each_k(partial(first.sweep, training.graph), ks, training.graph.k)
        yield from zip(held_out, own, strict=True)
        return
    for state in chain([first], rest):
        own_scores = leave_one_out(state, training) if with_training else None
        yield state.scores(fold.graph, fold.X), own_scores


def learned_at_each(
    model: "NeighborEstimator", training: Training, ks: Sequence[int]
) -> Iterable[Scoring]:
    """Return what a method learns for each k, by its own sweep or by one fit per k."""
    for kind in type(model).__mro__:
        if "_sweep" in vars(kind):
            return model._sweep(training, ks)
        if "_fit_scoring" in vars(kind):
            break
    return NeighborEstimator._sweep(model, training, ks)
