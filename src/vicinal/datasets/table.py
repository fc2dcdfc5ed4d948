"""Tables with a column of text and a column of labels: JSONL, CSV, TSV."""

import csv
import io
import itertools
import json
from array import array
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal.datasets.bag_of_words import WordOptions, Words, bag_of_words
from vicinal.datasets.cells import sparse_rows
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath, write_data
from vicinal.datasets.table_cells import label_cell, text_cell, text_columns
from vicinal.datasets.table_rows import DELIMITERS, JSON_ENDINGS, Rows, read_rows, table_ending

MOST_REPEATS = 1_000_000
"""Most times one token is written for one row."""


def read_table(
    path: FilePath,
    text: str | Sequence[str] = "text",
    labels: str = "labels",
    *,
    row_names: str | None = None,
    separator: str | None = None,
    columns: Sequence[str] | None = None,
    quoting: bool = True,
    label_names: Sequence[str] | None = None,
    encoding: str = "utf-8",
    max_bytes: int = DEFAULT_MAX_BYTES,
    **words: Unpack[WordOptions],
) -> Dataset:
    """Read a table: the text becomes a bag of words, the labels a set per row.

    Parameters
    ----------
    path : path
        ``.jsonl``, ``.csv`` or ``.tsv``, packed or not.
    text : str or sequence of str
        Column of the text; several columns are joined by line breaks. A JSON list of strings in
        its place is taken as the row's tokens, as they stand.
    labels : str
        Column of the labels: a JSON list, or names parted by `separator`. A label named twice in
        a row counts once.
    row_names : str or None
        Column of the row names.
    separator : str or None
        Parts the labels. None: a JSON list, or commas.
    columns : sequence of str or None
        Names of the columns of a CSV or TSV file without a header.
    quoting : bool
        Whether quotes in a CSV or TSV file enclose cells; False takes them as they stand.
    label_names : sequence of str or None
        The labels, in order; any other is an error. By default those that occur, sorted.
    encoding : {"utf-8", "latin-1"}
    max_bytes : int
        Most bytes the file may unpack to.
    **words
        ``weighting`` (``"binary"``, ``"counts"``, ``"tfidf"``), ``vocabulary``, ``token_pattern``,
        ``lowercase``, ``min_rows``, ``max_features``; see
        :class:`~vicinal.datasets.bag_of_words.Words`.
    """
    options = Words(**words)
    parts = text_columns(text)
    wanted = [*parts, labels, *([] if row_names is None else [row_names])]
    rows = read_rows(path, wanted, columns, quoting, encoding, max_bytes)
    own_names = None if row_names is None else tuple(map(str, rows.cells[row_names]))
    X, feature_names = bag_of_words([text_cell(row, parts, path) for row in rows], options, path)
    Y, known = _indicator(rows, labels, separator, label_names, path)
    try:
        return Dataset(X, Y, feature_names, known, own_names, source=Path(path).name)
    except InvalidArgumentError as error:
        expected = f"{error.expected} in {error.name}"
        raise DataFormatError(str(path), expected, str(error.got)) from None


def _indicator(
    rows: Rows, column: str, separator: str | None, names: Sequence[str] | None, path: FilePath
) -> tuple[Csr, tuple[str, ...]]:
    """Return the label sets as an indicator, and the names of its columns: given, or sorted."""
    number = {} if names is None else {name: i for i, name in enumerate(names)}
    if names is not None and len(number) != len(names):
        raise InvalidArgumentError("label_names", "different names", "one twice")
    indices, ends = array("i"), array("q", [0])
    for row in rows:
        for label in label_cell(row, column, separator, path):
            if names is not None and label not in number:
                raise DataFormatError(str(path), "a label of label_names", repr(label), row.line)
            indices.append(number.setdefault(label, len(number)))
        ends.append(len(indices))
    known = tuple(sorted(number) if names is None else names)
    place = np.empty(len(known), dtype=np.int32)
    place[[number[name] for name in known]] = np.arange(len(known))
    ones = np.ones(len(indices), dtype=np.int32)
    parts = (ones, place[np.asarray(indices)], np.asarray(ends))
    return sparse.csr_array(parts, shape=(len(rows), len(known))), known


def write_table(
    dataset: Dataset,
    path: FilePath,
    *,
    text: str = "text",
    labels: str = "labels",
    row_names: str = "name",
) -> None:
    """Write a table whose text column lists each row's tokens, a token with count c c times.

    Values must be counts: whole numbers from 0 to a million. Read back with ``weighting="counts"``,
    and with ``vocabulary`` and ``label_names`` where a name that no row uses, or the order, counts.
    Row names are kept in the column `row_names`, where there are any; the split is not.
    """
    ending = table_ending(path)
    columns = ([] if dataset.row_names is None else [row_names]) + [text, labels]
    if len(set(columns)) != len(columns):
        raise InvalidArgumentError("columns", "different names", columns)
    _check_counts(dataset)
    rows = _records(dataset)
    if ending in JSON_ENDINGS:
        write_data(
            path,
            (
                json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n"
                for row in rows
            ),
        )
    else:
        write_data(path, _cell_lines(columns, rows, DELIMITERS[ending]))


def _check_counts(dataset: Dataset) -> None:
    """Refuse values that no number of repeats can stand for."""
    values = dataset.X if isinstance(dataset.X, np.ndarray) else dataset.X.data
    bad = values[(values < 0) | (values > MOST_REPEATS) | (values != np.floor(values))]
    if bad.size:
        expected = f"counts (whole numbers from 0 to {MOST_REPEATS}) in a table of text"
        raise InvalidArgumentError("X", expected, f"{bad.ravel()[0]:g}")


def _records(dataset: Dataset) -> Iterator[list[Any]]:
    """Yield the cells of each row: its name if it has one, its tokens, its labels."""
    names = dataset.row_names
    for row, (labels, features, counts) in enumerate(sparse_rows(dataset)):
        tokens = [
            dataset.feature_names[feature]
            for feature, count in zip(features, counts, strict=True)
            for _ in range(int(count))
        ]
        own = [dataset.label_names[label] for label in labels]
        yield [tokens, own] if names is None else [names[row], tokens, own]


def _cell_lines(columns: list[str], rows: Iterator[list[Any]], delimiter: str) -> Iterator[str]:
    """Yield the lines of a CSV or TSV file; lists are written as JSON."""
    line = io.StringIO(newline="")
    writer = csv.writer(line, delimiter=delimiter)
    for cells in itertools.chain([columns], rows):
        writer.writerow(
            [c if isinstance(c, str) else json.dumps(c, ensure_ascii=False) for c in cells]
        )
        yield line.getvalue()
        line.seek(0)
        line.truncate()
