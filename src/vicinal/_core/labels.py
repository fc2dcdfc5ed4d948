"""Labels in the forms that users pass: a dense or sparse indicator, or label names per row."""

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Bool, Csr, Int32
from vicinal._core.checks import check_encodable, check_sequence
from vicinal._core.csr import (
    LARGEST,
    bare_csr,
    dense_csr,
    is_canonical_indicator,
    is_frozen,
    quick_indicator,
    trust,
)
from vicinal._core.validation import canonical_csr
from vicinal.errors import InvalidArgumentError


def check_indicator(Y: object, name: str = "Y") -> Csr:
    """Return the label indicator `Y` as canonical CSR: int32 ones, sorted rows, no stored zeros."""
    if isinstance(Y, np.matrix):
        raise InvalidArgumentError(name, "an ndarray or a sparse array", "numpy.matrix")
    if is_frozen(Y) and Y.dtype == np.int32 and is_canonical_indicator(Y, Y.shape[1]):
        return Y
    if not sparse.issparse(Y):
        ones = _dense_ones(Y, name)
    elif is_canonical_indicator(Y, cast("Any", Y).shape[-1]):
        ones = Y
    else:
        ones = canonical_csr(Y, name)
        _refuse_others(ones.data, ones.data == 1, name)
    data = np.ones(ones.nnz, dtype=np.int32)
    n_rows, n_labels = ones.shape
    if max(ones.nnz, n_labels) >= LARGEST:  # SciPy requires one type for both
        wide = ones.indices.astype(np.int64), ones.indptr.astype(np.int64)
        return sparse.csr_array((data, *wide), shape=ones.shape)
    indices, indptr = ones.indices.astype(np.int32), ones.indptr.astype(np.int32)
    return bare_csr(data, indices, indptr, (int(n_rows), int(n_labels)))


def _dense_ones(Y: object, name: str) -> Csr:
    """Return the pattern of a dense indicator."""
    try:
        array = np.asarray(Y)
        if array.dtype.kind == "O":
            array = array.astype(np.float64)
    except (TypeError, ValueError):
        raise InvalidArgumentError(name, "rows of 0 and 1, all equally long", type(Y)) from None
    if array.dtype.kind not in "fiub":
        raise InvalidArgumentError(name, "values 0 and 1 only", f"dtype {array.dtype}")
    if array.ndim != 2:
        raise InvalidArgumentError(name, "a two-dimensional array", f"shape {array.shape}")
    _refuse_others(array, (array == 0) | (array == 1), name)
    return dense_csr(array != 0)


def _refuse_others(values: NDArray[Any], allowed: Bool, name: str) -> None:
    """Raise an error that names the first value other than 0 and 1."""
    if not allowed.all():
        at = int(np.argmin(allowed))
        place = f" in row {at // values.shape[1]}" if values.ndim == 2 else ""
        raise InvalidArgumentError(name, "values 0 and 1 only", f"{values.ravel()[at]:g}{place}")


Kind = Literal["dense", "sparse", "flat"]
COLLECTIONS = (list, tuple, set, frozenset)
"""Types that may contain the label names of a row."""


@dataclass(frozen=True, eq=False)
class Labels:
    """A label indicator with its names, and the type of array that ``predict`` returns."""

    matrix: Csr
    names: tuple[str, ...]
    kind: Kind
    dtype: str = "int32"


def read_labels(
    Y: object, n_rows: int, label_names: Sequence[str] | None = None, name: str = "Y"
) -> Labels:
    """Return the labels of `n_rows` rows, given in any supported form."""
    labels = _any_labels(Y, n_rows, label_names, name)
    if not labels.names:
        got, hint = f"shape {labels.matrix.shape}", "no row has a label: is it the right column?"
        raise InvalidArgumentError(name, "at least one label", got, hint)
    return labels


