"""``vicinal predict``: labels for the rows of a file."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from vicinal.cli.output import JsonFlag, check_target, dump_json, say
from vicinal.cli.scoring import ModelArgument, score
from vicinal.cli.source import RowsOption, new_source
from vicinal.cli.table_options import TableChoice, reads_tables
from vicinal.estimators import NeighborEstimator
from vicinal.estimators import load as load_model
from vicinal.scores import Scores


@reads_tables
def predict(
    model: ModelArgument,
    file: Annotated[str, typer.Argument(help="A data file, or a data set by name.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write JSON lines to this file.")
    ] = None,
    top: Annotated[int, typer.Option(help="Best labels to show with their scores.", min=1)] = 5,
    rows: RowsOption = "all",
    json: JsonFlag = False,
    *,
    table: TableChoice,
) -> None:
    """Predict the labels of each row: the set decided on, and the best labels with scores."""
    check_target("--output", output)
    fitted = load_model(model)
    source = new_source(fitted, file, rows, "all", table, labelled=False)
    estimator, scores = score(fitted, source)
    answers = predictions(estimator, scores, source.row_names, top)
    if output is not None:
        with output.open("w", encoding="utf-8") as stream:
            stream.writelines(answer.as_json() + "\n" for answer in answers)
        say(f"{source.n_rows:,} rows predicted, written to {output}")
        return
    for answer in answers:
        sys.stdout.write((answer.as_json() if json else answer.as_line()) + "\n")


class Prediction(NamedTuple):
    """What a model says of one row."""

    row: str | int
    labels: list[str]
    scores: dict[str, float]

    def as_json(self) -> str:
        """Return one JSON line."""
        return dump_json(self._asdict())

    def as_line(self) -> str:
        """Return one line for a person."""
        return f"{self.row}\t{', '.join(self.labels) or '(none)'}\t[{self.best}]"

    @property
    def best(self) -> str:
        """The best labels with their scores, as text."""
        return ", ".join(f"{label} {value:.2f}" for label, value in self.scores.items())


def predictions(
    estimator: NeighborEstimator, scores: Scores, names: tuple[str, ...] | None, top: int
) -> Iterator[Prediction]:
    """Yield for each row its name, the labels decided on and the best labels with their scores."""
    decided = estimator.decision_.decide(scores)
    ids, values = scores.top(top)
    label_names = estimator.label_names_
    for row in range(scores.shape[0]):
        labels = decided.indices[decided.indptr[row] : decided.indptr[row + 1]]
        best = zip(ids[row], values[row], strict=True)
        yield Prediction(
            row if names is None else names[row],
            [label_names[label] for label in labels],
            {label_names[label]: round(float(value), 6) for label, value in best},
        )
