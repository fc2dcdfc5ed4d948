"""``vicinal predict``: predict labels for the rows of a file."""

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, cast

import typer

from vicinal._core.progress import part
from vicinal.cli.options import (
    ImportOption,
    ModelArgument,
    RowsOption,
    TableChoice,
    import_modules,
    reads_tables,
)
from vicinal.cli.output import JsonFlag, check_target, dump_json, print_json, say, visible
from vicinal.errors import InvalidArgumentError, MissingExtraError

if TYPE_CHECKING:
    from vicinal._core.arrays import Features
    from vicinal.cli.data_source import Source
    from vicinal.methods import NeighborEstimator
    from vicinal.methods.pipeline import Model
    from vicinal.scores import Scores


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
    from vicinal._core.progress import shown
    from vicinal.cli.data_source import new_blocks

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
    from vicinal.methods.pipeline import estimator_of

    estimator = estimator_of(model)
    for start, source, scores in scored_blocks(model, sources):
        yield from predictions(estimator, scores, source.row_names, top, start)


class Prediction(NamedTuple):
    """The prediction of one row.

    ``scores`` lists the best labels first, then the predicted labels that are not among them.
    """

    row: str | int
    labels: list[str]
    scores: dict[str, float]

    def as_json(self) -> str:
        """Return one JSON line."""
        return dump_json(self._asdict())

    def as_line(self) -> str:
        """Return one line for people to read."""
        cells = (str(self.row), ", ".join(self.labels) or "(none)", f"[{self.best}]")
        return "\t".join(map(visible, cells))

    @property
    def best(self) -> str:
        """The labels and their scores, as text."""
        return ", ".join(f"{label} {value:.2f}" for label, value in self.scores.items())


def predictions(
    estimator: "NeighborEstimator",
    scores: "Scores",
    names: tuple[str, ...] | None,
    top: int,
    start: int = 0,
) -> Iterator[Prediction]:
    """Yield the prediction of each row, with the scores of its labels and of the `top` best.

    `names` are the names of these rows; without names, the first row has number `start`.
    """
    from vicinal.methods._formulas import cells

    decided = estimator.decide(scores)
    ids, values = scores.top(top)
    label_names = estimator.label_names_
    for row in range(scores.shape[0]):
        labels = decided.indices[decided.indptr[row] : decided.indptr[row + 1]]
        scored = dict(zip(ids[row].tolist(), values[row].tolist(), strict=True))
        more = [label for label in labels.tolist() if label not in scored]
        scored |= dict(zip(more, cells(scores, row, more).tolist(), strict=True))
        yield Prediction(
            start + row if names is None else names[row],
            [label_names[label] for label in labels],
            {label_names[label]: round(value, 6) for label, value in scored.items()},
        )


COLUMNS = ("row", "labels", "label_scores", "best", "best_scores")
"""Columns of a table of predictions: the predicted labels and their scores, then the best labels
and theirs."""
DELIMITERS = {".csv": ",", ".tsv": "\t"}
SEPARATORS = (";", "|", ",")
GROUP_ROWS = 10_000
"""Rows of a Parquet file that are written at a time."""
Writer = Callable[[Iterable[Prediction], Path], int]
"""Writes predictions to a file and returns how many there were."""


def answer_writer(path: Path) -> Writer:
    """Return the function that writes predictions in the format of a file extension."""
    ending = path.suffix.lower()
    if ending in (".jsonl", ".ndjson"):
        return _write_json_lines
    if ending in DELIMITERS:
        return _write_csv
    if ending == ".parquet":
        _check_pyarrow()
        return _write_parquet
    known = "a name that ends in .jsonl, .csv, .tsv or .parquet"
    raise InvalidArgumentError("--output", known, repr(str(path)))


def _write_json_lines(answers: Iterable[Prediction], path: Path) -> int:
    """Write one JSON object per line."""
    from vicinal.datasets.files import write_data

    count = CountedRows(answers)
    write_data(path, (answer.as_json() + "\n" for answer in count))
    return count.n_rows


def _write_csv(answers: Iterable[Prediction], path: Path) -> int:
    """Write one line per row; with a byte order mark, so that Excel reads UTF-8."""
    from vicinal.datasets.files import write_data

    count = CountedRows(answers)
    write_data(path, _csv_lines(count, DELIMITERS[path.suffix.lower()]))
    return count.n_rows


def _csv_lines(answers: Iterable[Prediction], delimiter: str) -> Iterator[str]:
    """Yield the lines of a table."""
    line = io.StringIO(newline="")
    writer = csv.writer(line, delimiter=delimiter)
    writer.writerow(COLUMNS)
    yield "\ufeff" + line.getvalue()
    for answer in answers:
        line.seek(0)
        line.truncate()
        row, labels, scores, best, best_scores = table_cells(answer)
        lists: list[Sequence[object]] = [labels, scores, best, best_scores]
        writer.writerow([row, *map(joined, lists)])
        yield line.getvalue()


