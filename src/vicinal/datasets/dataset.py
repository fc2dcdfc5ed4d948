"""The data set: what every reader returns and every writer takes.

A header of a few bytes can declare ten million columns, and a nominal attribute with a long name
has one column per value. Lazy names take no memory until they are read.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast, overload

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Int
from vicinal._core.checks import check_encodable
from vicinal._core.labels import check_indicator
from vicinal._core.validation import check_features, check_rows
from vicinal.datasets.data_files import FilePath, open_text, write_data
from vicinal.errors import DataFormatError, InvalidArgumentError


@dataclass(frozen=True, eq=False)
class LazyNames(Sequence[str]):
    """Names that are made when they are read: a word and a part, or the two words of a pair.

    Equal to a tuple of the same names.
    """

    parts: Sequence[int | str | tuple[str, str]]
    word: str = ""

    def __len__(self) -> int:
        """Count the columns."""
        return len(self.parts)

    @overload
    def __getitem__(self, column: int) -> str: ...

    @overload
    def __getitem__(self, column: slice) -> Sequence[str]: ...

    def __getitem__(self, column: int | slice) -> str | Sequence[str]:
        """Return one name, or a tuple for a slice."""
        if isinstance(column, slice):
            return tuple(self[each] for each in range(len(self))[column])
        part = self.parts[column]
        return "=".join(part) if isinstance(part, tuple) else f"{self.word}{part}"

    def __add__(self, others: Sequence[str]) -> tuple[str, ...]:
        """Return a tuple of these names followed by others."""
        return (*self, *others)

    def __radd__(self, others: Sequence[str]) -> tuple[str, ...]:
        """Return a tuple of other names followed by these."""
        return (*others, *self)

    def __eq__(self, other: object) -> bool:
        """Compare with any sequence, name by name."""
        if not isinstance(other, LazyNames | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        """Hash as the tuple of the names."""
        return hash(tuple(self))


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows with features and labels. Its arrays are read-only.

    Parameters
    ----------
    X : ndarray or csr_array of float64, shape (n, m)
        Features, finite; canonical CSR if the content is sparse.
    Y : csr_array of int32, shape (n, L)
        Label indicator: canonical, every stored value 1. Any 0/1 matrix is accepted.
    feature_names, label_names : sequence of str
        Tuples, or :class:`~vicinal.datasets.dataset.LazyNames` if a reader generated them.
    row_names : tuple of str or None
        Names of the rows, if there are any.
    train, test : ndarray of int64 or None
        Row ids of a published split, ascending and disjoint; None if there is none.
    source : str
        Catalogue name or file name that the rows were read from.

    Examples
    --------
    >>> data = Dataset(
    ...     X=[[0.5, 1.0], [0.0, 2.0], [1.0, 0.0]],
    ...     Y=[[1, 0], [1, 1], [0, 0]],
    ...     feature_names=("size", "age"),
    ...     label_names=("red", "round"),
    ...     train=[0, 1],
    ...     test=[2],
    ... )
    >>> data
    Dataset('', 3 rows × 2 dense features, 2 labels, split 2 + 1)
    >>> data.n_rows, data.n_features, data.n_labels, data.cardinality, data.density
    (3, 2, 2, 1.0, 0.5)
    >>> train, test = data.split()
    >>> test.X
    array([[1., 0.]])
    """

    X: Features
    Y: Csr
    feature_names: Sequence[str]
    label_names: Sequence[str]
    row_names: tuple[str, ...] | None = None
    train: Int | None = None
    test: Int | None = None
    source: str = ""

    def __post_init__(self) -> None:
        """Check the parts against each other and freeze the arrays."""
        X = _frozen(check_features(self.X).astype(np.float64, copy=False))
        Y = cast("Csr", _frozen(check_indicator(self.Y)))
        if Y.shape[0] != X.shape[0]:
            raise InvalidArgumentError("Y", f"{X.shape[0]} rows, as in X", Y.shape[0])
        self._set("X", X)
        self._set("Y", Y)
        self._set("feature_names", _names("feature_names", self.feature_names, X.shape[1]))
        self._set("label_names", _names("label_names", self.label_names, Y.shape[1]))
        if self.row_names is not None:
            self._set("row_names", _names("row_names", self.row_names, X.shape[0]))
        if (self.train is None) != (self.test is None):
            raise InvalidArgumentError("train, test", "both or neither", "only one of them")
        if self.train is not None:
            train, test = (self._ids_of(part) for part in ("train", "test"))
            shared = np.intersect1d(train, test, assume_unique=True)
            if shared.size:
                raise InvalidArgumentError("test", "rows that are not in train", f"row {shared[0]}")

    def _set(self, name: str, value: object) -> None:
        """Set a field of this frozen dataclass during construction."""
        object.__setattr__(self, name, value)

    def _ids_of(self, part: str) -> Int:
        """Set and return the row ids of one part of the split, which must ascend."""
        ids = check_rows(part, getattr(self, part), self.n_rows)
        if np.any(np.diff(ids) <= 0):
            raise InvalidArgumentError(part, "ascending row ids", "unsorted or repeated ids")
        self._set(part, _read_only(ids))
        return ids

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.Y.shape[1])

    @property
    def cardinality(self) -> float:
        """Mean number of labels per row; 0 if there are no rows."""
        return self.Y.nnz / self.n_rows if self.n_rows else 0.0

    @property
    def density(self) -> float:
        """Cardinality as a share of the labels; 0 if there are none."""
        return self.cardinality / self.n_labels if self.n_labels else 0.0

    def __repr__(self) -> str:
        """Summarise the data set in one line, without names and values."""
        split = ""
        if self.train is not None and self.test is not None:
            split = f", split {len(self.train)} + {len(self.test)}"
        form = "sparse" if sparse.issparse(self.X) else "dense"
        return (
            f"Dataset({self.source!r}, {self.n_rows} rows × {self.n_features} {form} features, "
            f"{self.n_labels} labels{split})"
        )

    def subset(self, rows: object) -> "Dataset":
        """Return a data set of some of the rows, in the given order and without a split.

        Parameters
        ----------
        rows : array-like of int or of bool
            Row ids from 0 to n − 1, or one truth value per row.
        """
        ids: Int = np.asarray(rows)
        if ids.dtype != np.bool_:
            ids = check_rows("rows", rows, self.n_rows)
        elif ids.shape == (self.n_rows,):
            ids = np.flatnonzero(ids)
        else:
            raise InvalidArgumentError("rows", f"{self.n_rows} truth values", f"shape {ids.shape}")
        names = self.row_names
        return Dataset(
            X=self.X[ids],
            Y=self.Y[ids],
            feature_names=self.feature_names,
            label_names=self.label_names,
            row_names=None if names is None else tuple(names[i] for i in ids),
            source=self.source,
        )

    def split(self) -> tuple["Dataset", "Dataset"]:
        """Return the training and the test rows of the published split as data sets."""
        if self.train is None or self.test is None:
            raise InvalidArgumentError(
                "split",
                "a data set with a published split (choose rows with subset() instead)",
                f"{self.source or 'a data set'} without one",
            )
        return self.subset(self.train), self.subset(self.test)

    def statistics(self) -> dict[str, float]:
        """Return summary statistics of the data set by name."""
        Y = self.Y
        per_row = np.diff(Y.indptr)
        per_label = np.bincount(Y.indices, minlength=self.n_labels)
        nonzero = self.X.nnz if sparse.issparse(self.X) else int(np.count_nonzero(self.X))
        figures: dict[str, float] = {
            "rows": self.n_rows,
            "features": self.n_features,
            "labels": self.n_labels,
            "cardinality": self.cardinality,
            "density": self.density,
            "label sets": len({Y.indices[a:b].tobytes() for a, b in pairwise(Y.indptr.tolist())}),
            "rows without labels": int(np.count_nonzero(per_row == 0)),
            "labels never used": int(np.count_nonzero(per_label == 0)),
            "most labels of a row": int(per_row.max(initial=0)),
            "non-zeros per row": nonzero / self.n_rows if self.n_rows else 0.0,
        }
        if self.train is not None and self.test is not None:
            figures |= {"training rows": len(self.train), "test rows": len(self.test)}
        return figures


