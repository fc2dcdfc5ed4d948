"""MATLAB files (version 5 to 7), in the two layouts that are common for multi-label data.

``X``, ``Y`` (and ``Xt``, ``Yt`` for the test rows) with one row per instance; or ``train_data``
with one row per instance and ``train_target`` with one *column* per instance (and ``test_data``,
``test_target``). Label values are 0/1 or −1/+1. The files contain no names.

The file is a header of 128 bytes and a sequence of elements, each a tag (type, number of bytes) and
its content, padded to eight bytes. A variable is an element that contains elements: flags,
dimensions, name and values, and for sparse matrices also row ids and column starts. Version 7
compresses each variable with zlib.

Every length is checked against the actual size, because a manipulated file could otherwise make the
reader access memory that it does not own.
"""

import itertools
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr
from vicinal._core.csr import check_compressed
from vicinal._core.validation import check_features
from vicinal.datasets.data_files import DEFAULT_MAX_BYTES, FilePath, open_data, unpacked_limit
from vicinal.datasets.dataset import MAX_NUMBERED, Dataset, by_content, numbered
from vicinal.errors import DataFormatError, InvalidArgumentError

HEADER_BYTES = 128
MOST_PARTS = 7
"""A numeric variable has at most six parts; a seventh is enough to recognise too many."""
_MATRIX, _COMPRESSED = 14, 15
_SPARSE = 5
_NUMERIC = range(6, 16)
_COMPLEX = 0x0800
_NUMBER_TYPES = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip


class _Damaged(Exception):
    """The file violates the format; the message says how."""


class _Element(NamedTuple):
    kind: int
    content: bytes


def read_matrices(
    data: bytes, wanted: Collection[str], max_bytes: int, path: FilePath
) -> dict[str, Any]:
    """Return the wanted variables that exist: float64 arrays, or CSC if stored sparse."""
    order = {b"IM": "<", b"MI": ">"}.get(data[126:HEADER_BYTES])
    if order is None or int(np.frombuffer(data, order + "u2", 1, 124)[0]) != 0x0100:
        got = "another one (7.3 is HDF5)" if data else "an empty file"
        raise DataFormatError(path, "a MATLAB file of version 5 to 7", got)
    found: dict[str, Any] = {}
    try:
        for element in _elements(data[HEADER_BYTES:], order):
            kind, content = element
            if kind == _COMPRESSED:
                kind, content = _unpacked(content, max_bytes, order)
                max_bytes -= len(content)
            if kind == _MATRIX:
                parts = list(itertools.islice(_elements(content, order), MOST_PARTS))
                _add_variable(found, parts, wanted, order)
    except _Damaged as error:
        raise DataFormatError(path, "an intact MATLAB file", str(error)) from None
    return found


