"""One fold: training rows and held-out rows, with their neighbours already searched."""

from dataclasses import dataclass

from vicinal._base.arrays import Csr, Features
from vicinal._base.errors import InvalidArgumentError
from vicinal.graph import NeighborGraph
from vicinal.scoring import Training


@dataclass(frozen=True, eq=False)
class Fold:
    """The rows that a method is trained on, and the held-out rows that it is tested on.

    Tuning, comparisons, benchmarks and the reproduction of the papers all use this class.

    Parameters
    ----------
    training : Training
        The training rows: their leave-one-out graph, features and labels, and the joint graph if a
        second-order method is fitted.
    graph : NeighborGraph
        The held-out rows' neighbours among the training rows; ids are positions in those rows.
    X : ndarray or csr_array
        Features of the held-out rows.
    Y : csr_array of int32
        Their labels, canonical.
    search_seconds : float
        How long the search for both graphs took, if it was timed.
    """

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
