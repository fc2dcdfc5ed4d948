"""The text format of the extreme classification repository.

The first line contains the numbers of rows, features and labels; each further line is a row::

    2 5 3
    0,2 1:0.5 4:1
     0:2

Ids start at 0; a row without labels starts with a blank. Names are in two further files, one per
line: ``some-labels.txt`` and ``some-features.txt`` for ``some.xc.txt``, possibly compressed.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr
from vicinal._native import ParseError
from vicinal._native import read_xc as xc_rows
from vicinal.datasets.data_files import (
    DEFAULT_MAX_BYTES,
    PACKED,
    FilePath,
    bare_name,
    open_data,
    without_mark,
    write_data,
)
from vicinal.datasets.dataset import (
    Dataset,
    by_content,
    find_beside,
    numbered,
    read_names,
    write_names,
)
from vicinal.errors import DataFormatError


def parse_xc(text: bytes, path: FilePath) -> tuple[Csr, Csr]:
    """Return the features and the labels of extreme-classification text."""
    try:
        _, n_features, n_labels, *parts = xc_rows(text)
    except ParseError as error:
        raise format_error(error, path) from None
    return parsed_rows(parts, n_features, n_labels)


def parsed_rows(parts: Sequence[Any], n_features: int, n_labels: int) -> tuple[Csr, Csr]:
    """Return features and labels from row starts, columns and values, row starts and columns."""
    indptr, indices, values, label_indptr, label_indices = parts
    n_rows = len(indptr) - 1
    ones = np.ones(len(label_indices), dtype=np.int32)
    return (
        sparse.csr_array((values, indices, indptr), shape=(n_rows, n_features)),
        sparse.csr_array((ones, label_indices, label_indptr), shape=(n_rows, n_labels)),
    )


def format_error(error: "ParseError", path: FilePath) -> DataFormatError:
    """Return the error for the user; the offending text may be in any encoding."""
    line, expected, got = error.args
    return DataFormatError(path, expected.decode(), got.decode(errors="backslashreplace"), line)


def number_texts(values: NDArray[Any]) -> list[str]:
    """Return each value as text that parses to the same value; whole numbers without a point."""
    distinct, place = np.unique(values, return_inverse=True)
    texts = [repr(value).removesuffix(".0") for value in distinct.tolist()]
    return [texts[i] for i in place.tolist()]


def sparse_rows(dataset: Dataset) -> Iterator[tuple[list[int], list[int], list[str]]]:
    """Yield, for each row, label ids, feature ids and the features' values as text."""
    X, Y = dataset.X, dataset.Y
    for row in range(dataset.n_rows):
        labels = Y.indices[Y.indptr[row] : Y.indptr[row + 1]].tolist()
        if isinstance(X, np.ndarray):
            features = np.flatnonzero(X[row]).tolist()
            values = X[row, features]
        else:
            features = X.indices[X.indptr[row] : X.indptr[row + 1]].tolist()
            values = X.data[X.indptr[row] : X.indptr[row + 1]]
        yield labels, features, number_texts(values)


def read_xc(
    path: FilePath,
    labels: FilePath | None = None,
    features: FilePath | None = None,
    *,
    encoding: str = "utf-8",
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Dataset:
    """Read a line ``n m L``, then rows ``label,label feature:value …``.

    Memory: the unpacked text, 12 bytes per feature value, 8 per label of a row and 16 per row.
    """
    content = without_mark(open_data(path, max_bytes=max_bytes), path)
    refuse_text(content, path)
    X, Y = parse_xc(content, path)
    label_names = names_beside(path, labels, "label", int(Y.shape[1]), encoding, max_bytes)
    feature_names = names_beside(path, features, "feature", int(X.shape[1]), encoding, max_bytes)
    return Dataset(by_content(X), Y, feature_names, label_names, source=Path(path).name)


def refuse_text(content: bytes, path: FilePath) -> None:
    """Refuse a file that begins with words, with a hint to how a table would be named."""
    first = content[:1000].split(b"\n", 1)[0]
    if any(letter.isalpha() for letter in first.decode("utf-8", "replace")):
        expected = "counts of rows, features and labels (a table of texts? name it .csv or .tsv)"
        raise DataFormatError(path, expected, repr(first[:40].decode("utf-8", "replace")), 1)


def names_beside(
    path: FilePath, given: FilePath | None, what: str, count: int, encoding: str, max_bytes: int
) -> Sequence[str]:
    """Return names from the given or found file, otherwise generated names."""
    plain = f"{_stem(path)}-{what}s.txt"
    found = given or find_beside(path, [plain, *(plain + ending for ending in PACKED)])
    if found is None:
        return numbered(count, what, path)
    return read_names(found, count, what, encoding, max_bytes)


def _stem(path: FilePath) -> str:
    """Return the common part of the file names: ``some`` for ``some.xc.txt.gz``."""
    return re.sub(r"(\.xc)?\.txt$|\.xc$", "", bare_name(path), flags=re.IGNORECASE)


def write_xc(
    dataset: Dataset,
    path: FilePath,
    labels: FilePath | None = None,
    features: FilePath | None = None,
) -> None:
    """Write rows ``label,label feature:value …``, and the names to two further files."""
    beside = Path(path)
    write_names(labels or beside.with_name(f"{_stem(path)}-labels.txt"), dataset.label_names)
    write_names(features or beside.with_name(f"{_stem(path)}-features.txt"), dataset.feature_names)
    write_data(path, _lines(dataset))


def _lines(dataset: Dataset) -> Iterator[str]:
    """Yield the lines of the file."""
    yield f"{dataset.n_rows} {dataset.n_features} {dataset.n_labels}\n"
    for labels, features, values in sparse_rows(dataset):
        pairs = "".join(f" {i}:{value}" for i, value in zip(features, values, strict=True))
        yield ",".join(map(str, labels)) + (pairs or " ") + "\n"
