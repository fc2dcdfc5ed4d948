"""The rows of a table as input of a model: texts, numbers or both, and the labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vicinal._base.errors import InvalidArgumentError
from vicinal.datasets.files import FilePath
from vicinal.datasets.tables.guess import find_reading
from vicinal.datasets.tables.kinds import number_of
from vicinal.datasets.tables.labels import find_separator, read_labels
from vicinal.datasets.tables.options import TableOptions
from vicinal.datasets.tables.read import read_records
from vicinal.datasets.tables.reading import Reading
from vicinal.datasets.tables.records import Records
from vicinal.datasets.tables.text_cells import Text, row_texts


@dataclass(frozen=True)
class Content:
    """The rows of a table.

    Parameters
    ----------
    X : list of str, ndarray of float64, or ndarray of object
        Texts; numeric columns; or one column of texts, then numbers, then categories, in the order
        of ``reading.features``.
    labels : list of list of str, or None
        The labels of each row; None if they were not requested.
    row_names : tuple of str or None
    reading : Reading
        How the columns were read.
    lines : sequence of int
        The line number of each row in the file.
    """

    X: list[str] | NDArray[Any]
    labels: list[list[str]] | None
    row_names: tuple[str, ...] | None
    reading: Reading
    lines: Sequence[int]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.lines)


def read_content(
    path: FilePath,
    options: TableOptions | None = None,
    *,
    known: Reading | None = None,
    labelled: bool = True,
) -> Content:
    r"""Read a table.

    Parameters
    ----------
    path : path
        CSV, TSV, JSON lines, JSON array or Parquet, possibly compressed; ``-`` for standard input.
    options : TableOptions or None
        How to read the table; the rest is guessed.
    known : Reading or None
        How the training data of a model was read; `options` take precedence.
    labelled : bool
        Whether to read the labels.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.csv"
    ...     _ = path.write_text("text;tags\nbuy milk;home|shop\nsleep;home\n")
    ...     found = read_content(path)
    >>> found.X, found.labels, found.reading.separator
    (['buy milk', 'sleep'], [['home', 'shop'], ['home']], '|')
    """
    options = options or TableOptions()
    records = read_records(path, options, wanted_columns(options, known), known)
    reading = (
        find_reading(records, options, labelled=labelled)
        if known is None
        else known_reading(records, options, known, labelled)
    )
    labels = read_labels(records, reading) if labelled else None
    return content_of(records, reading, labels, row_names_column(records, reading, options))


def content_of(
    records: Records,
    reading: Reading,
    labels: list[list[str]] | None,
    row_names: str | None,
) -> Content:
    """Return rows whose cells have been read, and their labels; `row_names` is a column."""
    return Content(
        X=_features(records, reading),
        labels=labels,
        row_names=None if row_names is None else tuple(map(str, records.cells(row_names))),
        reading=reading,
        lines=records.lines,
    )


def wanted_columns(options: TableOptions, known: Reading | None) -> list[str]:
    """Return the columns that must be there."""
    if known is not None:
        return [*known.for_options(options).features]
    return [*(options.text or ()), *([options.labels] if options.labels else [])]


def known_reading(
    records: Records, options: TableOptions, known: Reading, labelled: bool
) -> Reading:
    """Return a model's reading for a further file, checked against its columns."""
    reading = known.for_options(options)
    option = "--text" if reading.reads_text_only else "--feature-columns"
    records.require(reading.features, f"{option}: the model learned from it")
    if labelled and not reading.label_columns and reading.labels not in records.columns:
        # The labels of another file may have another column name; everything else stays the same.
        fresh = find_reading(records, options)
        return replace(reading, labels=fresh.labels, separator=fresh.separator)
    if labelled and reading.labels is not None and reading.separator is None:
        found = find_separator(records, reading.labels, options.separator)
        return replace(reading, separator=found)
    return reading


def row_names_column(records: Records, reading: Reading, options: TableOptions) -> str | None:
    """Return the column of row names, or None if the file lacks it and nobody named it."""
    column = reading.row_names
    if column is None or (column not in records.columns and options.row_names is None):
        return None
    records.require([column], "--row-names")
    return column


def _features(records: Records, reading: Reading) -> list[str] | NDArray[Any]:
    """Return the features of the rows."""
    texts = row_texts(records, reading.text) if reading.text else None
    if texts is not None and reading.reads_text_only:
        return list(map(joined, texts))
    numbers = [column_numbers(records, name, reading.decimal) for name in reading.numbers]
    if texts is None and not reading.categories:
        return np.column_stack(numbers)
    columns: list[Sequence[object]] = [] if texts is None else [list(map(joined, texts))]
    columns += numbers
    columns += [[category_of(cell) for cell in records.cells(name)] for name in reading.categories]
    mixed = np.empty((records.n_rows, len(columns)), dtype=object)
    for at, column in enumerate(columns):
        mixed[:, at] = column
    return mixed


def joined(text: Text) -> str:
    """Return a text; a list of tokens is joined by blanks."""
    return text if isinstance(text, str) else " ".join(text)


def category_of(cell: object) -> str:
    """Return a category as text; empty cells are a category as well."""
    return "" if cell is None else str(cell).strip()


def column_numbers(records: Records, column: str, decimal: str) -> list[float]:
    """Return the numbers of a column, or raise an error that names the line of a bad cell."""
    values: list[float] = []
    for at, cell in enumerate(records.cells(column)):
        value = number_of(cell, decimal)
        if value is None or not math.isfinite(value):
            expected = f"a number in {column!r} (--feature-columns can omit the column)"
            empty = cell is None or (isinstance(cell, str) and not cell.strip())
            raise records.error(at, expected, "an empty cell" if empty else repr(cell))
        values.append(value)
    return values


def check_text_only(reading: Reading) -> None:
    """Raise if a table has numeric or categorical columns but only texts are supported."""
    if not reading.reads_text_only:
        others = ", ".join(reading.numbers + reading.categories)
        raise InvalidArgumentError("text", "a column of text (text=)", f"columns {others}")
