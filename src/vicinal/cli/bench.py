"""``vicinal bench``: how fast it is here, on this machine and these data."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
import typer
from scipy import sparse

from vicinal._base.arrays import Features
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.threads import thread_count
from vicinal._base.validation import check_option
from vicinal.cli.contestants import NEIGHBORS, contestants, parameters
from vicinal.cli.output import JsonFlag, errors, print_facts, print_json, print_table
from vicinal.cli.source import whole_dataset
from vicinal.cli.table_options import TableChoice, reads_tables
from vicinal.comparison.folds import PreparedFold, prepare
from vicinal.datasets import Dataset
from vicinal.distances import COSINE, EUCLIDEAN, distance_names
from vicinal.estimators import METHODS, NeighborEstimator
from vicinal.graph import NeighborGraph
from vicinal.index import Index, build_index
from vicinal.results import machine

QUICK = ("brknn", "lpknn", "mlknn", "instance-knn", "feature-knn", "lcif")
"""Methods that need no score for every row and label."""
HELD_OUT = 5
"""Without a published split, every so-many-th row is asked for."""
SINGLE = 500
"""Queries asked one by one."""


@reads_tables
def bench(
    data: Annotated[str, typer.Argument(help="A data set by name, or a file.")] = "debtags",
    methods: Annotated[
        str, typer.Option(help=f"Separated by commas, of: {', '.join(METHODS)}; or all.")
    ] = ",".join(QUICK),
    neighbors: Annotated[int, typer.Option(help="Neighbours to search.", min=1)] = 10,
    metric: Annotated[
        str, typer.Option(help="euclidean, cosine, dot; auto: cosine if sparse, else euclidean.")
    ] = "auto",
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Time loading, search and every method on your machine, from one search."""
    names = list(METHODS) if methods == "all" else methods.split(",")
    for name in names:
        check_option("--methods", name, tuple(METHODS))
    models = contestants(names, dict.fromkeys(_neighbor_names(names), neighbors))
    check_option("--metric", metric, ("auto", *distance_names()))
    with errors.status(f"Loading {data}"):
        began = time.perf_counter()
        dataset = whole_dataset(data, table)
        seconds_to_load = time.perf_counter() - began
    rows = held_out(dataset)
    if metric == "auto":
        metric = (COSINE if sparse.issparse(rows.X) else EUCLIDEAN).name
    with errors.status("Searching"):
        search, graphs = time_search(rows, metric, neighbors)
    facts = {
        "data": dataset.source or data,
        **sizes(rows, neighbors, metric),
        "load, s": seconds_to_load,
        **search,
    }
    timed = [time_method(name, model, rows, graphs) for name, model in models.items()]
    if json:
        print_json({**facts, "methods": [each.__dict__ for each in timed], "machine": machine()})
        return
    print_facts(f"Search on {machine()['cpu']}", facts)
    cells = [(each.method, each.fit, each.predict, each.fit + each.predict) for each in timed]
    title = "Methods from the graphs above, seconds"
    print_table(title, ["method", "fit", "predict", "both"], cells)


@dataclass(frozen=True)
class MethodTime:
    """Seconds of one method."""

    method: str
    fit: float
    predict: float


def held_out(dataset: Dataset) -> PreparedFold:
    """Return the published split, or some rows held out; dense features min-max scaled."""
    train, test = dataset.train, dataset.test
    if train is None or test is None:
        ids = np.arange(dataset.n_rows)
        train, test = ids[ids % HELD_OUT != 0], ids[ids % HELD_OUT == 0]
    if len(train) < 2 or len(test) == 0:
        raise InvalidArgumentError("DATA", "rows to learn from and to ask for", dataset.n_rows)
    return prepare(dataset, train, test, "auto")


def sizes(rows: PreparedFold, neighbors: int, metric: str) -> dict[str, object]:
    """Return what the times depend on."""
    return {
        "rows searched": rows.X.shape[0],
        "rows asked for": rows.X_test.shape[0],
        "features": rows.X.shape[1],
        "labels": rows.Y.shape[1],
        "neighbours": neighbors,
        "metric": metric,
        "threads": thread_count(),
    }


def time_search(
    rows: PreparedFold, metric: str, k: int
) -> tuple[dict[str, object], tuple[NeighborGraph, NeighborGraph]]:
    """Time the index, a batch of queries, single queries and the graph of the rows themselves."""
    began = time.perf_counter()
    index = build_index(rows.X, metric)
    built = time.perf_counter()
    asked = index.query(rows.X_test, k)
    answered = time.perf_counter()
    among = index.query_self(k)
    ended = time.perf_counter()
    single = time_single_queries(index, rows.X_test[:SINGLE], k)
    facts: dict[str, object] = {
        "build the index, s": built - began,
        "batch search, ms a query": 1000 * (answered - built) / max(asked.n_queries, 1),
        "single query, ms, median": float(np.percentile(single, 50)),
        "single query, ms, 99th percentile": float(np.percentile(single, 99)),
        "graph of the rows, s": ended - answered,
    }
    return facts, (among, asked)


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


def time_method(
    name: str,
    model: NeighborEstimator,
    rows: PreparedFold,
    graphs: tuple[NeighborGraph, NeighborGraph],
) -> MethodTime:
    """Time a method on ready graphs."""
    with errors.status(f"Timing {name}"):
        began = time.perf_counter()
        model.fit(rows.X, rows.Y, graph=graphs[0])
        fitted = time.perf_counter()
        model.predict(rows.X_test, graph=graphs[1])
        return MethodTime(name, fitted - began, time.perf_counter() - fitted)


def _neighbor_names(methods: Sequence[str]) -> list[str]:
    """Return what the methods call their numbers of neighbours."""
    known = {name for each in methods if each in METHODS for name in parameters(each)}
    return [name for name in NEIGHBORS if name in known]
