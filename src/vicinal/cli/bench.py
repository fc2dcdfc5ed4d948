"""``vicinal bench``: measure the speed on this machine and a data set."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from vicinal.cli.options import (
    METHODS,
    CommonOptions,
    DataArgument,
    TableChoice,
    option,
    with_options,
)
from vicinal.cli.output import errors, print_facts, print_json, print_table
from vicinal.errors import InvalidArgumentError

if TYPE_CHECKING:
    from vicinal._core.arrays import Features
    from vicinal.datasets import Dataset
    from vicinal.index import Index
    from vicinal.methods.fold import Fold


class BenchOptions(CommonOptions):
    """The options of ``vicinal bench``."""

    methods: str = option(
        f"quick, all, or separated by commas: {METHODS}; module:Class for any multi-label "
        "classifier.",
        default="quick",
    )
    neighbors: int = option("Number of neighbours.", default=10, min=1)
    metric: str = option(
        "Distance: euclidean, cosine, dot; auto: cosine if sparse, else euclidean.", default="auto"
    )


@with_options
def bench(chosen: BenchOptions, table: TableChoice, data: DataArgument = "debtags") -> None:
    """Time loading, searching and every method on your machine."""
    from scipy import sparse

    from vicinal._core.checks import check_option
    from vicinal.cli.data_source import whole_dataset
    from vicinal.cli.settings import make_estimator, method_words, neighbor_settings
    from vicinal.distances import COSINE, EUCLIDEAN, distance_names
    from vicinal.methods import NeighborEstimator
    from vicinal.results import machine

    words = chosen.methods.split(",")
    chosen.import_modules(words)
    models: dict[str, Any] = {
        name: make_estimator(name, neighbor_settings(name, chosen.neighbors), "--methods")
        for name in method_words(words)
    }
    metric = check_option("--metric", chosen.metric, ("auto", *distance_names()))
    with errors.status(f"Loading {data}"):
        began = time.perf_counter()
        dataset = whole_dataset(data, table)
        seconds_to_load = time.perf_counter() - began
    if metric == "auto":
        metric = (COSINE if sparse.issparse(dataset.X) else EUCLIDEAN).name
    ours = [model for model in models.values() if isinstance(model, NeighborEstimator)]
    neighbors = max([chosen.neighbors, *(model.needed_neighbors() for model in ours)])
    fold = held_out(dataset, metric)
    with errors.status("Searching"):
        search, fold = time_search(fold, neighbors)
    sized = sizes(fold, neighbors)
    facts = {"data": dataset.source or data, **sized, "load, s": seconds_to_load, **search}
    timed = [time_method(name, model, fold) for name, model in models.items()]
    if chosen.json:
        print_json({**facts, "methods": [each._asdict() for each in timed], "machine": machine()})
        return
    print_facts(f"Search on {machine()['cpu']}", facts)
    cells = [(each.method, each.fit, each.predict, each.fit + each.predict) for each in timed]
    title = "Methods, in seconds without the search above"
    print_table(title, ["method", "fit", "predict", "both"], cells)


HELD_OUT = 5
"""Without a published split, every row with a number divisible by this is held out as a query."""
SINGLE = 500
"""Number of queries that are timed one by one."""


class MethodTime(NamedTuple):
    """The time that one method takes, in seconds."""

    method: str
    fit: float
    predict: float


def held_out(dataset: "Dataset", metric: str) -> "Fold":
    """Return the published split, or one made here, without neighbours; dense rows are scaled."""
    import numpy as np
    from scipy import sparse

    from vicinal.preprocess import make_steps
    from vicinal.selection.folds import Folds
    from vicinal.selection.grid import Search
    from vicinal.selection.stratification import Split

    train, test = dataset.train, dataset.test
    if train is None or test is None:
        ids = np.arange(dataset.n_rows)
        train, test = ids[ids % HELD_OUT != 0], ids[ids % HELD_OUT == 0]
    if len(train) < 2 or len(test) == 0:
        expected = "at least two training rows and one test row"
        raise InvalidArgumentError("DATA", expected, f"{dataset.n_rows} rows")
    steps = make_steps("auto", sparse.issparse(dataset.X))
    folds = Folds(dataset.X, dataset.Y, [Split(train, test)], {}, None, steps)
    return folds.fold(0, Search(metric))


def sizes(fold: "Fold", neighbors: int) -> dict[str, object]:
    """Return the sizes that the times depend on."""
    from vicinal._core.threads import thread_count

    return {
        "rows searched": fold.training.n_rows,
        "queries": fold.X.shape[0],
        "features": fold.X.shape[1],
        "labels": fold.Y.shape[1],
        "neighbours": neighbors,
        "metric": fold.graph.metric,
        "threads": thread_count(),
    }


def time_search(fold: "Fold", k: int) -> "tuple[dict[str, object], Fold]":
    """Time the index, a batch of queries, single queries and the graph of the training rows."""
    import numpy as np

    from vicinal.index import build_index
    from vicinal.methods.training import Training

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


def time_single_queries(index: "Index", rows: "Features", k: int) -> Sequence[float]:
    """Return the milliseconds of each query on its own, after one query to warm up."""
    index.query(rows[:1], k)
    spent = []
    for at in range(rows.shape[0]):
        query = rows[at : at + 1]
        began = time.perf_counter()
        index.query(query, k)
        spent.append(1000 * (time.perf_counter() - began))
    return spent


def time_method(name: str, model: Any, fold: "Fold") -> MethodTime:
    """Time the fit and the prediction of a method, with the fold's graphs if it uses neighbours."""
    from vicinal.methods import NeighborEstimator
    from vicinal.methods.fold import fit_on

    with errors.status(f"Timing {name}"):
        began = time.perf_counter()
        fit_on(model, fold)
        fitted = time.perf_counter()
        if isinstance(model, NeighborEstimator):
            model.predict(fold.X, graph=fold.graph if model.needed_neighbors() else None)
        else:
            model.predict(fold.X)
        return MethodTime(name, fitted - began, time.perf_counter() - fitted)
