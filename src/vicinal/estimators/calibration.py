"""Leave-one-out and K-fold scores of the training rows, on which thresholds are fitted."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from vicinal._base.arrays import Csr
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import using_threads
from vicinal.graph import NeighborGraph
from vicinal.index import TrainingRows
from vicinal.index.graph_updates import graph_without
from vicinal.scores import DENSE_LIMIT, Scores
from vicinal.scoring import Scoring, Training
from vicinal.scoring.training import leave_one_out

if TYPE_CHECKING:
    from vicinal.estimators.base import NeighborEstimator


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
    graph: NeighborGraph | None = getattr(model, "graph_", None)
    if graph is None:
        graph = model.search_.query_self(model.scoring_.k)
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

    Parameters
    ----------
    fit : callable
        Fits the method on training rows.
    search : TrainingRows
        The training rows.
    graph : NeighborGraph
        Their leave-one-out graph; the graph of the rows outside each fold is derived from it.
    Y : csr_array of int32, shape (n, L)
    k : int
        Number of neighbours the method uses.
    n_folds : int
        Row i belongs to fold i mod `n_folds`.

    Notes
    -----
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
