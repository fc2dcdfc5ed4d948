"""``vicinal predict``: predict labels for the rows of a file."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from vicinal._core.progress import part
from vicinal.cli.options import (
    CommonOptions,
    FileArgument,
    ModelArgument,
    RowsOption,
    TableChoice,
    option,
    with_options,
)
from vicinal.cli.output import check_target, dump_json, print_json, say, visible
from vicinal.errors import InvalidArgumentError, optional_module

if TYPE_CHECKING:
    from vicinal._core.arrays import Features
    from vicinal.cli.data_source import Source
    from vicinal.datasets.vocabulary import Vocabulary
    from vicinal.methods import NeighborEstimator
    from vicinal.methods.pipeline import Model
    from vicinal.scores import Scores


class PredictOptions(CommonOptions):
    """The options of ``vicinal predict``."""

    output: Path | None = option(
        "Write to this .jsonl, .csv, .tsv or .parquet file.", "--output", "-o"
    )
    top: int = option("Best labels to show with their scores.", default=5, min=1)
    rows: RowsOption = "all"
    keep_formulas: bool = option(
        "Write names that begin with =, +, - or @ to .csv and .tsv files as they are, although "
        "spreadsheet programs run them as formulas.",
        "--keep-formulas",
        default=False,
    )


@with_options
def predict(
    model: ModelArgument, file: FileArgument, chosen: PredictOptions, table: TableChoice
) -> None:
    """Predict the labels of each row, and show the best labels with their scores."""
    from vicinal._core.progress import shown
    from vicinal.cli.data_source import new_blocks

    check_target("--output", chosen.output)
    write = None if chosen.output is None else prediction_writer(chosen.output)
    chosen.import_modules()
    fitted = load_model(model)
    names = shown_names(fitted, table)
    with shown():
        sources = new_blocks(fitted, file, chosen.rows, "all", table, labelled=False)
        predicted = _predicted(fitted, sources, chosen.top, names)
        if chosen.output is not None and write is not None:
            n_rows = 0

            def counted() -> Iterator[PredictedRow]:
                nonlocal n_rows
                for prediction in predicted:
                    n_rows += 1
                    yield prediction

            write(counted(), chosen.output, cell_format(fitted, names, chosen.keep_formulas))
            say(f"{n_rows:,} rows predicted, written to {chosen.output}")
            return
        for prediction in predicted:
            if chosen.json:
                print_json(prediction.as_dict())
            else:
                sys.stdout.write(prediction.as_line() + "\n")


def shown_names(model: "Model", table: TableChoice) -> dict[str, str] | None:
    """Return the names of the model's labels by identifier; None without a vocabulary."""
    from vicinal.datasets.vocabulary import read_vocabulary
    from vicinal.methods.pipeline import estimator_of

    vocabulary = getattr(model, "label_vocabulary_", None)
    if table.vocabulary is not None:
        vocabulary = read_vocabulary(table.vocabulary)
    if vocabulary is None:
        return None
    first = model.steps[0][1] if hasattr(model, "steps") else None
    language = table.names_in or getattr(first, "language_", None)
    names = {label: vocabulary.name(label, language) for label in estimator_of(model).label_names_}
    return {label: name for label, name in names.items() if name is not None}


class PredictedRow(NamedTuple):
    """The prediction of one row."""

    row: str | int
    labels: list[str]
    scores: dict[str, float]
    names: dict[str, str] | None = None
    """The names of labels that are identifiers; None without a vocabulary."""

    def named(self, names: dict[str, str]) -> "PredictedRow":
        """Return the prediction with the names of its labels."""
        return self._replace(names={each: names[each] for each in self.scores if each in names})

    def as_dict(self) -> dict[str, object]:
        """Return the fields that have a value."""
        values = self._asdict()
        if self.names is None:
            del values["names"]
        return values

    def as_line(self) -> str:
        """Return one line for people to read."""
        labels = ", ".join(map(self._shown, self.labels))
        cells = (str(self.row), labels or "(none)", f"[{self.best}]")
        return "\t".join(map(visible, cells))

    def cells(self) -> tuple[str | int, list[str], list[float], list[str], list[float]]:
        """Return the row of a table."""
        own = [self.scores[label] for label in self.labels]
        return self.row, self.labels, own, list(self.scores), list(self.scores.values())

    @property
    def best(self) -> str:
        """The labels and their scores, as text."""
        return ", ".join(f"{self._shown(each)} {value:.2f}" for each, value in self.scores.items())

    def _shown(self, label: str) -> str:
        """Return the name of a label with its identifier."""
        name = None if self.names is None else self.names.get(label)
        return label if name is None or name == label else f"{name} <{label}>"


