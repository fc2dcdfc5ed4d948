"""The training data of a scoring method, and the protocol of a fitted one.

Their scores are dense, 8 bytes per row and label. An estimator therefore scores few rows at a time
if there are many labels; the size of scores that must be in memory at once is limited.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

import numpy as np

from vicinal._core.arrays import LARGE_BLOCK_CELLS, Csr, Features, Float, Int
from vicinal._core.checks import check_option
from vicinal._core.csr import take_rows
from vicinal._core.labels import check_indicator
from vicinal._core.progress import blocks
from vicinal._core.state import (
    FieldState,
    Saveable,
    State,
    damage_if_refused,
    read_count,
    read_csr,
    read_plain,
)
from vicinal._core.threads import using_threads
from vicinal.distances import COSINE
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.graph import NeighborGraph
from vicinal.index import TrainingRows
from vicinal.index.training_rows import graph_without
from vicinal.scores import DENSE_LIMIT, Scores

if TYPE_CHECKING:
    from vicinal.methods.base import NeighborEstimator


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
    """A fitted method: plain arrays that score the queries of a graph.

    One that needs more than the graph to leave a training row out of its own scores also has
    ``training_scores(training, rows)``. One that supports small changes also has ``as_fitted(Y,
    X)``: what a fit would give on these labels and features, without empty places.
    """

    @property
    def k(self) -> int:
        """Number of neighbours that the method uses; 0 if none."""

    @property
    def Y(self) -> Csr:
        """Labels of the training rows."""

    def scores(self, graph: NeighborGraph, X: Features | None = None) -> Scores:
        """Score the queries of `graph`, whose features are `X` (for methods that need them)."""


def leave_one_out(scoring: Scoring, training: Training, rows: slice | Int = EVERY_ROW) -> Scores:
    """Return the leave-one-out scores of some of the training rows, by default of all."""
    if hasattr(scoring, "training_scores"):
        left_out: Scores = scoring.training_scores(training, rows)
        return left_out
    n_rows = training.n_rows
    if isinstance(rows, slice) and rows.indices(n_rows) == (0, n_rows, 1):  # nothing is copied
        return scoring.scores(training.graph, training.X)
    X = None if training.X is None else take_rows(training.X, rows)
    return scoring.scores(training.graph.some(rows), X)


def check_given(X: Features | None, n_rows: int, n_features: int | None = None) -> Features:
    """Return the features of `n_rows` rows, or raise if they are missing."""
    columns = "m" if n_features is None else n_features
    expected = (
        f"features of shape ({n_rows}, {columns}), which this method needs in addition to the graph"
    )
    if X is None:
        raise InvalidArgumentError("X", expected, None)
    if X.shape[0] != n_rows or n_features not in (None, X.shape[1]):
        raise InvalidArgumentError("X", expected, f"shape {X.shape}")
    return X


def read_weight(state: Mapping[str, State], key: str) -> float:
    """Return ``state[key]``, a finite number of at least 0."""
    value = read_plain(state, key, float)
    if not (np.isfinite(value) and value >= 0):
        raise ModelFormatError(f"{key}: expected a finite number of at least 0, got {value}")
    return value


def read_indicator(state: Mapping[str, State], key: str) -> Csr:
    """Return ``state[key]``, a label indicator."""
    with damage_if_refused():
        return check_indicator(read_csr(state, key, (None, None)), key)


@dataclass(frozen=True, eq=False)
class KeptLabels(FieldState):
    """The number of neighbours and the training labels."""

    k: int
    Y: Csr

    @classmethod
    def fit(cls, training: Training, k: int) -> Self:
        """Store the labels."""
        return cls(k, training.Y)

    def as_fitted(self, Y: Csr, X: Features) -> Self:
        """Return the state for the same rows at other places, whose labels are `Y`."""
        return replace(self, Y=Y)

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        return cls(read_count(state, "k"), read_indicator(state, "Y"))


class EveryLabel:
    """Marks a method whose scores are dense."""


def check_cells(n_rows: int, n_labels: int) -> None:
    """Raise if the dense scores of the rows and labels would take more than 2 GiB."""
    if n_rows * n_labels > DENSE_LIMIT:
        raise InvalidArgumentError(
            "scores",
            f"at most {DENSE_LIMIT} cells at once (this method scores every label; "
            "use rank(X, top), or a rule that needs no training scores)",
            f"{n_rows} rows × {n_labels} labels",
        )


def rows_at_once(n_labels: int, most: int) -> int:
    """Return how many rows to score at a time, at most `most`."""
    return max(1, min(most, LARGE_BLOCK_CELLS // max(n_labels, 1)))


BLOCK_ROWS = 16_384
"""The largest number of rows scored at a time."""


def block_rows(scoring: Scoring) -> int:
    """Return how many rows to score at a time: fewer for methods that score every label."""
    if isinstance(scoring, EveryLabel):
        return rows_at_once(scoring.Y.shape[1], most=BLOCK_ROWS)
    return BLOCK_ROWS


def training_blocks(scoring: Scoring, training: Training) -> Iterator[Scores]:
    """Yield the leave-one-out scores of the training rows, block by block."""
    for start, stop in blocks(training.n_rows, block_rows(scoring), "Scoring training rows"):
        yield leave_one_out(scoring, training, slice(start, stop))


def k_fold_scores(model: "NeighborEstimator", training: Training, n_folds: int) -> Scores:
    """Return the K-fold scores of training rows for an unfitted estimator."""
    if training.X is None:
        raise InvalidArgumentError("training.X", "the features of the training rows", None)
    search = TrainingRows(
        training.X, training.graph.metric, model.n_jobs, algorithm=model.algorithm
    )
    k = model.needed_neighbors()
    return fold_scores(model._fit_scoring, search, training.graph, training.Y, k, n_folds)


def training_scores(model: "NeighborEstimator") -> Scores:
    """Return the leave-one-out scores of a fitted model's training rows."""
    find: Callable[[], NeighborGraph] | None = getattr(model, "training_graph", None)
    model = model.as_fitted()
    graph = model.search_.query_self(model.scoring_.k) if find is None else find()
    with using_threads(model.search_.n_jobs):
        training = Training(graph, model.scoring_.Y, model.search_.X)
        return leave_one_out(model.scoring_, training)


