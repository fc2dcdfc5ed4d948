"""The data set that comes with the package: Debian packages, their words, their tags.

Input: the file next to this module, written by ``tools/build_debtags.py``. Output:
a :class:`~vicinal.datasets.dataset.Dataset`. Imported by the catalogue and by that tool.

One xz-compressed ``.npz`` of plain arrays, never a pickle: names joined by newlines, the two
matrices as column lengths and row gaps, the test rows as bits.

A column is the ascending list of its rows. The differences are stored (the first row counts from
−1, so every gap is at least 1), each as a little-endian base-128 number whose last byte is below
128. Frequent columns have small gaps, so most gaps take one byte, and ``xz`` finds the rest.
"""

import io
import lzma
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr, Int
from vicinal.datasets.dataset import Dataset

Bytes = NDArray[np.uint8]


def decode(lengths: Int, stored: Bytes, n_rows: int) -> Csr:
    """Return a matrix of ones from lengths and gaps of columns: float64, canonical CSR."""
    gaps = _from_bytes(stored)
    total = np.cumsum(gaps)
    indptr = np.concatenate(([0], np.cumsum(lengths)))
    before = np.concatenate(([0], total))[indptr[:-1]]
    rows = (total - np.repeat(before, lengths) - 1).astype(np.int32)
    parts = (np.ones(len(rows)), rows, indptr.astype(np.int32))
    matrix = sparse.csr_array(sparse.csc_array(parts, shape=(n_rows, len(lengths))))
    matrix.sort_indices()
    return matrix


def _from_bytes(stored: Bytes) -> Int:
    """Return numbers in base 128, low digits first; the last byte of each is below 128."""
    ends = np.flatnonzero(stored < 128)
    starts = np.concatenate(([0], ends[:-1] + 1)).astype(np.int64)
    if not len(ends):
        return np.empty(0, dtype=np.int64)
    place = np.arange(len(stored)) - np.repeat(starts, ends - starts + 1)
    parts = (stored & 127).astype(np.int64) << (7 * place)
    numbers: Int = np.add.reduceat(parts, starts)
    return numbers


PATH = Path(__file__).with_name("debtags.npz.xz")


def load_debtags() -> Dataset:
    """Return the embedded data set: 30,300 packages, binary words, tags, a split by family."""
    return unpack(PATH.read_bytes())


def unpack(packed: bytes) -> Dataset:
    """Return the data set that a file of this format holds."""
    with np.load(io.BytesIO(lzma.decompress(packed)), allow_pickle=False) as stored:
        packages = _split(stored["packages"])
        n_rows = len(packages)
        in_test = np.unpackbits(stored["in_test"], count=n_rows)
        Y = decode(stored["tag_lengths"].astype(np.int64), stored["tag_gaps"], n_rows)
        return Dataset(
            X=decode(stored["token_lengths"].astype(np.int64), stored["token_gaps"], n_rows),
            Y=Y.astype(np.int32),
            feature_names=_split(stored["tokens"]),
            label_names=_split(stored["tags"]),
            row_names=packages,
            train=np.flatnonzero(in_test == 0),
            test=np.flatnonzero(in_test),
            source="debtags",
        )


def _split(stored: NDArray[np.uint8]) -> tuple[str, ...]:
    """Return names that are stored as UTF-8 lines."""
    return tuple(stored.tobytes().decode().split("\n"))
