"""Time the search and the methods, for ``vicinal bench``."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import thread_count
from vicinal.cli.output import errors
from vicinal.datasets import Dataset
from vicinal.estimators import NeighborEstimator
from vicinal.estimators.answers import fit_on, graph_for
from vicinal.estimators.fold import Fold
from vicinal.index import Index, build_index
from vicinal.preprocess import make_steps
from vicinal.scoring import Training
from vicinal.selection.fold_source import PreparedFolds, Widths
from vicinal.selection.grid import Search
from vicinal.selection.splits import Split

HELD_OUT = 5
"""Without a published split, every row with a number divisible by this is held out as a query."""
SINGLE = 500
"""Number of queries that are timed one by one."""


@dataclass(frozen=True)
class MethodTime:
    """The time that one method takes, in seconds."""

    method: str
    fit: float
    predict: float


def held_out(dataset: Dataset, metric: str) -> Fold:
    """Return the published split, or one made here, without neighbours; dense rows are scaled."""
    train, test = dataset.train, dataset.test
    if train is None or test is None:
        ids = np.arange(dataset.n_rows)
        train, test = ids[ids % HELD_OUT != 0], ids[ids % HELD_OUT == 0]
    if len(train) < 2 or len(test) == 0:
        expected = "at least two training rows and one test row"
        raise InvalidArgumentError("DATA", expected, f"{dataset.n_rows} rows")
    steps = make_steps("auto", sparse.issparse(dataset.X))
    folds = PreparedFolds(dataset.X, dataset.Y, [Split(train, test)], Widths({}), steps, None)
    return folds.fold(0, Search(metric))


def sizes(fold: Fold, neighbors: int) -> dict[str, object]:
    """Return the sizes that the times depend on."""
    return {
        "rows searched": fold.training.n_rows,
        "queries": fold.X.shape[0],
        "features": fold.X.shape[1],
        "labels": fold.Y.shape[1],
        "neighbours": neighbors,
        "metric": fold.graph.metric,
        "threads": thread_count(),
    }


def time_search(fold: Fold, k: int) -> tuple[dict[str, object], Fold]:
    """Time the index, a batch of queries, single queries and the graph of the training rows."""
    training = fold.training
    began = time.perf_counter()
    index = build_index(training.X, fold.graph.metric)
    built = time.perf_counter()
    query_graph = index.query(fold.X, k)
    answered = time.perf_counter()
    training_graph = index.query_self(k)
    ended = time.perf_counter()
    single = time_single_queries(index, fold.X[:SINGLE], k)
    facts: dict[str, object] = {
        "build the index, s": built - began,
        "batch search, ms per query": 1000 * (answered - built) / max(query_graph.n_queries, 1),
        "single query, ms, median": float(np.percentile(single, 50)),
        "single query, ms, 99th percentile": float(np.percentile(single, 99)),
        "graph of the training rows, s": ended - answered,
    }
    searched = Training(training_graph, training.Y, training.X)
    return facts, replace(fold, training=searched, graph=query_graph)


def time_single_queries(index: Index, rows: Features, k: int) -> Sequence[float]:
    """Return the milliseconds of each query on its own, after one query to warm up."""
    index.query(rows[:1], k)
    spent = []
    for at in range(rows.shape[0]):
        query = rows[at : at + 1]
        began = time.perf_counter()
        index.query(query, k)
        spent.append(1000 * (time.perf_counter() - began))
    return spent


def time_method(name: str, model: Any, fold: Fold) -> MethodTime:
    """Time the fit and the prediction of a method, with the fold's graphs if it uses neighbours."""
    with errors.status(f"Timing {name}"):
        began = time.perf_counter()
        fit_on(model, fold)
        fitted = time.perf_counter()
        if isinstance(model, NeighborEstimator):
            model.predict(fold.X, graph=graph_for(model, fold))
        else:
            model.predict(fold.X)
        return MethodTime(name, fitted - began, time.perf_counter() - fitted)