def _any_labels(
    Y: object, n_rows: int, label_names: Sequence[str] | None = None, name: str = "Y"
) -> Labels:
    """Return the labels of `n_rows` rows; there may be no labels at all."""
    if Y is None:
        raise InvalidArgumentError(
            name, "labels", None, "fit(X, Y) requires y to be passed, but the target y is None"
        )
    given = None if label_names is None else _checked_names(label_names)
    rows = listed(Y)
    if is_names(rows) or _has_collections(rows):
        named = label_rows(cast("Any", rows), name)
        found = {str(label) for collection in named for label in collection}
        names = tuple(sorted(found)) if given is None else given
        matrix = indicator_of(named, names, name)
        kind: Kind = "sparse"
        dtype = "int32"
    elif is_flat(Y):
        matrix = check_indicator(np.asarray(Y)[:, None], name)
        names = (str(getattr(Y, "name", None) or "0"),) if given is None else given
        kind, dtype = "flat", _dtype(np.asarray(Y))
    else:
        matrix = check_indicator(Y, name)
        columns = cast("Any", Y).columns if _has_columns(Y) else range(matrix.shape[1])
        names = tuple(map(str, columns)) if given is None else given
        kind = "sparse" if sparse.issparse(Y) else "dense"
        dtype = _dtype(Y)
    check_encodable(name if given is None else "label_names", names)
    if matrix.shape[0] != n_rows:
        raise InvalidArgumentError(name, f"{n_rows} rows, as in X", f"{matrix.shape[0]} rows")
    if len(names) != matrix.shape[1] or len(set(names)) != len(names):
        expected = f"{matrix.shape[1]} different names, one per label"
        raise InvalidArgumentError("label_names", expected, f"{len(set(names))} of {len(names)}")
    return Labels(matrix, names, kind, dtype)


def further_labels(
    known: tuple[str, ...], Y: object, n_rows: int, label_names: Sequence[str] | None = None
) -> tuple[Csr, tuple[str, ...]]:
    """Return the labels of further rows, with known labels first, and all label names."""
    quick = None if label_names is not None else quick_indicator(Y, n_rows, len(known))
    if quick is not None:
        return quick, known
    fresh = _any_labels(Y, n_rows, label_names)
    if label_names is None and not is_names(listed(Y)) and not _has_columns(Y):
        if len(fresh.names) != len(known):
            expected = f"{len(known)} labels, as in the model"
            raise InvalidArgumentError("Y", expected, f"{len(fresh.names)} labels")
        return trust(fresh.matrix), known
    moved, names = aligned(fresh.matrix, fresh.names, known)
    return trust(moved), names


def aligned(Y: Csr, names: tuple[str, ...], known: tuple[str, ...]) -> tuple[Csr, tuple[str, ...]]:
    """Return `Y` with the columns of the known labels first, then the others, and all names."""
    columns, everything = aligned_columns(names, known)
    return moved_columns(Y, columns, len(everything)), everything


def aligned_columns(names: Sequence[str], known: tuple[str, ...]) -> tuple[Int32, tuple[str, ...]]:
    """Return the column of each name where known labels come first, and all names in that order."""
    column_of = {name: column for column, name in enumerate(known)}
    columns = np.fromiter(
        (column_of.setdefault(name, len(column_of)) for name in names), np.int32, len(names)
    )
    return columns, known if len(column_of) == len(known) else tuple(column_of)


def moved_columns(Y: Csr, columns: Int32, n_columns: int) -> Csr:
    """Return `Y` with each column at the place that `columns` names."""
    moved = sparse.csr_array(
        (Y.data.copy(), columns[Y.indices], Y.indptr), shape=(Y.shape[0], n_columns)
    )
    moved.sort_indices()
    return moved


def indicator_of(
    rows: Iterable[Collection[Hashable]], names: Sequence[Hashable], name: str = "Y"
) -> Csr:
    """Return the indicator of the label names of each row, columns in the order of `names`."""
    column_of = {label: column for column, label in enumerate(names)}
    indptr = [0]
    indices: list[int] = []
    for row, collection in enumerate(rows):
        unknown = [label for label in collection if label not in column_of]
        if unknown:
            raise InvalidArgumentError(name, "known label names", f"{unknown[0]!r} in row {row}")
        indices += sorted({column_of[label] for label in collection})
        indptr.append(len(indices))
    ones = np.ones(len(indices), dtype=np.int32)
    return sparse.csr_array((ones, indices, indptr), shape=(len(indptr) - 1, len(names)))


