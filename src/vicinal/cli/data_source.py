"""Read the data of a command: rows with features, or texts for a model that reads texts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder

from vicinal._core.arrays import Csr
from vicinal._core.checks import check_option
from vicinal._core.labels import indicator_of
from vicinal.cli.options import TableChoice
from vicinal.cli.settings import make_steps
from vicinal.datasets import Content, Dataset, Reading, TableOptions, is_table, load, read_content
from vicinal.datasets.blocks import file_blocks
from vicinal.datasets.catalogue import known
from vicinal.datasets.dataset import is_numbered
from vicinal.datasets.tables.content import table_blocks
from vicinal.datasets.tables.guess import find_reading, number_of
from vicinal.datasets.tables.label_cells import read_labels
from vicinal.datasets.tables.table_rows import STANDARD_INPUT, read_records
from vicinal.datasets.texts import text_blocks
from vicinal.datasets.vector_files import has_vectors, read_vectors
from vicinal.errors import InvalidArgumentError, optional_module
from vicinal.methods.blend.parts import are_vectors
from vicinal.methods.feature_views import BesideVectors
from vicinal.methods.model_columns import frame_columns
from vicinal.preprocess import MinMax, TextVectorizer
from vicinal.preprocess.languages import check_language


def is_table_file(data: str) -> bool:
    """Tell whether DATA is a table: a file, standard input or a folder of documents."""
    if known(data):
        return False
    return is_table(data) and (data == STANDARD_INPUT or Path(data).exists())


def table_options(table: TableChoice) -> TableOptions:
    """Return the options for reading a table."""
    return TableOptions(
        text=table.column_list("text"),
        labels=table.labels,
        label_columns=table.column_list("label_columns"),
        feature_columns=table.column_list("feature_columns"),
        row_names=table.row_names,
        separator=table.sign("separator"),
        encoding=table.encoding,
        delimiter=table.sign("delimiter"),
        columns=table.column_list("columns"),
        quoting=table.quotes,
        sheet=table.sheet,
    )


def file_options(table: TableChoice) -> dict[str, Any]:
    """Return the options for reading a file that is not a table."""
    given = {"encoding": table.encoding, "xml": table.xml}
    options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if table.label_count is not None:
        options |= {"n_labels": table.label_count, "file_format": "meka"}
    return options


def text_step(table: TableChoice, weighting: str = "counts") -> TextVectorizer:
    """Return the step that turns texts into features."""
    if table.ngrams < 1:
        raise InvalidArgumentError("--ngrams", "an integer of at least 1", table.ngrams)
    return TextVectorizer(
        weighting=weighting,
        tokens=table.tokens,
        ngram_range=(1, table.ngrams),
        min_df=table.min_df,
        stop_words=_stop_words(table.stop_words),
        language=None if table.language == "none" else check_language(table.language, "--language"),
        characters=table.characters,
    )


def _stop_words(given: str | None) -> str | list[str] | None:
    """Return the words to ignore: scikit-learn's English stop words, or those in a file."""
    if given in (None, "none"):
        return None
    if given == "english":
        return given
    path = Path(str(given))
    if not path.is_file():
        expected = "english, none or a file with one word per line"
        raise InvalidArgumentError("--stop-words", expected, repr(given))
    lines = path.read_text(encoding="utf-8").splitlines()
    return [word.strip().lower() for word in lines if word.strip()]


def table_steps(reading: Reading, table: TableChoice, preprocess: str) -> list[tuple[str, Any]]:
    """Return the preprocessing steps for a table.

    If all columns are texts, they become word counts; if all are numbers, ``--preprocess`` decides.
    Otherwise each kind has its own step: tf-idf weights of unit length, numbers scaled to [0, 1],
    and one column of 0 and 1 per category.
    """
    if not reading.numbers and not reading.categories:
        return [("words", text_step(table)), *make_steps(preprocess, True)]
    if not reading.text and not reading.categories:
        return make_steps(preprocess, False)
    n_texts, n_numbers = int(bool(reading.text)), len(reading.numbers)
    numbers = list(range(n_texts, n_texts + n_numbers))
    categories = [n_texts + n_numbers + at for at in range(len(reading.categories))]
    parts: list[tuple[str, Any, Any]] = []
    if reading.text:
        parts.append(("words", text_step(table, "tfidf"), 0))
    if numbers:
        parts.append(("numbers", MinMax(), numbers))
    if categories:
        parts.append(("categories", OneHotEncoder(handle_unknown="ignore"), categories))
    after = [] if preprocess == "auto" else make_steps(preprocess, True)
    return [("columns", ColumnTransformer(parts)), *after]


