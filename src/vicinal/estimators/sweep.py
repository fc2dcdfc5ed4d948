"""A method scored on a fold at many k: what the values of k have in common is computed once.

Methods that keep the labels and learn nothing else add up their votes along k, nearest neighbour
first. Other methods may offer ``_sweep(training, ks)``; those that do not are fitted for each k.
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
"""Scores of the held-out rows, and leave-one-out scores of the training rows where wanted."""


@runtime_checkable
class SweepScoring(Scoring, Protocol):
    """A scoring that learned nothing for its k, so that it can score at many k in one pass."""

    def sweep(self, graph: NeighborGraph, ks: Iterable[int]) -> Iterator[Scores]:
        """Score the queries of `graph` for each of rising `ks`."""


def sweep_scores(
    model: "NeighborEstimator", fold: Fold, ks: Sequence[int], with_training: bool
) -> Iterator[FoldScores]:
    """Yield the scores of a method fitted on a fold, for each of rising `ks`.

    Parameters
    ----------
    model : estimator
        Not fitted; its other parameters hold for every k.
    fold : Fold
    ks : sequence of int
        Values of the parameter that the method declares as its number of neighbours.
    with_training : bool
        Whether leave-one-out scores of the training rows are wanted as well.
    """
    return score_states(learned_at_each(model, fold.training, ks), fold, ks, with_training)


def score_states(
    states: Iterable[Scoring], fold: Fold, ks: Sequence[int], with_training: bool
) -> Iterator[FoldScores]:
    """Yield the scores of what a method learned at each k."""
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
    """Return what a method learns at each k, by its own sweep or by fitting it for each.

    A sweep that a class inherits holds only for the ``_fit_scoring`` that it inherits with it.
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
    """Yield what a method learns, fitted for each k on its own."""
    name = method_of(type(model)).neighbors
    for k in ks:
        each = clone(model) if name is None else clone(model).set_params(**{name: k})
        yield each._fit_scoring(training)
