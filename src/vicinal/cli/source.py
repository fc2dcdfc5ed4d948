"""Read the data of a command: rows with features, or texts for a model that reads texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from scipy import sparse
from sklearn.pipeline import Pipeline

from vicinal._base.arrays import Csr
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.labels import indicator_of
from vicinal._base.validation import check_option
from vicinal.cli.settings import make_steps
from vicinal.cli.table_options import TableChoice
from vicinal.cli.tables import (
    file_options,
    is_table_file,
    reading_for,
    table_options,
    table_steps,
)
from vicinal.datasets import Content, Dataset, Reading, load, read_content, read_texts
from vicinal.datasets.catalogue.registry import known
from vicinal.datasets.names import is_numbered
from vicinal.datasets.tables.read import STANDARD_INPUT
from vicinal.preprocess import TextVectorizer


@dataclass(frozen=True)
class Source:
    """Rows for a model, with their labels if the file has any.

    Parameters
    ----------
    name : str
        The name of the data in tables.
    X : object
        Features, or a list of texts.
    n_rows : int
    Y : csr_array or None
        Label indicator; None if the file has no labels.
    label_names : sequence of str
    row_names : tuple of str or None
    columns : tuple of str or None
        Names of the features; None for texts, and for files without feature names.
    reading : Reading or None
        How a table was read; None for other files.
    """

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
        source = table_source(data, table)
        reading = source.reading or Reading()
        return source, table_steps(reading, table, preprocess)
    source = features_source(data, rows, "train", table)
    return source, make_steps(preprocess, sparse.issparse(source.X))


def new_source(
    model: Any, data: str, rows: str, auto: str, table: TableChoice, *, labelled: bool
) -> Source:
    """Return rows for a fitted model, read in the same way as its training data.

    Parameters
    ----------
    model : Model
    data : str
        A table, a file of features, the name of a data set, or a file with one text per line.
    rows, auto : str
        The rows to use of a data set with a train/test split; see :func:`choose_rows`.
    table : TableChoice
    labelled : bool
        Whether to read labels; if not, the file need not have any.
    """
    if is_table_file(data):
        return table_source(data, table, reading_for(model), labelled=labelled)
    if reads_text(model):
        found = read_texts(data, encoding=table.encoding)
        return Source(Path(data).name, found.texts, len(found.texts), None, (), None)
    return features_source(data, rows, auto, table, unlabelled=not labelled)


def whole_dataset(data: str, table: TableChoice) -> Dataset:
    """Return all rows as a data set; a table gets the same features as in ``vicinal train``."""
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


def features_source(
    data: str, rows: str, auto: str, table: TableChoice, *, unlabelled: bool = False
) -> Source:
    """Return rows with features: all, or one part of a data set's train/test split.

    `unlabelled`: whether a file may have no labels.
    """
    options = {} if known(data) else file_options(table)
    if unlabelled and not known(data):
        options["unlabelled"] = True
    return dataset_source(choose_rows(load(data, **options), rows, auto), data)


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


def table_source(
    path: str, table: TableChoice, reading: Reading | None = None, *, labelled: bool = True
) -> Source:
    """Return the rows of a table; `reading` says how a model's training table was read."""
    found = read_content(path, table_options(table), known=reading, labelled=labelled)
    sets = found.labels or ()
    names = found.reading.label_columns or tuple(sorted({label for row in sets for label in row}))
    return content_source(path, found, names)


def shown_name(path: str) -> str:
    """Return the name of a file in tables and messages.

    Examples
    --------
    >>> shown_name("data/songs.csv"), shown_name("-")
    ('songs.csv', 'standard input')
    """
    return "standard input" if path == STANDARD_INPUT else Path(path).name


def content_source(path: str, found: Content, names: tuple[str, ...]) -> Source:
    """Return rows of a table whose labels are `names`."""
    sets, how = found.labels, found.reading
    return Source(
        shown_name(path),
        found.X,
        found.n_rows,
        None if sets is None else indicator_of(sets, names),
        names,
        found.row_names,
        how.numbers if how.numbers and len(how.numbers) == len(how.features) else None,
        how,
    )


def reads_text(model: object) -> bool:
    """Tell whether a fitted model reads texts rather than features."""
    return isinstance(model, Pipeline) and isinstance(model.steps[0][1], TextVectorizer)


def choose_rows(dataset: Dataset, rows: str, auto: str) -> Dataset:
    """Return the rows that ``--rows`` selects; `auto` is the part for ``--rows auto``."""
    check_option("--rows", rows, ("auto", "all", "train", "test"))
    if rows == "auto":
        rows = auto if dataset.train is not None and dataset.test is not None else "all"
    if rows == "all":
        return dataset
    ids = dataset.train if rows == "train" else dataset.test
    if ids is None:
        raise InvalidArgumentError("--rows", "all (this data set has no train/test split)", rows)
    return dataset.subset(ids)
