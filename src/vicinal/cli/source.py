"""Data on the command line: rows with features, or documents for a model that reads text."""

from typing import Annotated

import typer

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_option
from vicinal.datasets import Dataset

DataArgument = Annotated[
    str, typer.Argument(help="A name from `vicinal data list`, or a file.", metavar="DATA")
]
RowsOption = Annotated[
    str, typer.Option(help="Which rows: train, test, all; auto is the split's, else all.")
]


def choose_rows(dataset: Dataset, rows: str, auto: str) -> Dataset:
    """Return the rows asked for; ``auto`` is the part named by `auto` where there is a split."""
    check_option("--rows", rows, ("auto", "all", "train", "test"))
    if rows == "auto":
        rows = auto if dataset.train is not None and dataset.test is not None else "all"
    if rows == "all":
        return dataset
    ids = dataset.train if rows == "train" else dataset.test
    if ids is None:
        raise InvalidArgumentError("--rows", "all: the data has no split", rows)
    return dataset.subset(ids)