def _elements(content: bytes, order: str) -> Iterator[_Element]:
    """Yield consecutive elements."""
    at = 0
    while at < len(content):
        if at + 8 > len(content):
            raise _Damaged("an element cut off")
        first, size = np.frombuffer(content, order + "u4", 2, at).tolist()
        start, step = at + 8, 8
        if first >> 16:  # Up to four bytes are stored inside the tag.
            first, size, start, step = first & 0xFFFF, first >> 16, at + 4, 0
        end = start + size
        if end > len(content) or (step == 0 and size > 4):
            raise _Damaged("an element longer than the file")
        yield _Element(first, content[start:end])
        padded = end if first == _COMPRESSED else start + -(-size // 8) * 8
        at = padded if step else at + 8


def _unpacked(packed: bytes, max_bytes: int, order: str) -> _Element:
    """Return the only element in a compressed one."""
    unpacker = zlib.decompressobj()
    try:
        content = unpacker.decompress(packed, max_bytes + 1)
    except zlib.error as error:
        raise _Damaged(str(error)) from None
    if len(content) > max_bytes:
        raise _Damaged("variables that unpack to more than max_bytes")
    inner = list(itertools.islice(_elements(content, order), 2))
    if not unpacker.eof or len(inner) != 1:
        raise _Damaged("a packed variable cut off")
    return inner[0]


def _add_variable(
    found: dict[str, Any], parts: list[_Element], wanted: Collection[str], order: str
) -> None:
    """Add a variable by its name, if it is wanted."""
    if len(parts) < 3:
        raise _Damaged("a variable without its name")
    name = parts[2].content.decode("latin-1")
    if name not in wanted:
        return
    if name in found:
        raise _Damaged(f"{name} twice")
    flags = _integers(parts[0], order)
    shape = [int(size) for size in _integers(parts[1], order)]
    if len(flags) != 2 or len(shape) != 2 or min(shape) < 0:
        raise _Damaged(f"{name} with {len(shape)} dimensions, where two are read")
    kind = int(flags[0]) & 0xFF
    if int(flags[0]) & _COMPLEX or (kind != _SPARSE and kind not in _NUMERIC):
        raise _Damaged(f"{name} that is not a matrix of real numbers")
    found[name] = (_sparse if kind == _SPARSE else _dense)(parts[3:], shape, name, order)


def _numbers(element: _Element, order: str) -> NDArray[Any]:
    """Return the numbers of an element."""
    dtype = _NUMBER_TYPES.get(element.kind)
    if dtype is None or len(element.content) % int(dtype[1]):
        raise _Damaged(f"numbers of type {element.kind} in {len(element.content)} bytes")
    return np.frombuffer(element.content, order + dtype)


def _integers(element: _Element, order: str) -> NDArray[Any]:
    numbers = _numbers(element, order)
    if numbers.dtype.kind == "f":
        raise _Damaged("fractions for counts")
    return numbers


def _dense(parts: list[_Element], shape: list[int], name: str, order: str) -> NDArray[Any]:
    """Return a matrix, which is stored column by column."""
    values = _numbers(parts[0], order) if parts else np.zeros(0)
    if len(parts) > 1 or len(values) != shape[0] * shape[1]:
        raise _Damaged(f"{len(values)} values in {name} of {shape[0]} × {shape[1]}")
    return values.astype(np.float64).reshape(shape, order="F")


def _sparse(
    parts: list[_Element], shape: list[int], name: str, order: str
) -> "sparse.csc_array[Any]":
    """Return a sparse matrix, whose storage may have unused entries at the end."""
    if len(parts) != 3:
        raise _Damaged(f"{name} without ids, starts and values")
    ids, starts = _integers(parts[0], order), _integers(parts[1], order)
    values = _numbers(parts[2], order).astype(np.float64)
    try:
        check_compressed(starts, ids, len(values), (shape[1], shape[0]), name)
    except InvalidArgumentError as error:
        raise _Damaged(str(error)) from None
    stored = int(starts[-1])
    return sparse.csc_array(
        (values[:stored], ids[:stored].astype(np.int64), starts.astype(np.int64)),
        shape=(shape[0], shape[1]),
    )


# Variables of training and test features and labels; whether labels have one column per instance.
_LAYOUTS = (
    ("train_data", "train_target", "test_data", "test_target", True),
    ("X", "Y", "Xt", "Yt", False),
)


def read_mat(path: FilePath, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Dataset:
    """Read a MATLAB file. Test rows follow the training rows; the split states which is which."""
    data = open_data(path, max_bytes=max_bytes)
    limit = unpacked_limit(path, max_bytes)
    known = {name for *names, _ in _LAYOUTS for name in names}
    variables = read_matrices(data, known, limit, path)
    for names in _LAYOUTS:
        *matrices, by_column = names
        if matrices[0] in variables and matrices[1] in variables:
            return _dataset(variables, matrices, by_column, path)
    wanted = " or ".join(f"{layout[0]} and {layout[1]}" for layout in _LAYOUTS)
    got = ", ".join(sorted(variables)) or "none of them"
    raise DataFormatError(path, f"the variables {wanted}", got)


def _dataset(
    variables: dict[str, Any], names: list[str], by_column: bool, path: FilePath
) -> Dataset:
    """Return the data set of one layout."""
    rows = [_matrix(variables, names[0], path)]
    labels = [_indicator(_matrix(variables, names[1], path), names[1], by_column, path)]
    has_test = names[2] in variables or names[3] in variables
    if has_test:
        rows.append(_matrix(variables, names[2], path))
        labels.append(_indicator(_matrix(variables, names[3], path), names[3], by_column, path))
    for part, sets, name in zip(rows, labels, (names[1], names[3]), strict=False):
        if part.shape[0] != sets.shape[0] or sets.shape[1] != labels[0].shape[1]:
            expected = f"labels for {part.shape[0]} rows, as many as in {names[1]}, in {name}"
            raise DataFormatError(path, expected, f"{sets.shape[0]} × {sets.shape[1]}")
        if part.shape[1] != rows[0].shape[1]:
            got = f"{part.shape[1]} in {names[2]}"
            raise DataFormatError(path, f"{rows[0].shape[1]} features", got)
    n_train, n_rows = rows[0].shape[0], sum(part.shape[0] for part in rows)
    return Dataset(
        X=by_content(sparse.csr_array(sparse.vstack(rows, format="csr"))),
        Y=sparse.csr_array(sparse.vstack(labels, format="csr")),
        feature_names=numbered(rows[0].shape[1], "feature", path),
        label_names=numbered(labels[0].shape[1], "label", path),
        train=np.arange(n_train) if has_test else None,
        test=np.arange(n_train, n_rows) if has_test else None,
        source=Path(path).name,
    )


def _matrix(variables: dict[str, Any], name: str, path: FilePath) -> Csr:
    """Return a variable as CSR of finite numbers."""
    value = variables.get(name)
    expected = f"a matrix of finite numbers in {name}"
    if value is None:
        raise DataFormatError(path, expected, f"no {name}")
    if max(value.shape) > MAX_NUMBERED:
        raise DataFormatError(path, expected, f"shape {value.shape}")
    try:
        return sparse.csr_array(check_features(value, name))
    except InvalidArgumentError as error:
        raise DataFormatError(path, expected, str(error.got)) from None


def _indicator(matrix: Csr, name: str, by_column: bool, path: FilePath) -> Csr:
    """Return label values 0/1 or −1/+1 as an indicator with one row per instance."""
    values: NDArray[Any] = matrix.data
    strange = values[(values != 1) & (values != -1)]
    if strange.size:
        raise DataFormatError(path, f"values 0, 1 and −1 in {name}", f"{strange[0]:g}")
    ones = matrix.copy()
    ones.data = (values == 1).astype(np.int32)
    return sparse.csr_array(ones.T) if by_column else ones