def listed(Y: object) -> object:
    """Return a column of label-name collections (a Series, an array of lists) as a list."""
    if isinstance(Y, list | tuple) or len(getattr(Y, "shape", ())) != 1 or sparse.issparse(Y):
        return Y
    column = cast("Any", Y)
    cells = column.to_list() if hasattr(column, "to_list") else column.tolist()
    rows = [cell.tolist() if isinstance(cell, np.ndarray) else cell for cell in cells]
    return rows if is_names(rows) or _has_collections(rows) else Y


def label_rows(Y: Sequence[Any], name: str) -> Sequence[Collection[str]]:
    """Return one collection of label names per row, or raise an error that names the bad row."""
    for row, collection in enumerate(Y):
        if not isinstance(collection, COLLECTIONS):
            expected = "a list of label names in every row (an empty one for a row without labels)"
            got = "no value" if is_missing(collection) else f"{type(collection).__name__}"
            hint = "[y if isinstance(y, list) else [] for y in Y]" if got == "no value" else ""
            raise InvalidArgumentError(name, expected, f"{got} in row {row}", hint)
        if "" in collection:
            hint = "a row without labels is []: [[y for y in row if y] for row in Y]"
            raise InvalidArgumentError(name, "label names", f"an empty one in row {row}", hint)
        strange = [label for label in collection if not isinstance(label, str)]
        if strange:
            expected = "label names (strings) in every row"
            raise InvalidArgumentError(name, expected, f"{strange[0]!r} in row {row}")
    return Y


def is_missing(cell: object) -> bool:
    """Tell whether a cell is None, NaN or what a data frame has in place of a value."""
    is_nan = isinstance(cell, float) and math.isnan(cell)
    return cell is None or is_nan or type(cell).__name__ in ("NAType", "NaTType")


def _has_collections(rows: object) -> bool:
    """Tell whether some rows are collections of names and others are missing or plain values."""
    if not isinstance(rows, list | tuple):
        return False
    kept = [row for row in rows if isinstance(row, COLLECTIONS)]
    return 0 < len(kept) < len(rows) and is_names(kept)


def is_names(Y: object) -> TypeGuard[Sequence[Collection[str]]]:
    """Tell whether `Y` is one collection of label names per row; all of them may be empty."""
    if not isinstance(Y, list | tuple):
        return False
    rows = [list(row) for row in Y if isinstance(row, list | tuple | set | frozenset)]
    first = next((row[0] for row in rows if row), "")
    return len(rows) == len(Y) and isinstance(first, str)


def _checked_names(label_names: object) -> tuple[str, ...]:
    """Return the names given by a caller."""
    names = tuple(check_sequence("label_names", label_names))
    for name in names:
        if not isinstance(name, str):
            raise InvalidArgumentError("label_names", "strings", repr(name))
    return tuple(map(str, names))  # converts NumPy's string type


def is_flat(Y: object) -> bool:
    """Tell whether `Y` is one number per row, in one dimension."""
    if isinstance(Y, list | tuple):
        return bool(Y) and all(isinstance(y, int | float | np.number | np.bool_) for y in Y)
    is_row = getattr(Y, "ndim", 0) == 1 and not sparse.issparse(Y)
    return is_row and np.asarray(Y).dtype.kind in "biuf"


def as_column(Y: Any) -> Any:
    """Return one number per row as one column, and anything else unchanged."""
    return np.asarray(Y)[:, None] if is_flat(Y) else Y


def _has_columns(Y: object) -> bool:
    """Tell whether `Y` is a data frame, whose columns have names."""
    return hasattr(Y, "columns") and not sparse.issparse(Y)


def _dtype(Y: object) -> str:
    """Return the number type for ``predict``, in native byte order; int64 for mixed frames."""
    dtype = cast("Any", Y).dtype if sparse.issparse(Y) else np.asarray(Y).dtype
    if dtype.kind == "O":
        return "int64"
    known = dtype.kind != "f" or dtype.itemsize in (4, 8)
    return str(dtype.newbyteorder("=")) if known else "float64"
