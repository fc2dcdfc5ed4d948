"""The data set: what every reader returns and every writer takes."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Csr, Features, Int
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.indicator import check_indicator
from vicinal._base.scalars import check_encodable
from vicinal._base.validation import check_features
from vicinal.datasets.lazy_names import LazyNames


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
        Tuples, or :class:`~vicinal.datasets.lazy_names.LazyNames` if a reader generated them.
    row_names : tuple of str or None
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
        self._check_split()

    def _set(self, name: str, value: object) -> None:
        """Set a field of this frozen dataclass during construction."""
        object.__setattr__(self, name, value)

    def _check_split(self) -> None:
        """Check the row ids of the split and that no row is in both parts."""
        if (self.train is None) != (self.test is None):
            raise InvalidArgumentError("train, test", "both or neither", "only one of them")
        if self.train is None or self.test is None:
            return
        train = _row_ids("train", self.train, self.n_rows)
        test = _row_ids("test", self.test, self.n_rows)
        shared = np.intersect1d(train, test, assume_unique=True)
        if shared.size:
            raise InvalidArgumentError("test", "rows that are not in train", f"row {shared[0]}")
        self._set("train", train)
        self._set("test", test)

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
        split = (
            ""
            if self.train is None or self.test is None
            else (f", split {len(self.train)} + {len(self.test)}")
        )
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
        ids = _chosen(rows, self.n_rows)
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
        per_row = np.diff(self.Y.indptr)
        per_label = np.bincount(self.Y.indices, minlength=self.n_labels)
        nonzero = self.X.nnz if sparse.issparse(self.X) else int(np.count_nonzero(self.X))
        figures: dict[str, float] = {
            "rows": self.n_rows,
            "features": self.n_features,
            "labels": self.n_labels,
            "cardinality": self.cardinality,
            "density": self.density,
            "label sets": _distinct_rows(self.Y),
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
    view: Csr = sparse.csr_array(
        (matrix.data, matrix.indices, matrix.indptr), shape=matrix.shape, copy=False
    )
    view.data = _read_only(view.data)
    view.indices = _read_only(view.indices)
    view.indptr = _read_only(view.indptr)
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


def _row_ids(field: str, rows: object, n_rows: int) -> Int:
    """Return the row ids of one part of a split, which must ascend."""
    ids = _ids(field, rows, n_rows)
    if np.any(np.diff(ids) <= 0):
        raise InvalidArgumentError(field, "ascending row ids", "unsorted or repeated ids")
    return _read_only(ids)


def _chosen(rows: object, n_rows: int) -> Int:
    """Return row ids from row ids or from truth values."""
    array = np.asarray(rows)
    if array.dtype == np.bool_:
        if array.shape != (n_rows,):
            raise InvalidArgumentError("rows", f"{n_rows} truth values", f"shape {array.shape}")
        return np.flatnonzero(array)
    return _ids("rows", rows, n_rows)


def _ids(field: str, rows: object, n_rows: int) -> Int:
    """Return `rows` as one-dimensional int64 ids in [0, n_rows)."""
    array = np.asarray(rows)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InvalidArgumentError(
            field, "a list of row ids", f"{array.dtype} of shape {array.shape}"
        )
    if array.size and (array.min() < 0 or array.max() >= n_rows):
        raise InvalidArgumentError(
            field, f"row ids from 0 to {n_rows - 1}", f"{array.min()} to {array.max()}"
        )
    return array.astype(np.int64)


def _distinct_rows(Y: Csr) -> int:
    """Count the distinct label sets."""
    return len({Y.indices[a:b].tobytes() for a, b in zip(Y.indptr, Y.indptr[1:], strict=False)})
