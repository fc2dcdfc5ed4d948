"""The text format of the extreme classification repository.

The first line holds the counts of rows, features and labels; each further line is a row::

    2 5 3
    0,2 1:0.5 4:1
     0:2

Ids count from 0; a row without labels begins with a blank. Names stand beside the file, line i
naming id i: for ``some.xc.txt`` in ``some-labels.txt`` and ``some-features.txt``, packed or not.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from vicinal.datasets.cells import sparse_rows
from vicinal.datasets.columns import features_of, labels_of
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import (
    DEFAULT_MAX_BYTES,
    PACKED,
    FilePath,
    bare_name,
    open_data,
    without_mark,
    write_data,
)
from vicinal.datasets.names import find_beside, numbered, read_names, write_names
from vicinal.datasets.native_parsers import parse_xc


def read_xc(
    path: FilePath,
    labels: FilePath | None = None,
    features: FilePath | None = None,
    *,
    encoding: str = "utf-8",
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Dataset:
    """Read rows of ``label,label feature:value …`` under a line ``n m L``.

    Parameters
    ----------
    path : path
        May be packed.
    labels, features : path or None
        Files of names; looked for beside `path` where None. Without them the names are
        ``feature0``, … and ``label0``, ….
    encoding : {"utf-8", "latin-1"}
        Of the names; the rows are plain ASCII.
    max_bytes : int
        Most bytes a file may unpack to.

    Notes
    -----
    Memory: the unpacked text, 12 bytes a feature value, 8 a label and 16 a row; text and parsed
    rows are there at once.
    """
    parts = parse_xc(without_mark(open_data(path, max_bytes=max_bytes), path), path)
    label_names = names_beside(path, labels, "label", parts.n_labels, encoding, max_bytes)
    feature_names = names_beside(path, features, "feature", parts.n_features, encoding, max_bytes)
    return Dataset(
        X=features_of(parts.indptr, parts.indices, parts.values, parts.n_features),
        Y=labels_of(parts.label_indptr, parts.label_indices, parts.n_labels),
        feature_names=feature_names,
        label_names=label_names,
        source=Path(path).name,
    )


def names_beside(
    path: FilePath, given: FilePath | None, what: str, count: int, encoding: str, max_bytes: int
) -> Sequence[str]:
    """Return names from the file given or found, else numbers."""
    plain = f"{_stem(path)}-{what}s.txt"
    found = given or find_beside(path, [plain, *(plain + ending for ending in PACKED)])
    if found is None:
        return numbered(count, what, path)
    return read_names(found, count, what, encoding, max_bytes)


def _stem(path: FilePath) -> str:
    """Return the name that data and names share: ``some`` for ``some.xc.txt.gz``."""
    return re.sub(r"(\.xc)?\.txt$|\.xc$", "", bare_name(path), flags=re.IGNORECASE)


def write_xc(
    dataset: Dataset,
    path: FilePath,
    labels: FilePath | None = None,
    features: FilePath | None = None,
) -> None:
    """Write rows of ``label,label feature:value …``, and the names in two files beside them.

    Values read back exactly. Row names and the split are not kept. `labels` and `features` say
    where the names go, by default to ``…-labels.txt`` and ``…-features.txt``.
    """
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
