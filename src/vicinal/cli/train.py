"""``vicinal train``: train a model on a data set and save it."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from vicinal._base.progress import part, shown
from vicinal.cli.imports import import_modules
from vicinal.cli.options import (
    DataArgument,
    ImportOption,
    MethodOption,
    PreprocessOption,
    RowsOption,
)
from vicinal.cli.output import JsonFlag, print_facts, print_json
from vicinal.cli.table_options import TableChoice, reads_tables

if TYPE_CHECKING:
    from vicinal.cli.source import Source
    from vicinal.index import SegmentedIndex


@reads_tables
def train(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to save the model in.")],
    method: MethodOption = "blend",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, as name=value; repeatable.")
    ] = None,
    preprocess: PreprocessOption = "auto",
    rows: RowsOption = "auto",
    imports: ImportOption = None,
    out_of_core: Annotated[
        Path | None,
        typer.Option(
            help="Folder for data larger than memory: DATA (extreme-classification text, JSONL, "
            "CSV, TSV or Parquet) is streamed to it, then searched within --max-memory."
        ),
    ] = None,
    max_memory: Annotated[
        float, typer.Option(help="GB of memory for the search with --out-of-core.")
    ] = 1.0,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler; its workers do the search.")
    ] = None,
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Train a model on a data set and save it.

    The default method, blend, combines neighbours and linear models and needs no tuning.
    """
    from vicinal.cli.scoring import save_named
    from vicinal.cli.searching import searching
    from vicinal.cli.settings import check_saveable, make_estimator, parse_settings
    from vicinal.estimators import Pipeline
    from vicinal.persistence.folder import check_replaceable

    check_replaceable(output)
    import_modules(imports, [method])
    check_saveable("--method", [method])
    estimator = make_estimator(method, parse_settings(settings or []))
    began = time.perf_counter()
    source, steps, streamed = _training_rows(
        data, rows, out_of_core, table, preprocess, estimator, max_memory
    )
    if out_of_core is None:
        began = time.perf_counter()
    model = Pipeline([*steps, ("estimator", estimator)])
    with (
        shown(),
        searching(estimator, streamed, cluster),
        part(f"Learning from {source.n_rows:,} rows"),
    ):
        # Streamed rows are preprocessed already.
        learner = model if out_of_core is None else estimator
        names = {"label_names": source.label_names, "row_names": source.row_names}
        learner.fit(source.X, source.labels(), **names)
    seconds = time.perf_counter() - began
    save_named(model, source, output)
    facts = {
        "data": source.name,
        "rows": source.n_rows,
        "features": estimator.n_features_in_,
        "labels": len(source.label_names),
        "model": " → ".join(" ".join(repr(step).split()) for _, step in model.steps),
        "seconds to fit": seconds,
        "saved in": str(output),
    }
    if json:
        print_json(facts)
    else:
        print_facts("Trained", facts)


def _training_rows(
    data: str,
    rows: str,
    folder: Path | None,
    table: TableChoice,
    preprocess: str,
    estimator: Any,
    max_memory: float,
) -> "tuple[Source, list[tuple[str, Any]], SegmentedIndex | None]":
    """Return the training rows and the preprocessing steps; with a folder, rows are streamed.

    The third result is the index of streamed rows.
    """
    from vicinal.cli.source import training_source

    if folder is None:
        return *training_source(data, rows, table, preprocess), None
    from vicinal.cli.out_of_core import streamed_source

    with shown():
        return streamed_source(data, folder, table, preprocess, estimator, max_memory)
