"""Data on the command line: rows with features, or texts for a model that reads text."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scipy import sparse
from sklearn.pipeline import Pipeline

from vicinal._base.arrays import Csr
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.labels import indicator_of
from vicinal._base.validation import check_option
from vicinal.cli.settings import make_steps
from vicinal.datasets import Dataset, is_table, load, read_texts
from vicinal.datasets.catalogue.registry import known
from vicinal.datasets.names import is_numbered
from vicinal.preprocess import TextVectorizer


@dataclass(frozen=True)
class Source:
    """Rows as a model takes them, with what is known of their labels.

    Parameters
    ----------
    name : str
        What to call the data in a table.
    X : object
        Features, or a list of texts.
    n_rows : int
    Y : csr_array or None
        Label indicator; None where the file has no labels.
    label_names : tuple of str
    row_names : tuple of str or None
    columns : tuple of str or None
        Names of the features; None for texts, and where the file names none.
    """

    name: str
    X: object
    n_rows: int
    Y: Csr | None
    label_names: tuple[str, ...]
    row_names: tuple[str, ...] | None
    columns: tuple[str, ...] | None = None

    def labels(self) -> Csr:
        """Return the label indicator, which must be there."""
        if self.Y is None:
            raise InvalidArgumentError("DATA", "rows with labels", self.name)
        return self.Y


def training_source(
    data: str,
    rows: str,
    text: str,
    labels: str,
    preprocess: str,
    row_names: str | None = None,
) -> tuple[Source, list[tuple[str, Any]]]:
    """Return the rows to learn from and the steps before the estimator."""
    if is_text_file(data):
        steps = [("words", TextVectorizer(weighting="counts")), *make_steps(preprocess, True)]
        return text_source(data, text, labels, row_names), steps
    source = features_source(data, rows, auto="train")
    return source, make_steps(preprocess, sparse.issparse(source.X))


def features_source(data: str, rows: str, auto: str, *, unlabelled: bool = False) -> Source:
    """Return rows with features: all, or a part of a data set's split.

    `unlabelled`: whether a file may do without labels.
    """
    options = {"unlabelled": True} if unlabelled and not known(data) else {}
    dataset = choose_rows(load(data, **options), rows, auto)
    names = dataset.feature_names
    return Source(
        dataset.source or data,
        dataset.X,
        dataset.n_rows,
        dataset.Y,
        tuple(dataset.label_names),
        dataset.row_names,
        None if is_numbered(names, "feature") else tuple(names),
    )


def text_source(path: str, text: str, labels: str | None, row_names: str | None) -> Source:
    """Return the texts of a file."""
    found = read_texts(path, text, labels, row_names=row_names)
    sets = found.labels
    names = tuple(sorted({label for row in sets or () for label in row}))
    Y = None if sets is None else indicator_of(sets, names)
    return Source(Path(path).name, found.texts, len(found.texts), Y, names, found.row_names)


def reads_text(model: object) -> bool:
    """Tell whether a fitted model takes texts rather than features."""
    return isinstance(model, Pipeline) and isinstance(model.steps[0][1], TextVectorizer)


def is_text_file(data: str) -> bool:
    """Tell whether the data given on the command line is a table of texts."""
    return is_table(data) and Path(data).is_file()


def choose_rows(dataset: Dataset, rows: str, auto: str) -> Dataset:
    """Return the rows asked for; ``auto`` is the part named by `auto` where there is a split."""
    check_option("--rows", rows, ("auto", "all", "train", "test"))
    if rows == "auto":
        rows = auto if dataset.train is not None and dataset.test is not None else "all"
    if rows == "all":
        return dataset
    ids = dataset.train if rows == "train" else dataset.test
    if ids is None:
        raise InvalidArgumentError("--rows", "all (this data set has no train/test split)", rows)
    return dataset.subset(ids)
