"""The array types that stages pass to each other, by name."""

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Float: TypeAlias = NDArray[np.float64]
Int: TypeAlias = NDArray[np.int64]
Int32: TypeAlias = NDArray[np.int32]
Bool: TypeAlias = NDArray[np.bool_]

Csr: TypeAlias = sparse.csr_array[Any, tuple[int, int]]
"""Canonical: rows sorted, no repeats, no stored zeros."""

Features: TypeAlias = NDArray[Any] | Csr
"""Float32 or float64, C-contiguous or canonical CSR, finite."""


def stack_rows(blocks: Sequence[Csr]) -> Csr:
    """Return the rows of several matrices one below the other.

    Examples
    --------
    >>> eye = sparse.csr_array(np.eye(2))
    >>> stack_rows([eye, eye]).shape
    (4, 2)
    """
    return sparse.vstack(list(blocks), format="csr")
