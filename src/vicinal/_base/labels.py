"""Labels as users have them: an indicator, dense or sparse, or the label names of each row."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard, cast

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, stack_rows
from vicinal._base.errors import InvalidArgumentError
from vicinal._base.indicator import check_indicator
from vicinal._base.validation import check_sequence

Kind = Literal["dense", "sparse"]


@dataclass(frozen=True, eq=False)
class Labels:
    """A label indicator with its names, and the kind of array to answer in.

    Parameters
    ----------
    matrix : csr_array of int32, shape (n, L)
        Canonical indicator.
    names : tuple of str
        One per label; ``"0"``, ``"1"``, … where the caller gave none.
    kind : {"dense", "sparse"}
        What ``predict`` answers in: an ndarray where labels came as one (or as a frame), CSR where
        they came sparse or as names.
    dtype : str
        The number type that ``predict`` answers in: that of the indicator, int32 for names.
    """

    matrix: Csr
    names: tuple[str, ...]
    kind: Kind
    dtype: str = "int32"


def read_labels(
    Y: object, n_rows: int, label_names: Sequence[str] | None = None, name: str = "Y"
) -> Labels:
    """Return the labels of `n_rows` rows, however they came.

    `label_names` name the columns of an indicator, or give the order (and further labels) where
    rows come as names.

    Examples
    --------
    >>> labels = read_labels([["sad"], [], ["calm", "sad"]], n_rows=3)
    >>> labels.names
    ('calm', 'sad')
    >>> labels.matrix.toarray()
    array([[0, 1],
           [0, 0],
           [1, 1]], dtype=int32)
    """
    if Y is None:
        raise InvalidArgumentError(
            name, "labels", "None: fit requires y to be passed, but the target y is None"
        )
    given = _given_names(label_names)
    if is_names(Y):
        matrix, names = _from_names(Y, given, name)
        kind: Kind = "sparse"
        dtype = "int32"
    else:
        matrix = check_indicator(Y, name)
        names = given or _column_names(Y) or tuple(map(str, range(matrix.shape[1])))
        kind = "sparse" if sparse.issparse(Y) else "dense"
        dtype = _dtype(Y)
    if matrix.shape[0] != n_rows:
        raise InvalidArgumentError(name, f"{n_rows} rows, as X has", f"{matrix.shape[0]} rows")
    if len(names) != matrix.shape[1] or len(set(names)) != len(names):
        expected = f"{matrix.shape[1]} different names, one a label"
        raise InvalidArgumentError("label_names", expected, f"{len(set(names))} of {len(names)}")
    if matrix.shape[1] == 0:
        raise InvalidArgumentError(name, "at least one label", f"shape {matrix.shape}")
    return Labels(matrix, names, kind, dtype)


def extended_labels(
    known: Labels, Y: object, n_rows: int, label_names: Sequence[str] | None = None
) -> Labels:
    """Return the labels of known rows and of `n_rows` further ones; new names come last.

    Where `Y` brings no names, its columns are those of the known labels.

    Examples
    --------
    >>> known = read_labels([["a"], ["b"]], n_rows=2)
    >>> more = extended_labels(known, [["c", "a"]], n_rows=1)
    >>> more.names, more.matrix.toarray().tolist()
    (('a', 'b', 'c'), [[1, 0, 0], [0, 1, 0], [1, 0, 1]])
    """
    has_names = label_names is not None or is_names(Y) or _column_names(Y) is not None
    if not has_names:
        label_names = known.names
    fresh = read_labels(Y, n_rows, label_names)
    moved, names = aligned(fresh.matrix, fresh.names, known.names)
    old = known.matrix
    widened = sparse.csr_array(
        (old.data, old.indices, old.indptr), shape=(old.shape[0], len(names))
    )
    return Labels(stack_rows([widened, moved]), names, known.kind, known.dtype)


def aligned(Y: Csr, names: tuple[str, ...], known: tuple[str, ...]) -> tuple[Csr, tuple[str, ...]]:
    """Return `Y` with the columns of the known labels first, then the others, and all names.

    Examples
    --------
    >>> Y = sparse.csr_array(np.array([[1, 0, 0], [0, 1, 1]], dtype=np.int32))
    >>> moved, names = aligned(Y, ("c", "b", "x"), known=("a", "b", "c"))
    >>> names, moved.toarray().tolist()
    (('a', 'b', 'c', 'x'), [[0, 0, 1, 0], [0, 1, 0, 1]])
    """
    before = set(known)
    everything = known + tuple(name for name in names if name not in before)
    column_of = {name: column for column, name in enumerate(everything)}
    columns = np.array([column_of[name] for name in names], dtype=np.int32)
    moved = sparse.csr_array(
        (Y.data.copy(), columns[Y.indices], Y.indptr), shape=(Y.shape[0], len(everything))
    )
    moved.sort_indices()
    return moved, everything


def indicator_of(rows: Iterable[Collection[str]], names: Sequence[str], name: str = "Y") -> Csr:
    """Return the indicator of the label names of each row, columns in the order of `names`.

    Examples
    --------
    >>> indicator_of([["b", "b"], []], names=["a", "b"]).toarray()
    array([[0, 1],
           [0, 0]], dtype=int32)
    """
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


def is_names(Y: object) -> TypeGuard[Sequence[Collection[str]]]:
    """Tell whether `Y` is one collection of label names per row.

    Examples
    --------
    >>> is_names([{"a"}, ()]), is_names([[0, 1], [1, 0]]), is_names(["a", "b"])
    (True, False, False)
    """
    if not isinstance(Y, list | tuple):
        return False
    rows = [list(row) for row in Y if isinstance(row, list | tuple | set | frozenset)]
    first = next((row[0] for row in rows if row), None)
    return len(rows) == len(Y) and isinstance(first, str)


def _given_names(label_names: object) -> tuple[str, ...]:
    """Return the label names a caller gave, in whatever collection; none where there are none."""
    names = () if label_names is None else tuple(check_sequence("label_names", label_names))
    for each in names:
        if not isinstance(each, str):
            raise InvalidArgumentError("label_names", "strings", repr(each))
    return tuple(map(str, names))  # NumPy's strings are a type of their own


def _from_names(
    Y: Sequence[Collection[str]], given: tuple[str, ...], name: str
) -> tuple[Csr, tuple[str, ...]]:
    """Return the indicator of `Y` and its label names: those given, or sorted."""
    for row, collection in enumerate(Y):
        strange = [label for label in collection if not isinstance(label, str)]
        if strange:
            raise InvalidArgumentError(
                name, "label names (strings) in every row", f"{strange[0]!r} in row {row}"
            )
    names = given or sorted({label for collection in Y for label in collection})
    return indicator_of(Y, names, name), tuple(names)


def _column_names(Y: object) -> tuple[str, ...] | None:
    """Return the column names of a data frame, None for anything else."""
    columns = getattr(Y, "columns", None)
    if columns is None or sparse.issparse(Y):
        return None
    return tuple(str(column) for column in cast("Any", columns))


def _dtype(Y: object) -> str:
    """Return the number type of an indicator that was checked; int64 for mixed frames."""
    dtype = cast("Any", Y).dtype if sparse.issparse(Y) else np.asarray(Y).dtype
    return "int64" if dtype.kind == "O" else str(dtype)
