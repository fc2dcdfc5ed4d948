"""``vicinal predict``: labels for the rows of a file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from vicinal.cli.imports import import_modules
from vicinal.cli.options import ImportOption, ModelArgument, RowsOption
from vicinal.cli.output import JsonFlag, check_target, print_json, say
from vicinal.cli.table_options import TableChoice, reads_tables


@reads_tables
def predict(
    model: ModelArgument,
    file: Annotated[str, typer.Argument(help="A data file, or a data set by name.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Write to this .jsonl, .csv, .tsv or .parquet file."),
    ] = None,
    top: Annotated[int, typer.Option(help="Best labels to show with their scores.", min=1)] = 5,
    rows: RowsOption = "all",
    imports: ImportOption = None,
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Predict the labels of each row: the set decided on, and the best labels with scores."""
    from vicinal.cli.answer_files import answer_writer
    from vicinal.cli.answers import predictions
    from vicinal.cli.scoring import score
    from vicinal.cli.source import new_source
    from vicinal.estimators import load as load_model

    check_target("--output", output)
    write = None if output is None else answer_writer(output)
    import_modules(imports)
    fitted = load_model(model)
    source = new_source(fitted, file, rows, "all", table, labelled=False)
    estimator, scores = score(fitted, source)
    answers = predictions(estimator, scores, source.row_names, top)
    if output is not None and write is not None:
        write(answers, output)
        say(f"{source.n_rows:,} rows predicted, written to {output}")
        return
    for answer in answers:
        if json:
            print_json(answer._asdict())
        else:
            sys.stdout.write(answer.as_line() + "\n")
