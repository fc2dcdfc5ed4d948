"""Score a method on a fold for many values of k, computing only once what they have in common.

Methods that only keep the labels add up their votes neighbour by neighbour. Other methods may
define ``_sweep(training, ks)``; those that do not are fitted for each k.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeAlias, runtime_checkable

from sklearn.base import clone

from vicinal.estimators.fold import Fold
from vicinal.estimators.method import method_of
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores
from vicinal.scoring import Scoring, Training
from vicinal.scoring.each_k import at_each_k
from vicinal.scoring.training import leave_one_out

if TYPE_CHECKING:
    from vicinal.estimators.base import NeighborEstimator

FoldScores: TypeAlias = tuple[Scores, Scores | None]
"""Scores of the held-out rows, and leave-one-out scores of the training rows or None."""


@runtime_checkable
class SweepScoring(Scoring, Protocol):
    """A scoring whose state does not depend on k, so that one pass scores many values of k."""

    def sweep(self, graph: NeighborGraph, ks: Iterable[int]) -> Iterator[Scores]:
        """Score the queries of `graph` for each of the increasing `ks`."""


def sweep_scores(
    model: "NeighborEstimator", fold: Fold, ks: Sequence[int], with_training: bool
) -> Iterator[FoldScores]:
    """Yield the scores of a method fitted on a fold, for each of the increasing `ks`.

    Parameters
    ----------
    model : estimator
        Unfitted; its other parameters apply to every k.
    fold : Fold
    ks : sequence of int
        Values of the parameter that the method declares as its number of neighbours.
    with_training : bool
        Whether to return leave-one-out scores of the training rows too.
    """
    return score_states(learned_at_each(model, fold.training, ks), fold, ks, with_training)


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
    """Return what a method learns for each k, by its own sweep or by one fit per k.

    An inherited ``_sweep`` is used only if the class inherits ``_fit_scoring`` as well.
    """
    for kind in type(model).__mro__:
        if "_sweep" in vars(kind):
            return model._sweep(training, ks)
        if "_fit_scoring" in vars(kind):
            break
    return refitted(model, training, ks)


def refitted(
    model: "NeighborEstimator", training: Training, ks: Sequence[int]
) -> Iterator[Scoring]:
    """Yield what a method learns for each k, by one fit per k."""
    name = method_of(type(model)).neighbors
    for k in ks:
        each = clone(model) if name is None else clone(model).set_params(**{name: k})
        yield each._fit_scoring(training)
