"""``vicinal predict``: labels for the rows of a file."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from vicinal.cli.imports import import_modules
from vicinal.cli.options import ImportOption, ModelArgument, NamesOption, RowsOption, TextOption
from vicinal.cli.output import JsonFlag, check_target, dump_json, print_json, say
from vicinal.cli.visible import visible

if TYPE_CHECKING:
    from vicinal.estimators import NeighborEstimator
    from vicinal.scores import Scores


def predict(
    model: ModelArgument,
    file: Annotated[str, typer.Argument(help="A data file, or a data set by name.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write JSON lines to this file.")
    ] = None,
    top: Annotated[int, typer.Option(help="Best labels to show with their scores.", min=1)] = 5,
    rows: RowsOption = "all",
    text: TextOption = "text",
    row_names: NamesOption = None,
    imports: ImportOption = None,
    json: JsonFlag = False,
) -> None:
    """Predict the labels of each row: the set decided on, and the best labels with scores."""
    from vicinal.cli.scoring import score
    from vicinal.cli.source import features_source, reads_text, text_source
    from vicinal.estimators import load as load_model

    check_target("--output", output)
    import_modules(imports)
    fitted = load_model(model)
    if reads_text(fitted):
        source = text_source(file, text, None, row_names)
    else:
        source = features_source(file, rows, auto="all", unlabelled=True)
    estimator, scores = score(fitted, source)
    answers = predictions(estimator, scores, source.row_names, top)
    if output is not None:
        with output.open("w", encoding="utf-8") as stream:
            stream.writelines(answer.as_json() + "\n" for answer in answers)
        say(f"{source.n_rows:,} rows predicted, written to {output}")
        return
    for answer in answers:
        if json:
            print_json(answer._asdict())
        else:
            sys.stdout.write(answer.as_line() + "\n")


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
        cells = (str(self.row), ", ".join(self.labels) or "(none)", f"[{self.best}]")
        return "\t".join(map(visible, cells))

    @property
    def best(self) -> str:
        """The best labels with their scores, as text."""
        return ", ".join(f"{label} {value:.2f}" for label, value in self.scores.items())


def predictions(
    estimator: "NeighborEstimator", scores: "Scores", names: tuple[str, ...] | None, top: int
) -> Iterator[Prediction]:
    """Yield for each row its name, the labels decided on and the best labels with their scores."""
    decided = estimator.decide(scores)
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