def _write_parquet(answers: Iterable[Prediction], path: Path) -> int:
    """Write one row per prediction, labels and scores as lists. Memory: :data:`GROUP_ROWS` rows."""
    import pyarrow as pa
    from pyarrow import parquet

    from vicinal._core.files import replacing

    remaining = iter(answers)
    group = list(islice(remaining, GROUP_ROWS))
    is_named = bool(group) and isinstance(group[0].row, str)
    words, numbers = pa.list_(pa.string()), pa.list_(pa.float64())
    kinds = (pa.string() if is_named else pa.int64(), words, numbers, words, numbers)
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    n_rows = 0
    with replacing(path) as beside, parquet.ParquetWriter(str(beside), schema) as writer:
        while group:
            columns = zip(*map(table_cells, group), strict=True)
            values = {name: list(column) for name, column in zip(COLUMNS, columns, strict=True)}
            writer.write_table(pa.Table.from_pydict(values, schema))
            n_rows += len(group)
            group = list(islice(remaining, GROUP_ROWS))
    return n_rows


class CountedRows:
    """Predictions that are counted as they pass."""

    def __init__(self, answers: Iterable[Prediction]) -> None:
        self._answers = answers
        self.n_rows = 0

    def __iter__(self) -> Iterator[Prediction]:
        """Yield the predictions."""
        for answer in self._answers:
            self.n_rows += 1
            yield answer


def table_cells(
    answer: Prediction,
) -> tuple[str | int, list[str], list[float], list[str], list[float]]:
    """Return the cells of one row of a table.

    Examples
    --------
    >>> table_cells(Prediction("r1", ["a"], {"b": 0.9, "a": 0.8}))
    ('r1', ['a'], [0.8], ['b', 'a'], [0.9, 0.8])
    """
    own = [answer.scores[label] for label in answer.labels]
    return answer.row, answer.labels, own, list(answer.scores), list(answer.scores.values())


def joined(values: Sequence[object]) -> str:
    """Return a list as one cell: joined by a separator that no value contains, else as JSON.

    Examples
    --------
    >>> joined(["a", "b"]), joined(["a;b", "c"]), joined([0.5, 1.0])
    ('a;b', 'a;b|c', '0.5;1.0')
    """
    texts = [str(value) for value in values]
    for separator in SEPARATORS:
        if not any(separator in text for text in texts):
            return separator.join(texts)
    return json.dumps(texts, ensure_ascii=False)


def _check_pyarrow() -> None:
    """Raise an error that names the extra for Parquet, before any work is done."""
    try:
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("pyarrow", "frames") from None
    del pa


def load_model(path: Path) -> "Model":
    """Return a saved model, for rows whose columns :func:`rows_for` puts in its order."""
    from vicinal.methods import load
    from vicinal.methods.pipeline import ordered_by_name

    return ordered_by_name(load(path))


class ScoredRows(NamedTuple):
    """Some rows with their scores; `start` is the number of the first of them."""

    start: int
    source: "Source"
    scores: "Scores"


def scored_blocks(model: "Model", sources: "Iterable[Source]") -> Iterator[ScoredRows]:
    """Yield blocks of rows with their scores, all by the current version of the model.

    Memory: one block.
    """
    from vicinal.methods import prepared
    from vicinal.methods.pipeline import estimator_of

    estimator = estimator_of(model).snapshot()
    start = 0
    with part("Predicting rows") as advance:
        for source in sources:
            if not source.n_rows:  # a file of a header only
                continue
            X, _ = prepared(model, rows_for(model, source))
            yield ScoredRows(start, source, estimator.scores(X))
            start += source.n_rows
            advance(source.n_rows)


def save_named(model: "Model", source: "Source", path: Path) -> None:
    """Save a model with the names of its training columns, if they have names."""
    from sklearn.pipeline import Pipeline

    from vicinal.methods.pipeline import named_pipeline

    steps = model.steps if isinstance(model, Pipeline) else [("estimator", model)]
    named_pipeline(steps, source.columns, source.reading).save(path)


def rows_for(model: "Model", source: "Source") -> object:
    """Return the rows of a source with the columns of a model, matched by name."""
    from scipy import sparse
    from sklearn.pipeline import Pipeline

    from vicinal.methods.pipeline import estimator_of
    from vicinal.preprocess import MinMax

    X = source.X
    columns: tuple[str, ...] | None = getattr(model, "columns_", None)
    if columns is not None and source.columns is not None:
        X = in_order(cast("Any", X), source.columns, columns, estimator_of(model).label_names_)
    if sparse.issparse(X) and isinstance(model, Pipeline):
        scale = model.steps[0][1]
        # A file of few rows may look sparse although the training data did not.
        if isinstance(scale, MinMax) and not scale.keeps_zeros:
            return cast("Any", X).toarray()
    return X


def in_order(
    X: "Features", names: Sequence[str], wanted: Sequence[str], labels: Sequence[str]
) -> "Features":
    """Return the `wanted` columns of `X`; the other columns in `names` must be labels.

    Examples
    --------
    >>> import numpy as np
    >>> in_order(np.array([[1, 2, 3]]), ["sad", "b", "a"], ["a", "b"], labels=["sad"])
    array([[3, 2]])
    """
    place = {name: column for column, name in enumerate(names)}
    if tuple(names) == tuple(wanted) or len(set(wanted)) < len(wanted):
        return X
    missing = [name for name in wanted if name not in place]
    further = [name for name in names if name not in {*wanted, *labels}]
    if missing or further or len(place) < len(names):
        got = f"no {missing[0]!r}" if missing else f"{(*further, *names)[0]!r} too"
        raise InvalidArgumentError("columns", f"the {len(wanted)} features of the model", got)
    return X[:, [place[name] for name in wanted]]
