"""``vicinal predict``: predict labels for the rows of a file."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vicinal.cli.imports import import_modules
from vicinal.cli.options import ImportOption, ModelArgument, RowsOption
from vicinal.cli.output import JsonFlag, check_target, print_json, say
from vicinal.cli.table_options import TableChoice, reads_tables

if TYPE_CHECKING:
    from vicinal.cli.answers import Prediction
    from vicinal.cli.source import Source
    from vicinal.estimators.model import Model


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
    """Predict the labels of each row, and show the best labels with their scores."""
    from vicinal._base.progress import shown
    from vicinal.cli.answer_files import answer_writer
    from vicinal.cli.scoring import load_model
    from vicinal.cli.source_blocks import new_blocks

    check_target("--output", output)
    write = None if output is None else answer_writer(output)
    import_modules(imports)
    fitted = load_model(model)
    with shown(), new_blocks(fitted, file, rows, "all", table, labelled=False) as sources:
        answers = _answers(fitted, sources, top)
        if output is not None and write is not None:
            n_rows = write(answers, output)
            say(f"{n_rows:,} rows predicted, written to {output}")
            return
        for answer in answers:
            if json:
                print_json(answer._asdict())
            else:
                sys.stdout.write(answer.as_line() + "\n")


def _answers(model: "Model", sources: "Iterable[Source]", top: int) -> "Iterator[Prediction]":
    """Yield the predictions of rows that are read and scored in blocks."""
    from vicinal.cli.answers import predictions
    from vicinal.cli.scoring import scored_blocks
    from vicinal.estimators.model import estimator_of

    estimator = estimator_of(model)
    for start, source, scores in scored_blocks(model, sources):
        yield from predictions(estimator, scores, source.row_names, top, start)
