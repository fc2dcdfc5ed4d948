"""The scores that LCIF mixes in one fold: both parts for every k, each from the previous k."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from vicinal._base.errors import InvalidArgumentError
from vicinal._native import SparseMatrix
from vicinal.estimators.fold import Fold
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores
from vicinal.scoring import FeatureKNNScoring, InstanceKNNScoring, SecondOrderScoring
from vicinal.scoring.lcif import stored
from vicinal.scoring.row_sums import native_matrix


@dataclass(frozen=True, eq=False)
class PartScores:
    """Scores of one part for one k: of training rows (leave-one-out) and of held-out rows."""

    training: SparseMatrix
    held_out: SparseMatrix

    @classmethod
    def of(cls, training: Scores, held_out: Scores) -> "PartScores":
        """Take sparse scores in which entries not stored are 0."""
        return cls(native_matrix(stored(training)), native_matrix(stored(held_out)))


def instance_parts(fold: Fold, ks: Sequence[int], second_order: bool) -> Iterator[PartScores]:
    """Yield the instance part for each k of `ks` (ascending), of the first or second order."""
    graphs = (fold.training.graph, fold.graph)
    _check_width("training.graph", graphs[0], min(ks[-1], fold.training.n_rows - 1))
    _check_width("graph", graphs[1], min(ks[-1], fold.training.n_rows))
    if second_order:
        joint = fold.training.joint
        if joint is not None:
            _check_width("joint", joint, min(ks[-1], fold.training.n_rows) - 1)
        for scoring in SecondOrderScoring.fit_sweep(fold.training, ks):
            yield PartScores.of(*(scoring.scores(graph) for graph in graphs))
        return
    first = InstanceKNNScoring.fit(fold.training, ks[-1])
    sweeps = (first.sweep(graph, [min(k, graph.k) for k in ks]) for graph in graphs)
    for training, held_out in zip(*sweeps, strict=True):
        yield PartScores.of(training, held_out)


def feature_parts(
    fold: Fold, ks: Sequence[int], neighbors_of: str, aggregate: str, n_jobs: int | None
) -> Iterator[PartScores]:
    """Yield the feature part for each k of `ks`."""
    training = fold.training
    for scoring in FeatureKNNScoring.fit_sweep(training, ks, neighbors_of, aggregate, n_jobs):
        yield PartScores.of(
            scoring.scores(training.graph, training.X), scoring.scores(fold.graph, fold.X)
        )


def _check_width(name: str, graph: NeighborGraph, k: int) -> None:
    """Raise unless a graph of the fold has at least k neighbours per row."""
    if graph.k < k:
        raise InvalidArgumentError(f"fold.{name}", f"at least {k} neighbours per row", graph.k)
