"""Process queries in chunks, so that they are never all copied."""

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Features, Float

CELLS = 2**22
"""Maximum number of cells of a dense chunk: 32 MiB of float64."""

ROWS = 2**16
"""Maximum number of rows of a chunk."""


def row_chunks(queries: Features) -> Iterator[tuple[int, int]]:
    """Cut rows into (start, stop) of at most :data:`ROWS` rows and :data:`CELLS` cells if dense.

    Examples
    --------
    >>> list(row_chunks(np.zeros((5, 2**21))))
    [(0, 2), (2, 4), (4, 5)]
    """
    n_rows, n_columns = queries.shape
    step = ROWS if sparse.issparse(queries) else min(ROWS, max(1, CELLS // max(1, n_columns)))
    for start in range(0, n_rows, step):
        yield start, min(start + step, n_rows)


def as_dense(rows: Features) -> Float:
    """Return `rows` as a C-contiguous float64 array."""
    array = rows.toarray() if isinstance(rows, sparse.csr_array) else rows
    return np.ascontiguousarray(array, dtype=np.float64)
