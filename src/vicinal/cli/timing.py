"""How long search and methods take: what ``vicinal bench`` measures."""

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
"""Without a published split, every so-many-th row is asked for."""
SINGLE = 500
"""Queries asked one by one."""


@dataclass(frozen=True)
class MethodTime:
    """Seconds of one method."""

    method: str
    fit: float
    predict: float


def held_out(dataset: Dataset, metric: str) -> Fold:
    """Return the published split, or some rows held out, not searched; dense rows are scaled."""
    train, test = dataset.train, dataset.test
    if train is None or test is None:
        ids = np.arange(dataset.n_rows)
        train, test = ids[ids % HELD_OUT != 0], ids[ids % HELD_OUT == 0]
    if len(train) < 2 or len(test) == 0:
        raise InvalidArgumentError("DATA", "rows to learn from and to ask for", dataset.n_rows)
    steps = make_steps("auto", sparse.issparse(dataset.X))
    folds = PreparedFolds(dataset.X, dataset.Y, [Split(train, test)], Widths({}), steps, None)
    return folds.fold(0, Search(metric))


def sizes(fold: Fold, neighbors: int) -> dict[str, object]:
    """Return what the times depend on."""
    return {
        "rows searched": fold.training.n_rows,
        "rows asked for": fold.X.shape[0],
        "features": fold.X.shape[1],
        "labels": fold.Y.shape[1],
        "neighbours": neighbors,
        "metric": fold.graph.metric,
        "threads": thread_count(),
    }


def time_search(fold: Fold, k: int) -> tuple[dict[str, object], Fold]:
    """Time the index, a batch of queries, single queries and the graph of the rows themselves."""
    training = fold.training
    began = time.perf_counter()
    index = build_index(training.X, fold.graph.metric)
    built = time.perf_counter()
    asked = index.query(fold.X, k)
    answered = time.perf_counter()
    among = index.query_self(k)
    ended = time.perf_counter()
    single = time_single_queries(index, fold.X[:SINGLE], k)
    facts: dict[str, object] = {
        "build the index, s": built - began,
        "batch search, ms per query": 1000 * (answered - built) / max(asked.n_queries, 1),
        "single query, ms, median": float(np.percentile(single, 50)),
        "single query, ms, 99th percentile": float(np.percentile(single, 99)),
        "graph of the rows, s": ended - answered,
    }
    return facts, replace(fold, training=Training(among, training.Y, training.X), graph=asked)


def time_single_queries(index: Index, rows: Features, k: int) -> Sequence[float]:
    """Return the milliseconds of each row asked alone, after one that does not count."""
    index.query(rows[:1], k)
    spent = []
    for at in range(rows.shape[0]):
        query = rows[at : at + 1]
        began = time.perf_counter()
        index.query(query, k)
        spent.append(1000 * (time.perf_counter() - began))
    return spent


def time_method(name: str, model: Any, fold: Fold) -> MethodTime:
    """Time a method on the fold's graphs, if it uses neighbours."""
    with errors.status(f"Timing {name}"):
        began = time.perf_counter()
        fit_on(model, fold)
        fitted = time.perf_counter()
        if isinstance(model, NeighborEstimator):
            model.predict(fold.X, graph=graph_for(model, fold))
        else:
            model.predict(fold.X)
        return MethodTime(name, fitted - began, time.perf_counter() - fitted)