def _predicted(
    model: "Model", sources: "Iterable[Source]", top: int, names: dict[str, str] | None
) -> Iterator[PredictedRow]:
    """Yield the predictions of rows that are read and scored in blocks."""
    from vicinal.methods.pipeline import estimator_of

    estimator = estimator_of(model)
    for start, source, scores in scored_blocks(model, sources):
        for prediction in predictions(estimator, scores, source.row_names, top, start):
            yield prediction if names is None else prediction.named(names)


def predictions(
    estimator: "NeighborEstimator",
    scores: "Scores",
    names: tuple[str, ...] | None,
    top: int,
    start: int = 0,
) -> Iterator[PredictedRow]:
    """Yield the prediction of each row: the `top` best labels, then the other predicted ones."""
    from vicinal.methods._formulas import cells

    decided = estimator.decide(scores)
    ids, values = scores.top(top)
    label_names = estimator.label_names_
    for row in range(scores.shape[0]):
        labels = decided.indices[decided.indptr[row] : decided.indptr[row + 1]]
        scored = dict(zip(ids[row].tolist(), values[row].tolist(), strict=True))
        more = [label for label in labels.tolist() if label not in scored]
        others = zip(more, cells(scores, row, more).tolist(), strict=True)
        scored |= dict(sorted(others, key=lambda other: -other[1]))
        yield PredictedRow(
            start + row if names is None else names[row],
            [label_names[label] for label in labels],
            {label_names[label]: round(value, 6) for label, value in scored.items()},
        )


COLUMNS = ("row", "labels", "label_scores", "best", "best_scores")
"""Columns of a table of predictions: the predicted labels and their scores, then the best labels
and theirs."""
SEPARATORS = (";", "|", ",")
GROUP_ROWS = 10_000
"""Rows of a Parquet file that are written at a time."""


class CellFormat(NamedTuple):
    """How the cells of a table of predictions are written."""

    separator: str | None = ";"
    keep_formulas: bool = False
    has_names: bool = False

    def joined(self, values: Sequence[object]) -> str:
        """Return a list as one cell."""
        texts = [self.text(value) for value in values]
        if self.separator is None:
            return json.dumps(texts, ensure_ascii=False)
        return self.separator.join(texts)

    def text(self, value: object) -> str:
        """Return a value as text that a spreadsheet program shows instead of running it."""
        is_formula = isinstance(value, str) and value.startswith(FORMULA_SIGNS)
        return f"'{value}" if is_formula and not self.keep_formulas else str(value)


