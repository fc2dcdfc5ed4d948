"""The array types that stages pass to each other, by name."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

Float: TypeAlias = NDArray[np.float64]
Int: TypeAlias = NDArray[np.int64]
Int32: TypeAlias = NDArray[np.int32]
Bool: TypeAlias = NDArray[np.bool_]

if TYPE_CHECKING:
    Csr: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
else:
    Csr = sparse.csr_array  # SciPy before 1.16 cannot subscript it when the program runs
"""Canonical: rows sorted, no duplicates, no stored zeros."""

Features: TypeAlias = NDArray[Any] | Csr
"""Float32 or float64, C-contiguous or canonical CSR, finite."""

SMALL_BLOCK_CELLS = 2**20
"""Cells of a dense block that should fit into the cache: 8 MiB of float64."""
BLOCK_CELLS = 2**22
"""Cells of a dense block in flight: 32 MiB of float64."""
LARGE_BLOCK_CELLS = 2**24
"""Cells of a dense block whose start has a high fixed cost: 128 MiB of float64."""


def is_stored(pattern: Csr, where: Csr) -> Bool:
    """Tell for each entry stored in `where` whether `pattern` stores it too."""
    known, asked = cell_ids(pattern), cell_ids(where)
    if len(known) == 0:
        return np.zeros(len(asked), dtype=np.bool_)
    at = np.minimum(np.searchsorted(known, asked), len(known) - 1)
    found: Bool = known[at] == asked
    return found


def cell_ids(matrix: Csr) -> Int:
    """Return ``row × columns + column`` of each stored entry; ascending if rows are sorted."""
    n_columns = np.int64(matrix.shape[1])
    return row_ids(matrix) * n_columns + matrix.indices


def contiguous(array: NDArray[Any], dtype: DTypeLike | None = None) -> NDArray[Any]:
    """Return an array as compiled loops read it: C-contiguous, its numbers aligned; else a copy."""
    found = np.ascontiguousarray(array, dtype=dtype)
    return found if found.flags.aligned else found.copy()


ENTRIES_AT_ONCE = 2**21
"""Entries of a large matrix that are looked at together, so that copies of them stay small."""


def count_columns(columns: NDArray[Any], n_columns: int) -> Int:
    """Return how often each column occurs. Memory: 16 MB besides the result."""
    counts = np.zeros(n_columns, dtype=np.int64)
    for start in range(0, len(columns), ENTRIES_AT_ONCE):
        counts += np.bincount(columns[start : start + ENTRIES_AT_ONCE], minlength=n_columns)
    return counts


def row_blocks(indptr: NDArray[Any]) -> Iterator[tuple[int, int]]:
    """Yield the ends of blocks of rows with at most so many entries, or of one row each."""
    start, n_rows = 0, len(indptr) - 1
    while start < n_rows:
        most = int(indptr[start]) + ENTRIES_AT_ONCE
        stop = int(np.searchsorted(indptr, most, side="right")) - 1
        stop = min(max(stop, start + 1), n_rows)
        yield start, stop
        start = stop


def row_ids(matrix: Csr) -> Int:
    """Return the row of each stored entry."""
    rows: Int = np.repeat(np.arange(matrix.shape[0], dtype=np.int64), np.diff(matrix.indptr))
    return rows
