"""``vicinal measure``: compute further metrics of a comparison without running it again."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli.options import CommonOptions, option, with_options
from vicinal.cli.output import print_json, print_table, say
from vicinal.errors import InvalidArgumentError

if TYPE_CHECKING:
    from vicinal.comparison.kept_scores import ScoreStore
    from vicinal.results import Result

StoreArgument = Annotated[
    Path, typer.Argument(metavar="STORE", help="Results file of compare --store --keep-scores.")
]


class MeasureOptions(CommonOptions):
    """The options of ``vicinal measure``."""

    metrics: str = option(
        "Metrics to compute, separated by commas; module:variable for your own.", default=""
    )
    curves: Path | None = option(
        "Folder for precision-recall, ROC and reliability curves, one per data set."
    )
    labels: Path | None = option("Folder for tables with the metrics of each label, as CSV.")


@with_options
def measure(store: StoreArgument, chosen: MeasureOptions) -> None:
    """Compute further metrics from the scores that a comparison kept; add them to the store."""
    from vicinal.comparison.kept_scores import ScoreStore, measure_results
    from vicinal.metrics import metric_info
    from vicinal.results import ResultStore

    if not store.is_file():
        hint = "vicinal compare --store FILE --keep-scores writes one"
        raise InvalidArgumentError("STORE", "an existing results file", repr(str(store)), hint)
    if not chosen.metrics and chosen.curves is None and chosen.labels is None:
        raise InvalidArgumentError("--metrics", "metrics, --curves or --labels", "none of them")
    words = chosen.metrics.split(",") if chosen.metrics else []
    chosen.import_modules(words)
    asked = [metric_info(name).name for name in words]
    kept, results = ScoreStore(store), ResultStore(store)
    known = [each for each in results.read() if each.experiment.startswith("compare")]
    measured = measure_results(known, kept, asked) if asked else known
    for before, after in zip(known, measured, strict=True):
        if before.values != after.values:
            results.add(after)
    if chosen.json:
        print_json([_facts(each, asked) for each in measured])
    elif asked:
        rows = [[each.data, each.method, *_cells(each, asked)] for each in measured]
        print_table(f"{store.name}", ["data", "method", *asked], rows)
    if chosen.curves is not None:
        _draw(known, kept, chosen.curves)
    if chosen.labels is not None:
        _write_tables(known, kept, chosen.labels)


def _facts(result: "Result", metrics: list[str]) -> dict[str, object]:
    """Return the values of a result as plain values."""
    values = {name: list(result.values[name]) for name in metrics if name in result.values}
    return {"data": result.data, "method": result.method, "seed": result.seed, "values": values}


def _cells(result: "Result", metrics: list[str]) -> list[object]:
    """Return mean ± standard deviation of each metric."""
    return [
        f"{result.mean(name):.4f} ± {result.deviation(name):.4f}" if name in result.values else "–"
        for name in metrics
    ]


def _draw(results: "list[Result]", kept: "ScoreStore", folder: Path) -> None:
    """Draw the curves of the methods on each data set, all folds of the first seed together."""
    import numpy as np
    from scipy import sparse

    from vicinal.report.curves import plot_curves
    from vicinal.scores import Scores

    folder.mkdir(parents=True, exist_ok=True)
    for data in dict.fromkeys(each.data for each in results):
        methods: dict[str, tuple[object, object]] = {}
        for result in (each for each in results if each.data == data):
            folds = list(kept.read(result))
            complete = all(fold.scores is not None and fold.top is None for fold in folds)
            if result.method not in methods and complete:
                truth = sparse.vstack([fold.truth for fold in folds], format="csr")
                blocks = [fold.scores for fold in folds if fold.scores is not None]
                same = all((block.base == blocks[0].base).all() for block in blocks)
                # At most 1,000 labels have all their scores kept: 8 bytes per row and label.
                dense = None if same else np.concatenate([block.toarray() for block in blocks])
                methods[result.method] = truth, Scores.stack(blocks) if same else dense
        if methods:
            path = folder / f"{_file_name(data)}.png"
            plot_curves(methods, path, data)
            say(f"Curves of {data} written to {path}")


def _file_name(name: str) -> str:
    """Return a name without characters that a file name cannot have on some systems."""
    return re.sub(r'[\s<>:"/\\|?*]+', "-", name)


def _write_tables(results: "list[Result]", kept: "ScoreStore", folder: Path) -> None:
    """Write the metrics of each label, over all folds together."""
    from scipy import sparse

    from vicinal.metrics import label_table

    folder.mkdir(parents=True, exist_ok=True)
    for result in results:
        folds = list(kept.read(result))
        truth = sparse.vstack([fold.truth for fold in folds], format="csr")
        predicted = sparse.vstack([fold.labels for fold in folds], format="csr")
        names = result.label_names or None
        path = folder / f"{_file_name(f'{result.data}-{result.method}')}-{result.seed}.csv"
        label_table(truth, predicted, label_names=names).to_csv(path)
        say(f"Labels of {result.method} on {result.data} written to {path}")
