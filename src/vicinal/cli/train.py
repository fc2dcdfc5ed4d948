"""``vicinal train``: from a data set to a saved model."""

import time
from pathlib import Path
from typing import Annotated

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
            help="Folder for rows that are larger than memory: DATA (extreme-classification text, "
            "JSONL, CSV, TSV or Parquet) is streamed to it, then searched within --max-memory."
        ),
    ] = None,
    max_memory: Annotated[
        float, typer.Option(help="GB of memory for the search, with --out-of-core.")
    ] = 1.0,
    cluster: Annotated[
        str | None, typer.Option(help="Address of a Dask scheduler whose workers search.")
    ] = None,
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Learn from a data set and save the model.

    Without --method it is the blend: neighbours and linear models, mixed without tuning.
    """
    from vicinal.cli.scoring import save_named
    from vicinal.cli.searching import searching
    from vicinal.cli.settings import check_saveable, make_estimator, make_model, parse_settings
    from vicinal.cli.source import training_source
    from vicinal.persistence.folder import check_replaceable

    check_replaceable(output)
    import_modules(imports, [method])
    check_saveable("--method", [method])
    estimator = make_estimator(method, parse_settings(settings or []))
    began = time.perf_counter()
    streamed = None
    if out_of_core is not None:
        from vicinal.cli.out_of_core import streamed_source

        with shown():
            source, steps, streamed = streamed_source(
                data, out_of_core, table, preprocess, estimator, max_memory
            )
    else:
        source, steps = training_source(data, rows, table, preprocess)
        began = time.perf_counter()
    model = make_model(steps, estimator)
    # Streamed rows have gone through the steps already, chunk by chunk.
    learner = estimator if out_of_core is not None else model
    prefix = "" if out_of_core is not None else "estimator__"
    names = {"label_names": source.label_names, "row_names": source.row_names}
    with (
        shown(),
        searching(estimator, streamed, cluster),
        part(f"Learning from {source.n_rows:,} rows"),
    ):
        learner.fit(
            source.X,
            source.labels(),
            **{f"{prefix}{key}": value for key, value in names.items()},
        )
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
