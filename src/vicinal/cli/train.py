"""``vicinal train``: from a data set to a saved model."""

import time
from pathlib import Path
from typing import Annotated

import typer

from vicinal import estimators
from vicinal._base.progress import part, shown
from vicinal.cli.output import JsonFlag, print_facts, print_json
from vicinal.cli.scoring import save_named
from vicinal.cli.settings import PreprocessOption, make_estimator, make_model, parse_settings
from vicinal.cli.source import DataArgument, RowsOption, training_source
from vicinal.cli.table_options import TableChoice, reads_tables
from vicinal.persistence.folder import check_replaceable

METHOD_HELP = "One of: " + ", ".join(estimators.METHODS) + "."


@reads_tables
def train(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to save the model in.")],
    method: Annotated[str, typer.Option(help=METHOD_HELP)] = "mlknn",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, as name=value; repeatable.")
    ] = None,
    preprocess: PreprocessOption = "auto",
    rows: RowsOption = "auto",
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Learn from a data set and save the model."""
    check_replaceable(output)
    estimator = make_estimator(method, parse_settings(settings or []))
    source, steps = training_source(data, rows, table, preprocess)
    model = make_model(steps, estimator)
    began = time.perf_counter()
    with shown(), part(f"Learning from {source.n_rows:,} rows"):
        model.fit(source.X, source.labels(), estimator__label_names=source.label_names)
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
