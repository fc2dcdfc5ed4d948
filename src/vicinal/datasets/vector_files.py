"""Files of vectors, one row each: ``.npy``, ``.npz`` and Parquet."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from vicinal._core.validation import check_features
from vicinal.errors import InvalidArgumentError, optional_module

FORMATS = (".npy", ".npz", ".parquet")
USUAL_NAMES = ("vectors", "embeddings", "vector", "embedding", "arr_0")
"""Names of the array or column of vectors, if there are several."""
SHORTEST = 32
"""Numbered columns of a table from which on they are a vector."""


def read_vectors(path: str | Path, argument: str = "vectors") -> NDArray[Any]:
    """Return the vectors of a file as an array, one row per vector."""
    file = Path(path)
    readers = {".npy": _from_npy, ".npz": _from_npz, ".parquet": _from_parquet}
    if file.suffix.lower() not in readers:
        expected = f"a file that ends in {', '.join(FORMATS)}"
        raise InvalidArgumentError(argument, expected, repr(file.name))
    if not file.is_file():
        raise InvalidArgumentError(argument, "a file", f"no such file: {file}")
    array = readers[file.suffix.lower()](file, argument)
    if array.ndim != 2 or array.dtype.kind not in "fiu" or not array.shape[1]:
        got = f"{array.dtype} of shape {array.shape}"
        raise InvalidArgumentError(argument, "rows of numbers, one vector each", got)
    return cast("NDArray[Any]", check_features(array, argument))


def _from_npy(file: Path, argument: str) -> NDArray[Any]:
    """Return the array of a ``.npy`` file, memory-mapped."""
    try:
        return cast("NDArray[Any]", np.load(file, mmap_mode="r", allow_pickle=False))
    except (ValueError, OSError, EOFError):
        raise InvalidArgumentError(argument, "an array that NumPy saved", file.name) from None


def _from_npz(file: Path, argument: str) -> NDArray[Any]:
    """Return the one array of a ``.npz`` file, or the one with a usual name."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            name = _chosen(list(arrays.files), argument, file)
            return cast("NDArray[Any]", arrays[name])
    except (ValueError, OSError, EOFError) as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(argument, "arrays that NumPy saved", file.name) from None


def _chosen(names: list[str], argument: str, file: Path) -> str:
    """Return the only name, or the first usual one."""
    usual = [name for name in USUAL_NAMES if name in names]
    if len(names) == 1 or usual:
        return usual[0] if usual else names[0]
    expected = f"one array, or one called {USUAL_NAMES[0]}"
    raise InvalidArgumentError(argument, expected, f"{', '.join(names[:5])} in {file.name}")


def _from_parquet(file: Path, argument: str) -> NDArray[Any]:
    """Return a column of lists, or numbered columns of numbers."""
    pa = optional_module("pyarrow", "frames")
    parquet = optional_module("pyarrow.parquet", "frames")
    try:
        schema = parquet.read_schema(file)
    except (pa.ArrowException, OSError):
        raise InvalidArgumentError(argument, "a Parquet file", file.name) from None
    lists = [field.name for field in schema if _is_list_of_numbers(pa, field.type)]
    if lists:
        name = _chosen(lists, argument, file)
        column = parquet.read_table(file, columns=[name]).column(0).combine_chunks()
        return _stacked(column, argument, name)
    columns = numbered_columns([field.name for field in schema])
    if not columns:
        expected = "a column of lists of numbers, or numbered columns such as e0, e1, e2"
        raise InvalidArgumentError(argument, expected, ", ".join(schema.names[:5]))
    table = parquet.read_table(file, columns=columns)
    found = [table.column(name).to_numpy() for name in columns]
    return np.ascontiguousarray(np.stack(found, axis=1))


def _is_list_of_numbers(pa: Any, kind: Any) -> bool:
    types = pa.types
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    number = is_list and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type))
    return bool(number)


def _stacked(column: Any, argument: str, name: str) -> NDArray[Any]:
    """Return lists of one length as rows."""
    lengths = {len(cell) if cell is not None else -1 for cell in column.to_pylist()}
    if len(lengths) != 1 or -1 in lengths:
        got = "a missing one" if -1 in lengths else f"{len(lengths)} different lengths"
        expected = f"lists of equally many numbers in column {name!r}"
        raise InvalidArgumentError(argument, expected, got)
    values = column.flatten().to_numpy(zero_copy_only=False)
    return cast("NDArray[Any]", values.reshape(len(column), -1))


def has_vectors(path: str | Path) -> bool:
    """Tell whether a file is a Parquet table with a column of vectors, or one for each value."""
    if Path(path).suffix.lower() != ".parquet" or not Path(path).is_file():
        return False
    try:
        import pyarrow as pa
        from pyarrow import parquet

        schema = parquet.read_schema(path)
    except (ImportError, OSError, pa.ArrowException):
        return False  # whoever reads the rows raises
    lists = any(_is_list_of_numbers(pa, field.type) for field in schema)
    return lists or len(numbered_columns(schema.names)) >= SHORTEST


def vector_columns(columns: Mapping[str, list[Any]]) -> list[str]:
    """Return the columns of a table that hold vectors, as lists or with a value in each."""

    def is_vector(cell: Any) -> bool:
        is_list = isinstance(cell, list) and len(cell) > 1
        return is_list and all(isinstance(value, int | float) for value in cell)

    lists = [name for name, cells in columns.items() if all(map(is_vector, cells[:10]))]
    numbered = numbered_columns(list(columns))
    return lists or (numbered if len(numbered) >= SHORTEST else [])


def numbered_columns(names: list[str]) -> list[str]:
    """Return the columns of one prefix that are numbered without gaps, in their order."""
    groups: dict[str, dict[int, str]] = {}
    for name in names:
        match = re.fullmatch(r"(.*?)(\d+)", name)
        if match:
            groups.setdefault(match[1], {})[int(match[2])] = name
    best = max(groups.values(), key=len, default={})
    first = min(best, default=0)
    in_order = [best.get(number) for number in range(first, first + len(best))]
    return [str(name) for name in in_order] if len(best) > 1 and None not in in_order else []
