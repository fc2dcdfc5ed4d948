"""Results kept in a file as they come, so that a run that was stopped goes on where it was.

JSON lines. The first holds what the results are of (a digest of rows, labels and folds), each other
one a piece of work and its values, written when the piece is done. A last line that was cut off is
dropped. Numbers are written so that they are read back to the bit.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Float
from vicinal._base.errors import DataFormatError, InvalidArgumentError


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
        if self._path.exists() and self._path.stat().st_size:
            self._read(self._path, digest)
        else:
            self._path.write_text(json.dumps({"tuning of": digest}) + "\n", encoding="utf-8")

    def get(self, key: str) -> Float | None:
        """Return the values of a piece of work that was done."""
        return self._known.get(key)

    def put(self, key: str, values: Float) -> None:
        """Keep the values of a piece of work."""
        self._known[key] = values
        if self._path is not None:
            line = json.dumps({"work": key, "shape": values.shape, "values": _hex(values)})
            with self._path.open("a", encoding="utf-8") as stream:
                stream.write(line + "\n")

    def _read(self, path: Path, digest: str) -> None:
        """Read the pieces that were done; a damaged last line is cut off."""
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
        head = _parsed(lines[0])
        if head is None or "tuning of" not in head:
            raise DataFormatError(str(path), "results of a tuning", "something else", line=1)
        if head["tuning of"] != digest:
            raise InvalidArgumentError(
                "store", "results of the same rows, labels and folds", f"others in {path}"
            )
        for number, line in enumerate(lines[1:], start=2):
            piece = _parsed(line)
            if piece is not None:
                self._known[str(piece["work"])] = _values(piece)
            elif number < len(lines):
                raise DataFormatError(str(path), "a piece of work", "a damaged line", line=number)
            else:
                path.write_text("".join(lines[:-1]), encoding="utf-8")


def _parsed(line: str) -> dict[str, object] | None:
    """Return a whole line as JSON, None for one that was cut off."""
    if not line.endswith("\n"):
        return None
    try:
        parsed = json.loads(line)
    except json.JSONDecodeError:
        return None
    return parsed if isinstance(parsed, dict) else None


def _hex(values: Float) -> str:
    return np.ascontiguousarray(values, dtype="<f8").tobytes().hex()


def _values(piece: Mapping[str, object]) -> Float:
    raw, shape = piece.get("values"), piece.get("shape")
    if not isinstance(raw, str) or not isinstance(shape, list):
        raise InvalidArgumentError("store", "pieces of work with values", repr(piece)[:60])
    return np.frombuffer(bytes.fromhex(raw), dtype="<f8").reshape(shape).astype(np.float64)


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
                found.update(repr(array).encode())
    return found.hexdigest()
