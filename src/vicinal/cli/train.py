"""``vicinal train``: from a data set to a saved model."""

import time
from pathlib import Path
from typing import Annotated

import typer
from scipy import sparse

from vicinal import estimators
from vicinal.cli.output import JsonFlag, print_facts, print_json
from vicinal.cli.settings import make_estimator, make_model, make_steps, parse_settings
from vicinal.cli.source import DataArgument, RowsOption, choose_rows
from vicinal.datasets import load


def train(
    data: DataArgument,
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to save the model in.")],
    method: Annotated[str, typer.Option(help="brknn or mlknn.")] = "mlknn",
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="A parameter, as name=value; repeatable.")
    ] = None,
    preprocess: Annotated[
        str, typer.Option(help="none, or steps separated by commas; auto: minmax if dense.")
    ] = "auto",
    rows: RowsOption = "auto",
    json: JsonFlag = False,
) -> None:
    """Learn from a data set and save the model."""
    estimator = make_estimator(method, parse_settings(settings or []))
    dataset = choose_rows(load(data), rows, auto="train")
    model = make_model(make_steps(preprocess, sparse.issparse(dataset.X)), estimator)
    began = time.perf_counter()
    model.fit(dataset.X, dataset.Y, estimator__label_names=dataset.label_names)
    seconds = time.perf_counter() - began
    estimators.save(model, output)
    facts = {
        "data": dataset.source or data,
        "rows": dataset.n_rows,
        "features": dataset.n_features,
        "labels": dataset.n_labels,
        "model": " → ".join(repr(step) for _, step in model.steps),
        "seconds to fit": seconds,
        "saved in": str(output),
    }
    if json:
        print_json(facts)
    else:
        print_facts("Trained", facts)
