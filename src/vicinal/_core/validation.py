"""Validate input: every matrix and number that a user passes is checked here, once.

The stages and the compiled core rely on these checks and do not repeat them.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr, Features, Int, Int32, contiguous, row_ids
from vicinal._core.checks import check_encodable
from vicinal._core.csr import (
    check_sparse_structure,
    dense_csr,
    frozen_copy,
    known_parts,
    shared_csr,
)
from vicinal.errors import InvalidArgumentError


def check_rows(name: str, rows: object, n_rows: int) -> Int:
    """Return row ids as int64, each in [0, n_rows)."""
    ids = np.asarray(rows)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise InvalidArgumentError(
            name, "a one-dimensional array of row ids", f"{ids.dtype} of shape {ids.shape}"
        )
    if ids.size and (ids.min() < 0 or ids.max() >= n_rows):
        wrong = ids[(ids < 0) | (ids >= n_rows)][0]
        raise InvalidArgumentError(name, f"row ids from 0 to {n_rows - 1}", wrong)
    return ids.astype(np.int64)


def check_features(X: object, name: str = "X", n_features: int | None = None) -> Features:
    """Return `X` as a finite float matrix: C-contiguous ndarray, or canonical CSR where sparse.

    float32 and float64 are kept; every other number type becomes float64. The caller's arrays are
    never changed, and only copied if they have to be converted.
    """
    if isinstance(X, np.matrix):
        raise InvalidArgumentError(name, "an ndarray or a sparse array", "numpy.matrix")
    matrix: Features
    matrix = canonical_csr(X, name) if sparse.issparse(X) else _dense(X, name)
    is_known = known_parts(matrix) is not None
    if n_features is not None and matrix.shape[1] != n_features:
        raise InvalidArgumentError(
            name, f"{n_features} features", f"{matrix.shape[1]} (shape {matrix.shape})"
        )
    values = matrix.data if isinstance(matrix, sparse.csr_array) else matrix
    if not is_known and not np.isfinite(values).all():
        raise _not_finite(matrix, name)
    return matrix


def _not_finite(matrix: Features, name: str) -> InvalidArgumentError:
    """Return the error that names the first cell with NaN, or else with infinity."""
    values = matrix.data if isinstance(matrix, sparse.csr_array) else matrix
    what = "NaN" if np.isnan(values).any() else "infinity"
    at = np.argwhere(np.isnan(values) if what == "NaN" else np.isinf(values))[0]
    if isinstance(matrix, sparse.csr_array):
        at = np.array([row_ids(matrix)[at[0]], matrix.indices[at[0]]])
    missing = "sklearn.impute.SimpleImputer fills missing values"
    hint = missing if what == "NaN" else "replace it, or leave the row out"
    place = f"input that contains {what} (row {at[0]}, column {at[1]})"
    return InvalidArgumentError(name, "finite values", place, hint if name == "X" else "")


def read_features(estimator: Any, X: object, *, reset: bool, at_least: int = 1) -> Features:
    """Return what a user passed as `X`; its columns are stored (`reset`) or compared."""
    from sklearn.utils.validation import validate_data

    check_readable(X)
    if getattr(X, "ndim", 2) == 1 and not hasattr(X, "columns"):
        hint = "Reshape your data: X.reshape(1, -1) is one row"
        raise InvalidArgumentError("X", "two dimensions, one row per item", "one", hint)
    try:
        checked = validate_data(
            estimator,
            X,
            reset=reset,
            accept_sparse=True,
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            ensure_min_samples=at_least,
        )
    except ValueError as error:
        if "could not convert string" in str(error):
            raise InvalidArgumentError("X", "numbers", "texts", _WORDS_FIRST) from None
        if "features as input" in str(error):
            hint = "prepare new rows as the training rows, in one pipeline"
            raise ValueError(f"{str(error).rstrip('.')} ({hint})") from None
        raise
    return check_features(checked)


def _dense(X: object, name: str) -> NDArray[Any]:
    """Return a two-dimensional C-contiguous float array."""
    array = np.asarray(X)
    if array.ndim != 2:
        raise InvalidArgumentError(name, "a two-dimensional array", f"shape {array.shape}")
    if array.dtype.kind == "c":
        raise InvalidArgumentError(name, "real numbers", f"dtype {array.dtype}")
    if array.dtype.kind not in "fiub":
        try:
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise InvalidArgumentError(name, "numbers", f"dtype {array.dtype}") from None
    dtype = array.dtype if array.dtype in (np.float32, np.float64) else np.dtype(np.float64)
    return contiguous(array, dtype)


_WORDS_FIRST = (
    'put a TextVectorizer in front: make_pipeline(TextVectorizer(weighting="counts"), Blend())'
)
"""What to do with texts, where an estimator expects numbers."""


def check_readable(X: object, name: str = "X") -> None:
    """Raise for input that scikit-learn's own checks would accept but that must not be used."""
    check_sparse_structure(X, name)
    if _is_text(X):
        raise InvalidArgumentError(name, "numbers", "texts", _WORDS_FIRST)
    columns = getattr(X, "columns", None)
    if columns is not None and not sparse.issparse(X):
        check_encodable(f"columns of {name}", [each for each in columns if isinstance(each, str)])
        textual = next((each for each in columns if has_text(cast("Any", X)[each])), None)
        if textual is not None:
            frame = "texts, categories, numbers and dates of a frame"
            hint = f"{frame}: make_pipeline(FrameColumns(), Blend())"
            raise InvalidArgumentError(name, "numbers", f"text in column {textual!r:.60}", hint)


