"""What a scoring method learns from, and what it is once it has learned."""

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from vicinal._base.arrays import Csr, Features, Float, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.state import Saveable
from vicinal._base.validation import check_option
from vicinal.distances import COSINE
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores

EVERY_ROW = slice(None)


@dataclass(frozen=True, eq=False)
class Training:
    """Training rows as a scoring method sees them.

    Parameters
    ----------
    graph : NeighborGraph
        Leave-one-out: row i's neighbours among the other rows. Of width 0 for a method that looks
        at none.
    Y : csr_array of int32, shape (n, L)
        Canonical label indicator.
    X : ndarray or csr_array, shape (n, m), or None
        Features, for the methods that need them besides the graph.
    joint : NeighborGraph or None
        Leave-one-out graph by the cosine of features and labels together, for the second-order
        methods.
    weights : ndarray of float64, shape (n,), or None
        Weight of each row, above 0; None where each counts once.
    """

    graph: NeighborGraph
    Y: Csr
    X: Features | None = None
    joint: NeighborGraph | None = None
    weights: Float | None = None

    def __post_init__(self) -> None:
        """Check that graphs and labels are of the same rows."""
        self._check_rows("graph", self.graph)
        if self.joint is not None:
            self._check_rows("joint", self.joint)
            check_option("joint", self.joint.metric, (COSINE.name,))

    def _check_rows(self, name: str, graph: NeighborGraph) -> None:
        """Raise unless `graph` is of these rows among themselves."""
        n_rows = self.n_rows
        if (graph.n_queries, graph.n_rows) != (n_rows, n_rows):
            raise InvalidArgumentError(
                name,
                f"the graph of {n_rows} rows among themselves",
                f"{graph.n_queries} queries among {graph.n_rows} rows",
            )

    @property
    def n_rows(self) -> int:
        """Number of training rows."""
        return int(self.Y.shape[0])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y.shape[1])


@runtime_checkable
class Scoring(Saveable, Protocol):
    """A method that has learned: plain arrays that score the queries of a graph."""

    @property
    def k(self) -> int:
        """Number of neighbours the method looks at; 0 if none."""

    @property
    def Y(self) -> Csr:
        """Labels of the training rows."""

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`, whose features are `X` (for the methods that need them)."""


@runtime_checkable
class LeavesRowsOut(Scoring, Protocol):
    """A method whose scores of a training row need more than its graph to leave the row out."""

    def training_scores(self, training: Training, rows: slice | Int) -> Scores:
        """Score some of the training rows, each by what the others say."""


def leave_one_out(scoring: Scoring, training: Training, rows: slice | Int = EVERY_ROW) -> Scores:
    """Return the leave-one-out scores of some of the training rows, by default of all."""
    if isinstance(scoring, LeavesRowsOut):
        return scoring.training_scores(training, rows)
    X = None if training.X is None else training.X[rows]
    return scoring.scores(training.graph.some(rows), X)