@dataclass(frozen=True)
class Source:
    """Rows for a model, with their labels if the file has any."""

    name: str
    X: object
    n_rows: int
    Y: Csr | None
    label_names: Sequence[str]
    row_names: tuple[str, ...] | None
    columns: tuple[str, ...] | None = None
    reading: Reading | None = None

    def labels(self) -> Csr:
        """Return the label indicator, or raise if there is none."""
        if self.Y is None:
            raise InvalidArgumentError("DATA", "rows with labels", f"{self.name} without labels")
        return self.Y


def training_source(
    data: str, rows: str, table: TableChoice, preprocess: str
) -> tuple[Source, list[tuple[str, Any]]]:
    """Return the training rows and the preprocessing steps."""
    if is_table_file(data):
        _check_unsplit(rows)
        source = table_source(data, table)
    else:
        options = {} if known(data) else file_options(table)
        source = dataset_source(choose_rows(load(data, **options), rows, "train"), data)
    X = source.X
    if preprocess == "auto" and isinstance(X, np.ndarray) and X.dtype.kind == "f":
        # Vectors, such as an encoder makes them, are compared by their direction.
        preprocess = "none" if are_vectors(X.min(axis=0), X.max(axis=0)) else preprocess
    if is_table_file(data):
        steps = table_steps(source.reading or Reading(), table, preprocess)
    else:
        steps = make_steps(preprocess, sparse.issparse(source.X))
    if table.vectors is None:
        return source, steps
    view = "words" if isinstance(source.X, list) else "columns"
    vectors = read_vectors(table.vectors, "--vectors")
    if Path(data) == table.vectors and len(source.columns or ()) >= vectors.shape[1]:
        return source, steps  # the table has nothing else
    beside = with_vectors(source, vectors)
    return beside, [("views", BesideVectors(steps, view))]


def with_own_vectors(table: TableChoice, data: str) -> TableChoice:
    """Return options that read vectors from the table itself, if it has some and no others are."""
    if table.vectors is not None or not is_table_file(data) or not has_vectors(data):
        return table
    return TableChoice({**vars(table), "vectors": Path(data)})


def with_vectors(source: Source, vectors: NDArray[Any]) -> Source:
    """Return the rows of a source, each with its vector."""
    if len(vectors) != source.n_rows:
        expected = f"{source.n_rows:,} vectors, one per row of {source.name}"
        raise InvalidArgumentError("--vectors", expected, f"{len(vectors):,}")
    return replace(source, X={"rows": source.X, "vectors": vectors})


def refuse_vectors(table: TableChoice) -> None:
    """Raise if ``--vectors`` is given to a command that does not use it."""
    if table.vectors is not None:
        expected = "no file: train, predict, evaluate and explain read vectors"
        raise InvalidArgumentError("--vectors", expected, str(table.vectors))


def some_rows(X: Any, rows: slice) -> Any:
    """Return some rows of features, of texts, or of rows with vectors."""
    return {name: each[rows] for name, each in X.items()} if isinstance(X, dict) else X[rows]


