"""Nested states ⇄ JSON, with the arrays set apart.

Plain values stand in the JSON as they are, infinity as ``{"$float": "inf"}``. An array is
``{"$array": name}``, a sparse matrix ``{"$csr": [rows, columns], "indptr": …, "indices": …,
"data": …}``, a long list of strings ``{"$texts": count, "first": […], "bytes": …, "ends": …}``, and
a part ``{"$part": registered name, "state": {…}}``. The arrays go out by name.
"""

import math
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr
from vicinal._core.csr import check_compressed
from vicinal._core.state import Saveable, State, damage_if_refused
from vicinal.errors import InvalidArgumentError, ModelFormatError
from vicinal.persistence.saved_types import build, name_of

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"
Arrays: TypeAlias = dict[str, NDArray[Any]]

MANY_TEXTS = 100
"""Lists of more strings than this are written as an array of UTF-8, the header stays short."""
FIRST_TEXTS = 5
"""So many of them stand in the header too, for ``vicinal info``."""


def encode(state: State, path: str = "model") -> tuple[Json, Arrays]:
    """Return `state` as JSON values and, by name, the arrays it refers to."""
    arrays: Arrays = {}
    return _encode(state, path, arrays), arrays


def _encode(state: State, path: str, arrays: Arrays) -> Json:
    """Encode one value, adding its arrays."""
    if isinstance(state, float) and not math.isfinite(state):
        return {"$float": repr(float(state))}
    if state is None or isinstance(state, bool | int | float | str):
        return state
    if isinstance(state, np.generic):  # A parameter such as np.int64(10).
        return _encode(state.item(), path, arrays)
    if isinstance(state, np.ndarray):
        name = path if path not in arrays else f"{path}~{len(arrays)}"
        arrays[name] = state
        return {"$array": name}
    if isinstance(state, sparse.csr_array):
        parts = {"indptr": state.indptr, "indices": state.indices, "data": state.data}
        encoded = {key: _encode(value, f"{path}.{key}", arrays) for key, value in parts.items()}
        return {"$csr": [int(size) for size in state.shape], **encoded}
    if isinstance(state, list):
        if len(state) > MANY_TEXTS and all(type(item) is str for item in state):
            return _encode_texts([str(item) for item in state], path, arrays)
        return [_encode(item, f"{path}.{i}", arrays) for i, item in enumerate(state)]
    if isinstance(state, dict):
        return {key: _encode(value, f"{path}.{key}", arrays) for key, value in state.items()}
    if isinstance(state, Saveable):
        return {"$part": name_of(state), "state": _encode(state.get_state(), path, arrays)}
    raise InvalidArgumentError("model", "plain values and arrays", type(state).__name__)


def _encode_texts(texts: list[str], path: str, arrays: Arrays) -> Json:
    """Encode many strings as one array of UTF-8 and the place where each string ends."""
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise InvalidArgumentError("model", "names that UTF-8 can hold", str(error)) from None
    content = np.frombuffer(b"".join(encoded), dtype=np.uint8)
    ends = np.cumsum([len(text) for text in encoded], dtype=np.int64)
    return {
        "$texts": len(texts),
        "first": list(texts[:FIRST_TEXTS]),
        "bytes": _encode(content, f"{path}.bytes", arrays),
        "ends": _encode(ends, f"{path}.ends", arrays),
    }


def decode(json: Json, arrays: Arrays) -> State:
    """Return the state that :func:`encode` gave as `json` and `arrays`; parts are built."""
    if isinstance(json, list):
        return [decode(item, arrays) for item in json]
    if not isinstance(json, dict):
        return json
    if "$float" in json:
        if json["$float"] not in ("inf", "-inf", "nan"):
            raise ModelFormatError(f"the header has a number {json['$float']!r:.60}")
        return float(json["$float"])
    if "$array" in json:
        name = json["$array"]
        if not isinstance(name, str) or name not in arrays:
            raise ModelFormatError(f"the header names an array {name!r:.60} that is not there")
        return arrays[name]
    if "$csr" in json:
        return _csr(json, arrays)
    if "$texts" in json:
        return _texts(json, arrays)
    if "$part" in json:
        return _part(json, arrays)
    return {key: decode(value, arrays) for key, value in json.items()}


def _csr(json: dict[str, Json], arrays: Arrays) -> Csr:
    """Return a sparse matrix, after a check that its arrays fit each other."""
    shape = _sizes(json["$csr"])
    data, indices, indptr = (
        _vector(json.get(key), arrays, "a sparse matrix") for key in ("data", "indices", "indptr")
    )
    with damage_if_refused():
        check_compressed(indptr, indices, len(data), shape, "a sparse matrix", exact=True)
    return sparse.csr_array((data, indices, indptr), shape=shape)


def _sizes(shape: Json) -> tuple[int, int]:
    """Return the shape of a sparse matrix."""
    if isinstance(shape, list) and len(shape) == 2:
        n_rows, n_columns = shape
        if type(n_rows) is int and type(n_columns) is int and min(n_rows, n_columns) >= 0:
            return n_rows, n_columns
    raise ModelFormatError(f"a sparse matrix has shape {shape!r:.60}")


def _vector(json: Json, arrays: Arrays, owner: str) -> NDArray[Any]:
    """Return the one-dimensional array that stands at a place where one must."""
    array = decode(json, arrays)
    if not isinstance(array, np.ndarray) or array.ndim != 1:
        raise ModelFormatError(f"{owner} lacks an array")
    return array


def _texts(json: dict[str, Json], arrays: Arrays) -> list[State]:
    """Return a list of strings, after a check that its pieces cover the bytes in order."""
    content = _vector(json.get("bytes"), arrays, "a list of names")
    ends = _vector(json.get("ends"), arrays, "a list of names")
    if content.dtype != np.uint8 or ends.dtype != np.int64 or len(ends) != json["$texts"]:
        raise ModelFormatError("a list of names has arrays of another type or length")
    places = [0, *ends.tolist()]
    if any(start > end for start, end in pairwise(places)) or places[-1] != len(content):
        raise ModelFormatError("a list of names does not fit its bytes")
    whole = content.tobytes()
    try:
        return [whole[start:end].decode() for start, end in pairwise(places)]
    except UnicodeDecodeError:
        raise ModelFormatError("a list of names is not UTF-8") from None


def _part(json: dict[str, Json], arrays: Arrays) -> State:
    """Build a part from its state."""
    name, state = json["$part"], decode(json.get("state"), arrays)
    if not isinstance(name, str) or not isinstance(state, dict):
        raise ModelFormatError("a part in the header is not one")
    return build(name, state)
