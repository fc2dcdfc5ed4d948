"""The training data of a scoring method, and the protocol of a fitted one."""

from dataclasses import dataclass
from typing import Protocol, TypeGuard, runtime_checkable

from vicinal._base.arrays import Csr, Features, Float, Int
from vicinal._base.bare_csr import take_rows
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.state import Saveable
from vicinal._base.validation import check_option
from vicinal.distances import COSINE
from vicinal.graph import NeighborGraph
from vicinal.scores import Scores

EVERY_ROW = slice(None)


@dataclass(frozen=True, eq=False)
class Training:
    """Training data of a scoring method.

    Parameters
    ----------
    graph : NeighborGraph
        Leave-one-out graph: the neighbours of row i among the other rows. Its width is 0 for a
        method that uses no neighbours.
    Y : csr_array of int32, shape (n, L)
        Canonical label indicator.
    X : ndarray or csr_array, shape (n, m), or None
        Features, for methods that need them in addition to the graph.
    joint : NeighborGraph or None
        Leave-one-out graph by the cosine of features and labels together, for second-order methods.
    weights : ndarray of float64, shape (n,), or None
        Weight of each row, above 0; None if every row counts once.
    """

    graph: NeighborGraph
    Y: Csr
    X: Features | None = None
    joint: NeighborGraph | None = None
    weights: Float | None = None

    def __post_init__(self) -> None:
        """Check that graphs and labels have the same rows."""
        self._check_rows("graph", self.graph)
        if self.joint is not None:
            self._check_rows("joint", self.joint)
            check_option("joint", self.joint.metric, (COSINE.name,))

    def _check_rows(self, name: str, graph: NeighborGraph) -> None:
        """Raise unless both the queries and the rows of `graph` are the training rows."""
        n_rows = self.n_rows
        if (graph.n_queries, graph.n_rows) != (n_rows, n_rows):
            raise InvalidArgumentError(
                name,
                f"the leave-one-out graph of {n_rows} rows",
                f"a graph of {graph.n_queries} queries and {graph.n_rows} rows",
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
    """A fitted method: plain arrays that score the queries of a graph."""

    @property
    def k(self) -> int:
        """Number of neighbours that the method uses; 0 if none."""

    @property
    def Y(self) -> Csr:
        """Labels of the training rows."""

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`, whose features are `X` (for methods that need them)."""


@runtime_checkable
class LeavesRowsOut(Scoring, Protocol):
    """A method that needs more than the graph to leave a training row out of its own scores."""

    def training_scores(self, training: Training, rows: slice | Int) -> Scores:
        """Score some of the training rows, leaving each row out of its own scores."""


def _leaves_rows_out(scoring: Scoring) -> TypeGuard[LeavesRowsOut]:
    """Look for the one method that the protocol adds; ``isinstance`` would look at all of them."""
    return hasattr(scoring, "training_scores")


def leave_one_out(scoring: Scoring, training: Training, rows: slice | Int = EVERY_ROW) -> Scores:
    """Return the leave-one-out scores of some of the training rows, by default of all."""
    if _leaves_rows_out(scoring):
        return scoring.training_scores(training, rows)
    X = None if training.X is None else take_rows(training.X, rows)
    return scoring.scores(training.graph.some(rows), X)