def _frozen(matrix: Features) -> Features:
    """Return a read-only view; the caller's own arrays stay writeable."""
    if not isinstance(matrix, sparse.csr_array):
        return _read_only(matrix)
    parts = matrix.data, matrix.indices, matrix.indptr
    view: Csr = sparse.csr_array(parts, shape=matrix.shape, copy=False)
    view.data, view.indices, view.indptr = map(_read_only, parts)
    view.has_canonical_format = True
    return view


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of an array."""
    view = array.view()
    view.flags.writeable = False
    return view


def _names(field: str, names: Iterable[str], count: int) -> Sequence[str]:
    """Return `names` as a tuple of `count` strings that can be encoded; lazy names unchanged."""
    if isinstance(names, LazyNames) and len(names) == count:
        return names
    if isinstance(names, str):
        raise InvalidArgumentError(field, "several names", repr(names))
    names = tuple(names)
    if len(names) != count:
        raise InvalidArgumentError(field, f"{count} names", len(names))
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError(field, "strings", repr(name))
    check_encodable(field, names)
    return names


SPARSE_BELOW = 0.25
"""Features are CSR if less than this share of the cells is non-zero, otherwise dense."""


def by_content(X: NDArray[Any] | Csr) -> Features:
    """Return `X` as a sparse or dense matrix; dense takes at most 8/3 of the memory of sparse."""
    n_cells = X.shape[0] * X.shape[1]
    nonzero = X.nnz if isinstance(X, sparse.csr_array) else int(np.count_nonzero(X))
    is_sparse = nonzero < SPARSE_BELOW * n_cells
    if isinstance(X, sparse.csr_array):
        return X if is_sparse else X.toarray()
    return sparse.csr_array(X) if is_sparse else X


MAX_NUMBERED = 10_000_000
"""Maximum number of columns with generated names, so that a damaged count cannot exhaust memory."""


def numbered(count: int, what: str, path: FilePath) -> LazyNames:
    """Return generated names, which consist of `what` and the number of the column, from 0."""
    if count > MAX_NUMBERED:
        expected = f"at most {MAX_NUMBERED} {what}s without a file of their names"
        raise DataFormatError(path, expected, str(count))
    return LazyNames(range(count), what)


def is_numbered(names: Sequence[str], what: str) -> bool:
    """Tell whether names are those that :func:`numbered` generates."""
    generated = isinstance(names, LazyNames) and names.word == what
    return generated or all(name == f"{what}{i}" for i, name in enumerate(names))


def read_names(
    path: FilePath, count: int, what: str, encoding: str, max_bytes: int
) -> tuple[str, ...]:
    """Read the names of `count` columns, one per line; JSON strings are decoded."""
    lines = open_text(path, encoding=encoding, max_bytes=max_bytes).split("\n")
    if not lines[-1]:
        lines.pop()
    if len(lines) != count:
        raise DataFormatError(path, f"{count} {what} names, one per line", str(len(lines)))
    return tuple(map(_decoded, lines))


def _decoded(line: str) -> str:
    """Return the name in a line, which may be a JSON string."""
    line = line.removesuffix("\r")
    try:
        name = json.loads(line) if len(line) > 1 and line[0] + line[-1] == '""' else line
        name.encode()
    except ValueError:
        return line
    return str(name)


def write_names(path: FilePath, names: Iterable[str]) -> None:
    """Write one name per line, as a JSON string if it could not be read back otherwise."""
    special = re.compile(r"\A[\"\ufeff]|[\n\r]")
    lines = (json.dumps(name) if special.search(name) else name for name in names)
    write_data(path, (f"{line}\n" for line in lines))


def find_beside(path: FilePath, names: Iterable[str]) -> Path | None:
    """Return the first of `names` that is a file in the folder of `path`, ignoring case."""
    folder = Path(path).parent
    if not folder.is_dir():
        return None
    present = {entry.name.lower(): entry for entry in sorted(folder.iterdir(), reverse=True)}
    for name in names:
        found = present.get(name.lower())
        if found is not None and found.is_file():
            return found
    return None