def vectors_for(model: Any, table: TableChoice, data: str) -> NDArray[Any] | None:
    """Return the vectors of ``--vectors``, which a model needs or cannot use; None without."""
    first = model.steps[0][1] if isinstance(model, Pipeline) else None
    if not isinstance(first, BesideVectors):
        if table.vectors is not None:
            expected = "no file, because the model was trained without vectors"
            raise InvalidArgumentError("--vectors", expected, str(table.vectors))
        return None
    table = with_own_vectors(table, data)
    expected = f"a file with a vector of {first.n_values_} numbers for each row, as in training"
    if table.vectors is None:
        raise InvalidArgumentError("--vectors", expected, "no file")
    vectors = read_vectors(table.vectors, "--vectors")
    if vectors.shape[1] != first.n_values_:
        raise InvalidArgumentError("--vectors", expected, f"{vectors.shape[1]} numbers")
    return vectors


def frame_source(data: str, table: TableChoice, columns: list[str], *, labelled: bool) -> Source:
    """Return a table as the data frame that a model expects; all-number columns are numbers."""
    options = table_options(table)
    records = read_records(data, options, (), None, labelled=labelled)
    cells = {name: records.cells(name) for name in columns if name in records.columns}
    numbers = {name: list(map(number_of, of_column)) for name, of_column in cells.items()}
    filled = {name: cells[name] if None in numbers[name] else numbers[name] for name in cells}
    frame = optional_module("pandas", "frames").DataFrame(filled)
    Y, names = None, tuple[str, ...]()
    if labelled:
        sets, names = read_labels(records, find_reading(records, options))
        Y = indicator_of(sets, names)
    rows = options.row_names or records.row_names
    row_names = None if rows is None else tuple(map(str, records.cells(rows)))
    return Source(shown_name(data), frame, records.n_rows, Y, names, row_names)


def whole_dataset(data: str, table: TableChoice) -> Dataset:
    """Return all rows as a data set; a table gets the same features as in ``vicinal train``."""
    refuse_vectors(table)
    if not is_table_file(data):
        return load(data, **file_options(table))
    source = table_source(data, table)
    X, names = source.X, source.columns
    for _, step in table_steps(source.reading or Reading(), table, "none"):
        X = step.fit_transform(X)
        names = tuple(map(str, step.get_feature_names_out()))
    return Dataset(
        cast("Any", X),
        source.labels(),
        names or (),
        source.label_names,
        source.row_names,
        source=source.name,
    )


def dataset_source(dataset: Dataset, data: str) -> Source:
    """Return the rows of a data set."""
    names = dataset.feature_names
    return Source(
        dataset.source or data,
        dataset.X,
        dataset.n_rows,
        dataset.Y,
        dataset.label_names,
        dataset.row_names,
        None if is_numbered(names, "feature") else tuple(names),
    )


def table_source(path: str, table: TableChoice, *, labelled: bool = True) -> Source:
    """Return the rows of a table."""
    return content_source(path, read_content(path, table_options(table), labelled=labelled))


def shown_name(path: str) -> str:
    """Return the name of a file in tables and messages."""
    return "standard input" if path == STANDARD_INPUT else Path(path).name


def content_source(path: str, found: Content) -> Source:
    """Return rows of a table."""
    names, how = found.label_names, found.reading
    return Source(
        shown_name(path),
        found.X,
        found.n_rows,
        None if found.labels is None else indicator_of(found.labels, names),
        names,
        found.row_names,
        how.numbers if how.numbers and len(how.numbers) == len(how.features) else None,
        how,
    )


def reads_text(model: object) -> bool:
    """Tell whether a fitted model reads texts rather than features."""
    if not isinstance(model, Pipeline):
        return False
    first = model.steps[0][1]
    first = first.first if isinstance(first, BesideVectors) else first
    return isinstance(first, TextVectorizer)


def choose_rows(dataset: Dataset, rows: str, auto: str) -> Dataset:
    """Return the rows that ``--rows`` selects; `auto` is the part for ``--rows auto``."""
    check_option("--rows", rows, PARTS)
    if rows == "auto":
        rows = auto if dataset.train is not None and dataset.test is not None else "all"
    if rows == "all":
        return dataset
    ids = dataset.train if rows == "train" else dataset.test
    if ids is None:
        raise _no_split(rows)
    return dataset.subset(ids)


def _check_unsplit(rows: str) -> None:
    """Raise if ``--rows`` selects a part of a table, which has no train/test split."""
    check_option("--rows", rows, PARTS)
    if rows not in ("auto", "all"):
        raise _no_split(rows)