_TEXT_TYPES = ("object", "str", "string", "String", "category", "Categorical")


def has_text(cells: Any) -> bool:
    """Tell whether a column of a frame holds text: a string that is not a number."""
    if str(getattr(cells, "dtype", "")) not in _TEXT_TYPES:
        return False
    for cell in cells:
        if isinstance(cell, str):
            try:
                float(cell)
            except ValueError:
                return True
    return False


def _is_text(X: object) -> bool:
    """Tell whether `X` is a text, or one text per row."""
    if isinstance(X, str):
        return True
    if hasattr(X, "to_list") and getattr(X, "ndim", len(getattr(X, "shape", ()))) == 1:
        return any(isinstance(cell, str) for cell in X.to_list())  # a column of a frame
    if getattr(X, "ndim", 1) != 1 or not isinstance(X, Sequence | np.ndarray):
        return False
    return len(X) > 0 and isinstance(X[0], str)


def owned(matrix: Features, given: object) -> Features:
    """Return a checked matrix that the caller cannot change: itself or a copy.

    A copy is made if `matrix` shares writeable memory with `given`. Read-only arrays, such as those
    of a :class:`~vicinal.datasets.Dataset`, are not copied.
    """
    if not any(_may_change(part, given) for part in _parts(matrix)):
        return matrix
    if known_parts(matrix) is not None:
        return frozen_copy(cast("Csr", matrix))
    return matrix.copy()


def _parts(matrix: Any) -> list[NDArray[Any]]:
    """Return the arrays of a matrix."""
    if not sparse.issparse(matrix):
        return [matrix]
    names = ("data", "indices", "indptr")
    return [getattr(matrix, name) for name in names if hasattr(matrix, name)]


def _may_change(part: NDArray[Any], given: object) -> bool:
    """Tell whether a caller who passed `given` can still write to an array derived from it."""
    if isinstance(given, list | tuple):
        return False
    if isinstance(given, Mapping):
        return any(_may_change(part, each) for each in given.values())
    if sparse.issparse(given) or isinstance(given, np.ndarray):
        return part.flags.writeable and any(np.may_share_memory(part, own) for own in _parts(given))
    return True  # a data frame may change its data even if its arrays are read-only


def canonical_csr(X: object, name: str = "X") -> Csr:
    """Return sparse `X` as CSR with sorted rows, duplicates summed and no stored zeros."""
    if known_parts(X) is not None:
        return cast("Csr", X)
    if cast("Any", X).ndim != 2:
        raise InvalidArgumentError(name, "a two-dimensional array", f"shape {cast('Any', X).shape}")
    matrix = sound_csr(X, name)
    if matrix.dtype.kind not in "fiub":
        raise InvalidArgumentError(name, "real numbers", f"dtype {matrix.dtype}")
    if matrix.dtype not in (np.float32, np.float64):
        matrix = matrix.astype(np.float64)
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    if matrix.nnz and not matrix.data.all():
        matrix = matrix.copy()
        matrix.eliminate_zeros()
    return matrix


def sound_csr(X: object, name: str) -> Csr:
    """Return sparse `X` as CSR that native code can read safely, without canonicalising it."""
    shared = shared_csr(X)
    if shared is not None:
        return shared
    check_sparse_structure(X, name)
    matrix = cast("Csr", sparse.csr_array(cast("Any", X)))
    if cast("Any", X).format in ("lil", "dok", "dia"):  # SciPy converts these without checks
        check_sparse_structure(matrix, name)
    n_stored = int(matrix.indptr[-1])
    stored = matrix.data[:n_stored], matrix.indices[:n_stored], matrix.indptr
    is_sound = len(matrix.indices) == n_stored == len(matrix.data)
    if not is_sound or not all(part.flags.aligned for part in stored):
        parts = tuple(map(contiguous, stored))
        matrix = sparse.csr_array(parts, shape=matrix.shape)
    return matrix


def as_csr(matrix: Features) -> Csr:
    """Return a checked matrix as canonical CSR."""
    return matrix if isinstance(matrix, sparse.csr_array) else dense_csr(matrix)


def csr_parts(matrix: Csr) -> tuple[Int, Int32]:
    """Return row pointers (int64) and column ids (int32) of a canonical CSR."""
    known = known_parts(matrix)
    if known is not None:
        return known.indptr, known.indices
    indptr = contiguous(matrix.indptr, np.int64)
    indices = contiguous(matrix.indices[: indptr[-1]], np.int32)
    return indptr, indices
