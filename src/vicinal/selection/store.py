"""Results kept in a file as they come, so that a run that was stopped goes on where it was.

JSON lines (:mod:`vicinal._base.json_lines`). The first holds what the results are of (a digest of
rows, labels and folds), each other one a piece of work and its values, written when the piece is
done. Numbers are written so that they are read back to the bit.
"""

import hashlib
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Float
from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal._base.json_lines import append_json_line, read_json_lines

HEAD = "tuning of"
"""What the first line calls the digest."""


class Store:
    """Values of pieces of work, in memory and, with a path, in a file too.

    Parameters
    ----------
    path : path or None
    digest : str
        Of everything that all pieces have in common.
    """

    def __init__(self, path: str | os.PathLike[str] | None, digest: str) -> None:
        self._path = None if path is None else Path(path)
        self._known: dict[str, Float] = {}
        if self._path is None:
            return
        lines = list(read_json_lines(self._path, "results of a tuning", _Line.read))
        if not lines:
            append_json_line(self._path, {HEAD: digest})
        elif lines[0].values is not None:
            raise DataFormatError(str(self._path), f"{HEAD!r} first", "a piece of work", line=1)
        for line in lines:
            if line.values is not None:
                self._known[line.name] = line.values
            elif line.name != digest:
                expected = "results of the same rows, labels and folds"
                raise InvalidArgumentError("store", expected, f"others in {self._path}")

    def get(self, key: str) -> Float | None:
        """Return the values of a piece of work that was done."""
        return self._known.get(key)

    def put(self, key: str, values: Float) -> None:
        """Keep the values of a piece of work."""
        self._known[key] = values
        if self._path is not None:
            parts = {"work": key, "shape": values.shape, "values": _hex(values)}
            append_json_line(self._path, parts)


class _Line(NamedTuple):
    """A digest, without values; or a piece of work and its values."""

    name: str
    values: Float | None

    @classmethod
    def read(cls, parts: Mapping[str, Any]) -> Self:
        if isinstance(parts.get(HEAD), str):
            return cls(str(parts[HEAD]), None)
        return cls(str(parts.get("work")), _values(parts))


def _hex(values: Float) -> str:
    return np.ascontiguousarray(values, dtype="<f8").tobytes().hex()


def _values(piece: Mapping[str, Any]) -> Float:
    try:
        numbers = np.frombuffer(bytes.fromhex(piece["values"]), dtype="<f8")
        return numbers.reshape(piece["shape"]).astype(np.float64)
    except (KeyError, TypeError, ValueError):
        expected = "numbers in hexadecimal and their shape"
        raise InvalidArgumentError("values", expected, repr(piece)[:60]) from None


def digest_of(*parts: object) -> str:
    """Return a digest of arrays, sparse matrices and plain values.

    Examples
    --------
    >>> digest_of(np.zeros(2)) == digest_of(np.zeros(2)), digest_of(np.zeros(2)) == digest_of("0")
    (True, False)
    """
    found = hashlib.sha256()
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
                found.update(full_text(array).encode())
    return found.hexdigest()


def full_text(value: object) -> str:
    """Return ``repr(value)`` with every number of the arrays in it, to the last digit.

    Otherwise two rules with a threshold for each of many labels would be one.

    Examples
    --------
    >>> full_text([np.array([0.1, 0.12345678901234])])
    '[array([0.1             , 0.12345678901234])]'
    """
    with np.printoptions(threshold=sys.maxsize, floatmode="unique"):
        return repr(value)