def _no_split(rows: str) -> InvalidArgumentError:
    hint = "make two files, and train on one of them"
    return InvalidArgumentError("--rows", "all, because there is no train/test split", rows, hint)


PARTS = ("auto", "all", "train", "test")
"""What ``--rows`` can be."""

BLOCK_ROWS = 4096
"""Rows that are read, scored and written at a time."""


def new_blocks(
    model: Any, data: str, rows: str, auto: str, table: TableChoice, **options: Any
) -> Iterator[Source]:
    """Yield rows for a fitted model, read as those it learned from, some at a time.

    Data sets by name, ``.npz`` and ``.mat`` files, and tables for a model that was not trained on
    one, are read whole first. `options` are those of :func:`row_blocks`.
    """
    vectors = vectors_for(model, table, data)
    found = row_blocks(model, data, rows, auto, table, **options)
    return found if vectors is None else _beside(found, vectors, data)


def _rows_at_once(model: Any) -> int:
    """Return how many rows a model is best asked at a time; more if it reads files for them."""
    from vicinal.methods.pipeline import estimator_of

    scoring = getattr(estimator_of(model), "scoring_", None)
    return max(BLOCK_ROWS, getattr(scoring, "rows_at_once", 0))


def _beside(found: Iterator[Source], vectors: NDArray[Any], data: str) -> Iterator[Source]:
    """Yield blocks of rows with their vectors; raise if there are more or fewer of them."""
    start = 0
    for block in found:
        stop = start + block.n_rows
        if stop <= len(vectors):
            yield with_vectors(block, vectors[start:stop])
        start = stop
    if start != len(vectors):
        expected = f"{start:,} vectors, one per row of {shown_name(data)}"
        raise InvalidArgumentError("--vectors", expected, f"{len(vectors):,}")


def row_blocks(
    model: Any,
    data: str,
    rows: str,
    auto: str,
    table: TableChoice,
    *,
    labelled: bool,
    block_rows: int | None = None,
) -> Iterator[Source]:
    """Yield rows for a fitted model without their vectors."""
    block_rows = block_rows or _rows_at_once(model)
    if is_table_file(data):
        _check_unsplit(rows)
        columns, options = frame_columns(model), table_options(table)
        reading: Reading | None = getattr(model, "reading_", None)
        if reading is None and getattr(model, "columns_", None) is not None:
            reading = Reading(numbers=model.columns_)
        if columns is not None:
            yield from _parts(frame_source(data, table, columns, labelled=labelled), block_rows)
        elif reading is None:
            yield from _parts(table_source(data, table, labelled=labelled), block_rows)
        else:
            for content in table_blocks(data, options, reading, block_rows, labelled=labelled):
                yield content_source(data, content)
        return
    if reads_text(model):
        for found in text_blocks(data, block_rows, encoding=table.encoding):
            yield Source(Path(data).name, found.texts, len(found.texts), None, (), None)
        return
    is_file = not known(data)
    of_file = file_options(table) if is_file else {}
    if is_file and not labelled:
        of_file["unlabelled"] = True
    streamed = None
    if is_file and Path(data).is_file() and rows in ("auto", "all"):
        streamed = file_blocks(data, block_rows, **of_file)
    if streamed is None:
        whole = choose_rows(load(data, **of_file), rows, auto)
        yield from _parts(dataset_source(whole, data), block_rows)
    else:
        yield from (dataset_source(block, data) for block in streamed)


def _parts(whole: Source, block_rows: int) -> Iterator[Source]:
    """Yield the rows of a source that is in memory."""
    rows: Any = whole.X
    for start in range(0, whole.n_rows, block_rows):
        some = slice(start, min(start + block_rows, whole.n_rows))
        yield replace(
            whole,
            X=some_rows(rows, some),
            n_rows=some.stop - start,
            Y=None if whole.Y is None else whole.Y[some],
            row_names=None if whole.row_names is None else whole.row_names[some],
        )
