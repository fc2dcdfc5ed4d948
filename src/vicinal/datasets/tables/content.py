"""The rows of a table as input of a model: texts, numbers or both, and the labels."""

import gc
import json
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vicinal.datasets.data_files import FilePath
from vicinal.datasets.tables.guess import find_reading, number_of
from vicinal.datasets.tables.label_cells import (
    find_separator,
    label_sets,
    read_labels,
    warn_if_rare,
)
from vicinal.datasets.tables.reading import MISSING, Reading, Records, TableOptions, described
from vicinal.datasets.tables.table_rows import read_records, record_blocks, table_file
from vicinal.errors import logger

Text: TypeAlias = str | list[str]
"""A text, or a list of its tokens."""


def row_texts(records: Records, columns: Sequence[str]) -> list[Text]:
    """Return the text of each row, or its tokens if the only column contains lists."""
    if len(columns) == 1:
        (column,) = columns
        found = records.cells(column)
        if all(isinstance(cell, str) and cell[:1] != "[" for cell in found):
            return list(found)
        return [_text(records, at, column, cell) for at, cell in enumerate(found)]
    records.require_one(columns)
    some_lack_cells = False
    texts: list[Text] = []
    for at in range(records.n_rows):
        cells = {column: records.columns[column][at] for column in columns}
        given = {name: cell for name, cell in cells.items() if cell not in (None, MISSING)}
        some_lack_cells |= len(given) < len(columns)
        texts.append(_joined(records, at, given or cells))
    if some_lack_cells:
        named = ", ".join(map(repr, columns))
        logger.info(
            "texts from columns %s, of which some rows lack one (--text changes this)", named
        )
    return texts


def _text(records: Records, at: int, column: str, value: Any) -> Text:
    """Return the text or the tokens of one row."""
    tokens = value
    if isinstance(value, str) and value.startswith("[") and value.endswith("]"):
        with suppress(ValueError, RecursionError):
            tokens = json.loads(value)
    if isinstance(tokens, list) and all(isinstance(token, str) for token in tokens):
        return tokens
    return _joined(records, at, {column: value})


def _joined(records: Records, at: int, cells: Mapping[str, Any]) -> str:
    """Return the cells of a row, which must be texts, on a line each."""
    for column, value in cells.items():
        if not isinstance(value, str):
            remedy = ' ("" for a row without text)' if value is None else ""
            raise records.error(at, f"text in {column!r}{remedy}", described(value))
    return "\n".join(cells.values())


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
        Names of the rows, if there are any.
    reading : Reading
        How the columns were read.
    lines : sequence of int
        The line number of each row in the file.
    label_names : tuple of str
        All labels of the file: its columns of labels, or the labels that occur, sorted.
    """

    X: list[str] | NDArray[Any]
    labels: list[list[str]] | None
    row_names: tuple[str, ...] | None
    reading: Reading
    lines: Sequence[int]
    label_names: tuple[str, ...] = ()

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
        How to read the table; what it leaves open is guessed.
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
    with _without_collections():
        wanted = wanted_columns(options, known)
        records = read_records(path, options, wanted, known, labelled=labelled)
        reading = (
            find_reading(records, options, labelled=labelled)
            if known is None
            else known_reading(records, options, known, labelled)
        )
        labels, names = read_labels(records, reading) if labelled else (None, ())
        column = row_names_column(records, reading, options)
        return content_of(records, reading, labels, reading.label_columns or names, column)


@contextmanager
def _without_collections() -> Iterator[None]:
    """Pause Python's search for cycles, which reading does not make: it would visit every cell."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # else others rely on what is frozen
            gc.freeze()
            gc.unfreeze()  # both make the cells old, so that the next search passes them over
        if was_on:
            gc.enable()


def content_of(
    records: Records,
    reading: Reading,
    labels: list[list[str]] | None,
    label_names: tuple[str, ...] = (),
    row_names: str | None = None,
) -> Content:
    """Return rows whose cells have been read, and their labels; `row_names` is a column."""
    named = None
    if row_names is not None:
        records.require_one([row_names])
        cells = zip(records.columns[row_names], records.lines, strict=True)
        named = tuple(str(line if cell in (None, MISSING) else cell) for cell, line in cells)
    return Content(_features(records, reading), labels, named, reading, records.lines, label_names)


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
    option = "--text: the model learned from it"
    if not reading.reads_text_only:
        option = "--feature-columns: the model learned from it; train --text uses texts alone"
    records.require(reading.features, option)
    if labelled and reading.labels is not None:
        records.join(reading.labels)
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
            cell = cell.strip() if isinstance(cell, str) else cell
            raise records.error(at, expected, described(cell))
        values.append(value)
    return values


HEAD_ROWS = 10_000
"""Rows from which it is told what separates labels, where the model does not say."""


def table_blocks(
    path: FilePath, options: TableOptions, known: Reading, block_rows: int, *, labelled: bool
) -> Iterator[Content]:
    """Yield the rows of ``read_content``, of which there may be any number, in blocks.

    Memory: one block, and the names of the labels.
    """
    with table_file(path) as file:
        wanted = wanted_columns(options, known)
        head = next(record_blocks(file, options, wanted, known, HEAD_ROWS, labelled=labelled))
        reading = known_reading(head, options, known, labelled)
        row_names = row_names_column(head, reading, options)
        # What was found, and said, is not looked for again.
        file = file._replace(encoding=head.encoding)
        options = replace(options, delimiter=head.delimiter or options.delimiter)
        del head
        given = file, options, reading.features, reading, block_rows
        read_blocks = partial(record_blocks, *given, labelled=labelled)
        names = reading.label_columns if labelled else ()
        if labelled and not names:
            counts: Counter[str] = Counter()
            for records in read_blocks():
                counts.update(chain.from_iterable(label_sets(records, reading)))
            warn_if_rare(counts, file.name, reading)
            names = tuple(sorted(counts))
        for records in read_blocks():
            labels = label_sets(records, reading) if labelled else None
            yield content_of(records, reading, labels, names, row_names)
