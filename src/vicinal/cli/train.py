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
    method: MethodOption = "mlknn",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, as name=value; repeatable.")
    ] = None,
    preprocess: PreprocessOption = "auto",
    rows: RowsOption = "auto",
    imports: ImportOption = None,
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Learn from a data set and save the model."""
    from vicinal.cli.scoring import save_named
    from vicinal.cli.settings import check_saveable, make_estimator, make_model, parse_settings
    from vicinal.cli.source import training_source
    from vicinal.persistence.folder import check_replaceable

    check_replaceable(output)
    import_modules(imports, [method])
    check_saveable("--method", [method])
    estimator = make_estimator(method, parse_settings(settings or []))
    source, steps = training_source(data, rows, table, preprocess)
    model = make_model(steps, estimator)
    began = time.perf_counter()
    with shown(), part(f"Learning from {source.n_rows:,} rows"):
        model.fit(
            source.X,
            source.labels(),
            estimator__label_names=source.label_names,
            estimator__row_names=source.row_names,
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
