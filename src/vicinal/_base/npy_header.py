"""Strict parsing of ``.npy`` headers, for files from untrusted sources.

NumPy's own reader repairs headers of Python 2 with a tokenizer, which may raise any exception.
"""

import ast
import math
import re
import struct
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

_MAGIC = b"\x93NUMPY"
_LENGTHS = {1: "<H", 2: "<I", 3: "<I"}
_MOST_BYTES = 10_000
_NUMBERS = re.compile(r"[<>|=]?(f[248]|[iu][1248]|b1)")
_NO_LITERAL = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


class NpyHeader(NamedTuple):
    """The shape, memory order and data type of an array of numbers."""

    shape: tuple[int, ...]
    is_fortran: bool
    dtype: np.dtype[np.generic]

    @property
    def nbytes(self) -> int:
        """Exact size in bytes; the product of a shape may exceed any machine integer."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy_header(stream: BinaryIO) -> NpyHeader:
    """Read the header of an array of numbers; raises ``ValueError`` if there is none.

    Examples
    --------
    >>> import io
    >>> stream = io.BytesIO()
    >>> np.save(stream, np.zeros((2, 3)))
    >>> _ = stream.seek(0)
    >>> header = read_npy_header(stream)
    >>> header.shape, str(header.dtype), header.nbytes
    ((2, 3), 'float64', 48)
    """
    magic = stream.read(8)
    form = _LENGTHS.get(magic[6]) if len(magic) == 8 and magic.startswith(_MAGIC) else None
    if form is None:
        raise ValueError("no array in the .npy format")
    size = stream.read(struct.calcsize(form))
    length = struct.unpack(form, size)[0] if len(size) == struct.calcsize(form) else _MOST_BYTES + 1
    if length > _MOST_BYTES:
        raise ValueError(f"a header longer than {_MOST_BYTES} bytes")
    text = stream.read(length)
    if len(text) < length:
        raise ValueError("a truncated header")
    try:
        found = ast.literal_eval(text.decode("utf-8").strip())
    except _NO_LITERAL:
        raise ValueError("a header that is not a dictionary") from None
    if not isinstance(found, dict) or found.keys() != {"descr", "fortran_order", "shape"}:
        raise ValueError("a header without descr, fortran_order and shape")
    return NpyHeader(_shape(found["shape"]), found["fortran_order"] is True, _dtype(found["descr"]))


def _shape(shape: object) -> tuple[int, ...]:
    """Return a shape of sizes that an array can have."""
    sizes = shape if isinstance(shape, tuple) else ("no tuple",)
    if len(sizes) > 8 or not all(type(size) is int and 0 <= size < 2**62 for size in sizes):
        raise ValueError(f"shape {shape!r:.60}")
    return sizes


def _dtype(described: object) -> "np.dtype[np.generic]":
    """Return a type of numbers."""
    if not isinstance(described, str) or not _NUMBERS.fullmatch(described):
        raise ValueError(f"dtype {described!r:.60}")
    name: DTypeLike = described
    return np.dtype(name)
