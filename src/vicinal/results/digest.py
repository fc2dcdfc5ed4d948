"""Plain values and digests of everything results depend on; equal only for equal objects."""

import hashlib
import math
import re
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

import numpy as np
from scipy import sparse


def digest_of(*parts: object) -> str:
    """Return a digest of arrays, sparse matrices and plain values.

    Examples
    --------
    >>> digest_of(np.zeros(2)) == digest_of(np.zeros(2)), digest_of(np.zeros(2)) == digest_of("0")
    (True, False)
    """
    found = hashlib.sha256()
    with _full_precision():
        for part in parts:
            if isinstance(part, sparse.csr_array):
                found.update(repr(part.shape).encode())
                arrays: Sequence[object] = (part.indptr.astype(np.int64), part.indices, part.data)
            else:
                arrays = (part,)
            for array in arrays:
                if isinstance(array, np.ndarray):
                    found.update(f"{array.dtype} {array.shape}".encode())
                    found.update(np.ascontiguousarray(array).tobytes())
                else:
                    found.update(repr(array).encode())
    return found.hexdigest()


def _full_precision() -> AbstractContextManager[object]:
    """Let ``repr`` show all array elements, so that only equal ones look the same."""
    return np.printoptions(threshold=sys.maxsize, floatmode="unique")


def full_text(value: object) -> str:
    """Return ``repr(value)`` with all array elements at full precision.

    Otherwise two rules with different thresholds for many labels could look the same.

    Examples
    --------
    >>> full_text([np.array([0.1, 0.12345678901234])])
    '[array([0.1             , 0.12345678901234])]'
    """
    with _full_precision():
        return repr(value)


def plain(value: object) -> object:
    """Return a parameter as a JSON value that is equal exactly for equal parameters.

    Arrays become a hash of their bytes; objects become their repr without the memory address.

    Examples
    --------
    >>> plain(np.int64(3)), plain((1, None)), plain(abs)
    (3, [1, None], '<built-in function abs>')
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return repr(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    if isinstance(value, np.ndarray):
        digest = hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()[:16]
        return f"{value.dtype} of shape {value.shape}, {digest}"
    return re.sub(r" at 0x[0-9a-f]+", "", full_text(value))