FORMULA_SIGNS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What the cells begin with that spreadsheet programs run as formulas; those of a Japanese system
take the four signs in full width too."""
Writer = Callable[[Iterable[PredictedRow], Path, CellFormat], None]
"""Writes predictions to a file."""


def cell_format(
    model: "Model", names: dict[str, str] | None, keep_formulas: bool = False
) -> CellFormat:
    """Return how to write the predictions of a model."""
    from vicinal.methods.pipeline import estimator_of

    labels = [*estimator_of(model).label_names_, *(names or {}).values()]
    return CellFormat(list_separator(labels), keep_formulas, names is not None)


def list_separator(names: Iterable[str]) -> str | None:
    """Return a separator that no name contains; None if there is none."""
    every = "\n".join(names)
    return next((each for each in SEPARATORS if each not in every), None)


def prediction_writer(path: Path) -> Writer:
    """Return the function that writes predictions in the format of a file extension."""
    from vicinal.datasets.tables.csv import DELIMITERS

    ending = path.suffix.lower()
    if ending == ".parquet":
        optional_module("pyarrow", "frames")
    writers: dict[str, Writer] = {".parquet": _write_parquet}
    writers |= dict.fromkeys((".jsonl", ".ndjson"), _write_json_lines)
    writers |= {each: partial(_write_csv, sign) for each, sign in DELIMITERS.items()}
    if ending not in writers:
        known = "a name that ends in .jsonl, .csv, .tsv or .parquet"
        raise InvalidArgumentError("--output", known, repr(str(path)))
    return writers[ending]


def _write_json_lines(predicted: Iterable[PredictedRow], path: Path, style: CellFormat) -> None:
    """Write one JSON object per line."""
    from vicinal.datasets.data_files import write_data

    write_data(path, (dump_json(prediction.as_dict()) + "\n" for prediction in predicted))


def _write_csv(
    delimiter: str, predicted: Iterable[PredictedRow], path: Path, style: CellFormat
) -> None:
    """Write one line per row; with a byte order mark, so that Excel reads UTF-8."""
    from vicinal.datasets.data_files import write_data
    from vicinal.datasets.tables.csv import written_lines

    def rows() -> Iterator[Sequence[object]]:
        yield ["\ufeff" + COLUMNS[0], *COLUMNS[1:], *(["names"] if style.has_names else [])]
        for prediction in predicted:
            row, labels, scores, best, best_scores = prediction.cells()
            lists: list[Sequence[object]] = [labels, scores, best, best_scores]
            if style.has_names:
                lists.append([(prediction.names or {}).get(label, label) for label in labels])
            yield [style.text(row), *map(style.joined, lists)]

    write_data(path, written_lines(rows(), delimiter))


def _write_parquet(predicted: Iterable[PredictedRow], path: Path, style: CellFormat) -> None:
    """Write one row per prediction, labels and scores as lists. Memory: :data:`GROUP_ROWS` rows."""
    import pyarrow as pa
    from pyarrow import parquet

    from vicinal._core.files import replacing

    remaining = iter(predicted)
    group = list(islice(remaining, GROUP_ROWS))
    is_named = bool(group) and isinstance(group[0].row, str)
    words, numbers = pa.list_(pa.string()), pa.list_(pa.float64())
    kinds = (pa.string() if is_named else pa.int64(), words, numbers, words, numbers)
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    with replacing(path) as beside, parquet.ParquetWriter(str(beside), schema) as writer:
        while group:
            columns = zip(*(each.cells() for each in group), strict=True)
            values = {name: list(column) for name, column in zip(COLUMNS, columns, strict=True)}
            writer.write_table(pa.Table.from_pydict(values, schema))
            group = list(islice(remaining, GROUP_ROWS))


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
    """Yield blocks of rows with their scores, all by the current version of the model."""
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


def save_named(
    model: "Model", source: "Source", path: Path, vocabulary: "Vocabulary | None" = None
) -> None:
    """Save a model with the names of its training columns and labels, if they have names."""
    from sklearn.pipeline import Pipeline

    from vicinal.methods.pipeline import named_pipeline

    steps = model.steps if isinstance(model, Pipeline) else [("estimator", model)]
    named_pipeline(steps, source.columns, source.reading, vocabulary).save(path)


def vocabulary_of(table: TableChoice, labels: Sequence[str]) -> "Vocabulary | None":
    """Return the vocabulary of ``--vocabulary``; log how many labels it names."""
    from vicinal.datasets.vocabulary import read_vocabulary
    from vicinal.errors import logger

    if table.vocabulary is None:
        return None
    found = read_vocabulary(table.vocabulary)
    n_named = sum(found.name(label) is not None for label in labels)
    said = "names of %d of %d labels from %s (--names-in chooses the language)"
    logger.info(said, n_named, len(labels), table.vocabulary)
    return found


def rows_for(model: "Model", source: "Source") -> object:
    """Return the rows of a source with the columns of a model, matched by name."""
    from scipy import sparse
    from sklearn.pipeline import Pipeline

    from vicinal.methods.pipeline import estimator_of
    from vicinal.preprocess import MinMax

    X = source.X
    if isinstance(X, dict):
        rows = rows_for(model, replace(source, X=X["rows"]))
        return {"rows": rows, "vectors": X["vectors"]}
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
    """Return the `wanted` columns of `X`; the other columns in `names` must be labels."""
    place = {name: column for column, name in enumerate(names)}
    if tuple(names) == tuple(wanted) or len(set(wanted)) < len(wanted):
        return X
    missing = [name for name in wanted if name not in place]
    further = [name for name in names if name not in {*wanted, *labels}]
    if missing or further or len(place) < len(names):
        got = f"no {missing[0]!r}" if missing else f"{(*further, *names)[0]!r} too"
        raise InvalidArgumentError("columns", f"the {len(wanted)} features of the model", got)
    return X[:, [place[name] for name in wanted]]
