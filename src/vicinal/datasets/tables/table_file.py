"""Tables of texts or numbers and labels, as data sets: CSV, TSV, JSON, Parquet."""

import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Features
from vicinal._core.labels import indicator_of
from vicinal.datasets.data_files import FilePath, write_data
from vicinal.datasets.dataset import Dataset, by_content
from vicinal.datasets.tables.content import category_of, column_numbers, row_texts, wanted_columns
from vicinal.datasets.tables.csv import DELIMITERS, written_lines
from vicinal.datasets.tables.guess import find_reading
from vicinal.datasets.tables.label_cells import read_labels
from vicinal.datasets.tables.reading import Reading, Records, TableOptions
from vicinal.datasets.tables.table_rows import read_records, table_ending
from vicinal.datasets.texts import Words, bag_of_words
from vicinal.datasets.xc import sparse_rows
from vicinal.errors import DataFormatError, InvalidArgumentError


def table_features(
    records: Records, reading: Reading, words: Words
) -> tuple[Features, tuple[str, ...]]:
    """Return the features of a table and their names: words, columns, then ``column=value``."""
    blocks: list[Features] = []
    names: tuple[str, ...] = ()
    if reading.text:
        X, tokens = bag_of_words(row_texts(records, reading.text), words, records.path)
        blocks.append(X)
        names += tokens
    if reading.numbers:
        columns = [column_numbers(records, name, reading.decimal) for name in reading.numbers]
        blocks.append(np.column_stack(columns))
        names += reading.numbers
    for name in reading.categories:
        cells = [category_of(cell) for cell in records.cells(name)]
        known, codes = np.unique(np.array(cells), return_inverse=True)
        parts = (np.ones(len(codes)), (np.arange(len(codes)), codes))
        blocks.append(sparse.csr_array(parts, shape=(len(codes), len(known))))
        names += tuple(f"{name}={value}" for value in known.tolist())
    if len(blocks) == 1:
        return blocks[0], names
    return by_content(sparse.csr_array(sparse.hstack([sparse.csr_array(b) for b in blocks]))), names


WRITTEN = (".jsonl", ".ndjson", *DELIMITERS)
"""Extensions of the tables that can be written."""
MOST_REPEATS = 1_000_000
"""Maximum number of times that a token is written for one row."""


def read_table(
    path: FilePath,
    text: str | Sequence[str] | None = None,
    labels: str | None = None,
    *,
    label_names: Sequence[str] | None = None,
    **options: Any,
) -> Dataset:
    """Read a table: texts become bags of words, numeric columns features, and labels sets.

    `options` are the fields of ``TableOptions`` and of ``Words``.
    """
    of_words = options.keys() & {each.name for each in fields(Words)}
    bag = Words(**{name: options.pop(name) for name in of_words})
    how = TableOptions((text,) if isinstance(text, str) else text, labels, **options)
    records = read_records(path, how, wanted_columns(how, None))
    reading = find_reading(records, how)
    X, feature_names = table_features(records, reading, bag)
    sets, known = read_labels(records, reading)
    if label_names is not None:
        _check_known(records, sets, label_names)
        known = tuple(label_names)
    Y = indicator_of(sets, known)
    named = reading.row_names
    own_names = None if named is None else tuple(map(str, records.cells(named)))
    try:
        return Dataset(X, Y, feature_names, known, own_names, source=Path(path).name)
    except InvalidArgumentError as error:
        expected = f"{error.expected} in {error.name}"
        raise DataFormatError(path, expected, str(error.got)) from None


def _check_known(records: Records, sets: list[list[str]], names: Sequence[str]) -> None:
    """Raise for repeated names, and for a label that is not among them."""
    known = set(names)
    if len(known) != len(names):
        raise InvalidArgumentError("label_names", "different names", "a repeated name")
    for at, labels in enumerate(sets):
        unknown = [label for label in labels if label not in known]
        if unknown:
            raise records.error(at, "a label of label_names", repr(unknown[0]))


def write_table(
    dataset: Dataset,
    path: FilePath,
    *,
    text: str = "text",
    labels: str = "labels",
    row_names: str = "name",
) -> None:
    """Write a table whose text column lists the tokens of each row, each as often as it occurs.

    To read the same data set back, pass ``weighting="counts"``, and ``vocabulary`` and
    ``label_names`` to keep their order and those that no row uses. The split is not written.
    """
    ending = table_ending(path, WRITTEN)
    columns = ([] if dataset.row_names is None else [row_names]) + [text, labels]
    if len(set(columns)) != len(columns):
        raise InvalidArgumentError("columns", "different names", columns)
    values = dataset.X if isinstance(dataset.X, np.ndarray) else dataset.X.data
    bad = values[(values < 0) | (values > MOST_REPEATS) | (values != np.floor(values))]
    if bad.size:
        expected = f"counts (whole numbers from 0 to {MOST_REPEATS}) in a table of text"
        raise InvalidArgumentError("X", expected, f"{bad.ravel()[0]:g}")
    rows = _records(dataset)
    if ending in DELIMITERS:
        cells = ([c if isinstance(c, str) else _as_json(c) for c in row] for row in rows)
        write_data(path, written_lines(itertools.chain([columns], cells), DELIMITERS[ending]))
    else:
        write_data(path, (_as_json(dict(zip(columns, row, strict=True))) + "\n" for row in rows))


def _as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


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
