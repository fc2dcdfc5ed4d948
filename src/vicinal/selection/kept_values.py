"""Tuning results stored in a file, one task per line, and read back bit by bit."""

import os
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from vicinal._base.arrays import Float
from vicinal._base.errors import InvalidArgumentError
from vicinal.results import ResumableStore

HEAD = "tuning of"
"""The name that the first line gives to the digest of rows, labels and folds."""

KeptValues: TypeAlias = ResumableStore[str, Float]


def kept_values(path: str | os.PathLike[str] | None, digest: str) -> KeptValues:
    """Return the store of a tuning run; its results are only reused for the same digest."""
    return ResumableStore(path, "results of a tuning", _read, _line, (HEAD, digest))


def _line(name: str, values: Float) -> dict[str, Any]:
    """Return a task and its values in hexadecimal."""
    text = np.ascontiguousarray(values, dtype="<f8").tobytes().hex()
    return {"work": name, "shape": values.shape, "values": text}


def _read(parts: Mapping[str, Any]) -> tuple[str, Float]:
    """Return the task and the values of a line."""
    try:
        numbers = np.frombuffer(bytes.fromhex(parts["values"]), dtype="<f8")
        return str(parts.get("work")), numbers.reshape(parts["shape"]).astype(np.float64)
    except (KeyError, TypeError, ValueError):
        expected = "numbers in hexadecimal and their shape"
        raise InvalidArgumentError("values", expected, repr(parts)[:60]) from None
