"""Columns of a 0/1 matrix as bytes: gaps between row ids, seven bits per byte.

A column is the ascending list of its rows. The differences are stored (the first row counts from
−1, so every gap is at least 1), each as a little-endian base-128 number whose last byte is below
128. Frequent columns have small gaps, so most gaps take one byte, and ``xz`` finds the rest.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Csr, Int

Bytes = NDArray[np.uint8]


def encode(indicator: Csr) -> tuple[Int, Bytes]:
    """Return the length of each column, and all gaps as bytes.

    Examples
    --------
    >>> lengths, gaps = encode(sparse.csr_array([[1, 0], [0, 0], [1, 1]]))
    >>> lengths.tolist(), gaps.tolist()
    ([2, 1], [1, 2, 3])
    """
    columns = sparse.csc_array(indicator)
    columns.sort_indices()
    lengths = np.diff(columns.indptr).astype(np.int64)
    rows = columns.indices.astype(np.int64)
    gaps = np.diff(rows, prepend=-1)
    first = columns.indptr[:-1][lengths > 0]
    gaps[first] = rows[first] + 1
    return lengths, _to_bytes(gaps)


def decode(lengths: Int, stored: Bytes, n_rows: int) -> Csr:
    """Return the matrix that :func:`encode` was given: float64, canonical CSR.

    Examples
    --------
    >>> decode(np.array([2, 1]), np.array([1, 2, 3], dtype=np.uint8), 3).toarray().astype(int)
    array([[1, 0],
           [0, 0],
           [1, 1]])
    """
    gaps = _from_bytes(stored)
    total = np.cumsum(gaps)
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    before = np.concatenate(([0], total))[indptr[:-1]]
    rows = (total - np.repeat(before, lengths) - 1).astype(np.int32)
    parts = (np.ones(len(rows)), rows, indptr.astype(np.int32))
    matrix = sparse.csr_array(sparse.csc_array(parts, shape=(n_rows, len(lengths))))
    matrix.sort_indices()
    return matrix


def _to_bytes(numbers: Int) -> Bytes:
    """Write each number in base 128, low digits first; the last byte of each is below 128."""
    digits = np.ones(len(numbers), dtype=np.int64)
    for bits in range(7, 63, 7):
        digits += numbers >> bits > 0
    start = np.cumsum(digits) - digits
    stored = np.empty(int(digits.sum()), dtype=np.uint8)
    for place in range(int(digits.max(initial=0))):
        has = digits > place
        digit = (numbers[has] >> (7 * place)) & 127
        stored[start[has] + place] = digit | np.where(digits[has] > place + 1, 128, 0)
    return stored


def _from_bytes(stored: Bytes) -> Int:
    """Undo :func:`_to_bytes`."""
    ends = np.flatnonzero(stored < 128)
    starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.int64)
    if not len(ends):
        return np.empty(0, dtype=np.int64)
    place = np.arange(len(stored)) - np.repeat(starts, ends - starts + 1)
    parts = (stored & 127).astype(np.int64) << (7 * place)
    numbers: Int = np.add.reduceat(parts, starts)
    return numbers