def fold_scores(
    fit: Callable[[Training], Scoring],
    search: TrainingRows,
    graph: NeighborGraph,
    Y: Csr,
    k: int,
    n_folds: int,
) -> Scores:
    """Score each fold of the training rows with the method fitted on the other folds.

    Cost: for each fold, one search for its rows and one for the rows outside it that lose a
    neighbour. For methods whose default scores differ from fold to fold (the ML-kNN family) the
    scores are one dense array, refused beyond 2 GiB.
    """
    n_rows = search.n_rows
    if n_rows < 2:
        raise InvalidArgumentError("X", "at least two training rows for K-fold scores", n_rows)
    fold_of = np.arange(n_rows) % min(n_folds, n_rows)
    blocks, order = [], []
    for fold in range(int(fold_of.max()) + 1):
        held, kept = np.flatnonzero(fold_of == fold), np.flatnonzero(fold_of != fold)
        others = TrainingRows(
            search.X[kept], search.metric, search.n_jobs, algorithm=search.algorithm
        )
        scoring = fit(Training(graph_without(graph, others, kept, held, k), Y[kept], others.X))
        rows = search.X[held]
        blocks.append(scoring.scores(others.query(rows, k), rows))
        order.append(held)
    return _one_base(blocks).take(np.argsort(np.concatenate(order)))


def _one_base(blocks: list[Scores]) -> Scores:
    """Concatenate blocks of rows, as a dense array if their bases differ or some are dense."""
    first = blocks[0]
    alike = (np.array_equal(b.base, first.base) and b.is_sparse == first.is_sparse for b in blocks)
    if all(alike):
        return Scores.stack(blocks)
    n_rows, n_labels = sum(block.shape[0] for block in blocks), blocks[0].shape[1]
    if n_rows * n_labels > DENSE_LIMIT:
        raise InvalidArgumentError(
            "threshold",
            f"at most {DENSE_LIMIT:,} K-fold scores (use leave-one-out scores, which are sparse)",
            f"{n_rows} rows × {n_labels} labels",
        )
    dense = [
        Scores(block.toarray(), block.base, block.neighbor_cardinality, block.label_sets)
        for block in blocks
    ]
    return Scores.stack(dense)
