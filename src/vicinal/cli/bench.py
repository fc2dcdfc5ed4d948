"""``vicinal bench``: measure the speed on this machine and a data set."""

import time
from typing import Annotated, Any

import typer

from vicinal.cli.imports import import_modules
from vicinal.cli.options import METHODS, DataArgument, ImportOption
from vicinal.cli.output import JsonFlag, errors, print_facts, print_json, print_table
from vicinal.cli.table_options import TableChoice, reads_tables


@reads_tables
def bench(
    data: DataArgument = "debtags",
    methods: Annotated[
        str,
        typer.Option(
            help=f"quick, all, or separated by commas: {METHODS}; "
            "module:Class for any multi-label classifier."
        ),
    ] = "quick",
    neighbors: Annotated[int, typer.Option(help="Number of neighbours.", min=1)] = 10,
    metric: Annotated[
        str,
        typer.Option(
            help="Distance: euclidean, cosine, dot; auto: cosine if sparse, else euclidean."
        ),
    ] = "auto",
    imports: ImportOption = None,
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Time loading, searching and every method on your machine."""
    from scipy import sparse

    from vicinal._base.validation import check_option
    from vicinal.cli.source import whole_dataset
    from vicinal.cli.timing import held_out, sizes, time_method, time_search
    from vicinal.distances import COSINE, EUCLIDEAN, distance_names
    from vicinal.results import machine

    words = methods.split(",")
    import_modules(imports, words)
    models = _models(words, neighbors)
    check_option("--metric", metric, ("auto", *distance_names()))
    with errors.status(f"Loading {data}"):
        began = time.perf_counter()
        dataset = whole_dataset(data, table)
        seconds_to_load = time.perf_counter() - began
    if metric == "auto":
        metric = (COSINE if sparse.issparse(dataset.X) else EUCLIDEAN).name
    neighbors = max(neighbors, *(_needed_neighbors(model) for model in models.values()))
    fold = held_out(dataset, metric)
    with errors.status("Searching"):
        search, fold = time_search(fold, neighbors)
    facts = {
        "data": dataset.source or data,
        **sizes(fold, neighbors),
        "load, s": seconds_to_load,
        **search,
    }
    timed = [time_method(name, model, fold) for name, model in models.items()]
    if json:
        print_json({**facts, "methods": [each.__dict__ for each in timed], "machine": machine()})
        return
    print_facts(f"Search on {machine()['cpu']}", facts)
    cells = [(each.method, each.fit, each.predict, each.fit + each.predict) for each in timed]
    title = "Methods, in seconds without the search above"
    print_table(title, ["method", "fit", "predict", "both"], cells)


def _models(words: list[str], neighbors: int) -> dict[str, Any]:
    """Return the estimators to time, by method."""
    from vicinal.cli.settings import make_estimator, method_words, neighbor_settings

    return {
        name: make_estimator(name, neighbor_settings(name, neighbors), "--methods")
        for name in method_words(words)
    }


def _needed_neighbors(model: object) -> int:
    """Return how many neighbours a model uses; 0 for an estimator of another library."""
    needed = getattr(model, "needed_neighbors", None)
    return 0 if needed is None else int(needed())
