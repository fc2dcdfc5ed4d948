"""NumPy archives: the only format that stores everything in a data set.

Arrays of the archive: ``X`` (n × m), or ``X_data``, ``X_indices``, ``X_indptr`` and ``X_shape`` for
CSR; ``Y_indices``, ``Y_indptr`` and ``Y_shape``, or ``Y`` (n × L) with values 0 and 1; ``train``
and ``test`` if there is a split; ``about``: a JSON object in UTF-8, as bytes, with
``feature_names``, ``label_names``, ``row_names`` and ``source``. Without ``about``, columns are
numbered, so that files written by ``numpy.savez(path, X=X, Y=Y)`` can be read.
"""

import io
import json
import lzma
import struct
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from vicinal._core.arrays import Csr
from vicinal._core.csr import MOST_ROWS, check_compressed
from vicinal._core.files import read_npy_header
from vicinal._core.labels import check_indicator
from vicinal._core.validation import check_features
from vicinal.datasets.data_files import (
    DEFAULT_MAX_BYTES,
    FilePath,
    open_data,
    too_long,
    unpacked_limit,
    write_data,
)
from vicinal.datasets.dataset import Dataset, numbered
from vicinal.errors import DataFormatError, InvalidArgumentError

Arrays: TypeAlias = Mapping[str, NDArray[Any]]

_OF_X = ("X", "X_data", "X_indices", "X_indptr", "X_shape")
_OF_Y = ("Y", "Y_indices", "Y_indptr", "Y_shape")
_KNOWN = {*_OF_X, *_OF_Y, "train", "test", "about"}

# Exceptions of zipfile for a damaged archive; ValueError is raised for a negative offset.
_DAMAGED = (
    zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, OverflowError,
    NotImplementedError, RuntimeError, ValueError,
)  # fmt: skip


def read_npz(
    path: FilePath, *, unlabelled: bool = False, max_bytes: int = DEFAULT_MAX_BYTES
) -> Dataset:
    """Read a NumPy archive, without unpickling anything."""
    data = open_data(path, max_bytes=max_bytes)
    arrays = _open_archive(data, path, unpacked_limit(path, max_bytes))
    try:
        X = check_features(_features(arrays))
        if unlabelled and not arrays.keys() & {"Y", "Y_indices"}:
            Y = check_indicator(np.zeros((X.shape[0], 0)))
        else:
            Y = _labels(arrays)
        about = _about(arrays, path)
        return Dataset(
            X=X,
            Y=Y,
            feature_names=_names(about, "feature", X.shape[1], path),
            label_names=_names(about, "label", Y.shape[1], path),
            row_names=about.get("row_names"),
            train=arrays.get("train"),
            test=arrays.get("test"),
            source=str(about.get("source", Path(path).name)),
        )
    except InvalidArgumentError as error:
        raise DataFormatError(path, f"{error.expected} in {error.name}", str(error.got)) from None


def _open_archive(data: bytes, path: FilePath, max_bytes: int) -> dict[str, NDArray[Any]]:
    """Return the arrays of an archive by name."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.infolist()
            if sum(member.file_size for member in members) > max_bytes:
                raise too_long(path, max_bytes)
            arrays = {}
            for member in members:
                name = member.filename.removesuffix(".npy")
                if name not in _KNOWN or name in arrays:
                    raise DataFormatError(path, "arrays of a data set", repr(name))
                arrays[name] = _read_array(archive.read(member), name, path)
            return arrays
    except DataFormatError:
        raise
    except _DAMAGED as error:
        got = str(error) if data else "an empty file"
        raise DataFormatError(path, "an intact .npz archive", got) from None


def _read_array(content: bytes, name: str, path: FilePath) -> NDArray[Any]:
    """Return an array from the bytes of an .npy file, whose header must match its length."""
    stream = io.BytesIO(content)
    try:
        header = read_npy_header(stream)
        if header.nbytes != len(content) - stream.tell():
            raise ValueError(f"shape {header.shape} of {header.dtype} in {len(content)} bytes")
        values: NDArray[Any] = np.frombuffer(content, dtype=header.dtype, offset=stream.tell())
        return values.reshape(header.shape, order="F" if header.is_fortran else "C")
    except ValueError as error:
        raise DataFormatError(path, f"an array of numbers as {name}", str(error)) from None


def _part(arrays: Arrays, name: str, kinds: str = "iu") -> NDArray[Any]:
    """Return a one-dimensional array, or raise if the archive does not contain it."""
    array = arrays.get(name)
    if array is None:
        raise InvalidArgumentError(name, "an array", "no such array")
    if array.ndim != 1 or array.dtype.kind not in kinds:
        raise InvalidArgumentError(name, "a list of numbers", f"{array.dtype}, {array.shape}")
    return array


def _compressed(arrays: Arrays, prefix: str, data: NDArray[Any]) -> Csr:
    """Return a CSR matrix after checking its structure."""
    shape = _part(arrays, f"{prefix}_shape").tolist()
    if len(shape) != 2 or min(shape) < 0 or max(shape) > MOST_ROWS:
        raise InvalidArgumentError(f"{prefix}_shape", "two counts", shape)
    indices, indptr = _part(arrays, f"{prefix}_indices"), _part(arrays, f"{prefix}_indptr")
    size = (shape[0], shape[1])
    check_compressed(indptr, indices, len(data), size, prefix, exact=True)
    return sparse.csr_array((data, indices, indptr), shape=size, copy=True)


def _features(arrays: Arrays) -> NDArray[Any] | Csr:
    if "X" in arrays:
        return arrays["X"]
    return _compressed(arrays, "X", _part(arrays, "X_data", "fiub"))


def _labels(arrays: Arrays) -> Csr:
    if "Y" in arrays:
        return check_indicator(arrays["Y"])
    return _compressed(arrays, "Y", np.ones(len(_part(arrays, "Y_indices")), dtype=np.int32))


def _about(arrays: Arrays, path: FilePath) -> dict[str, Any]:
    """Return the JSON object with the names."""
    if "about" not in arrays:
        return {}
    try:
        about = json.loads(arrays["about"].tobytes())
    except (ValueError, RecursionError) as error:
        raise DataFormatError(path, "JSON in about", str(error)) from None
    if not isinstance(about, dict):
        raise DataFormatError(path, "a JSON object in about", type(about).__name__)
    for key in ("feature_names", "label_names", "row_names"):
        if not isinstance(about.get(key, []), list | None):
            raise DataFormatError(path, f"a list as {key}", type(about[key]).__name__)
    return about


def _names(about: dict[str, Any], what: str, count: int, path: FilePath) -> Sequence[str]:
    names = about.get(f"{what}_names")
    return numbered(count, what, path) if names is None else tuple(names)


def write_npz(dataset: Dataset, path: FilePath) -> None:
    """Write everything in a data set: values, names, row names, split and source."""
    arrays: dict[str, NDArray[Any]] = {}
    if isinstance(dataset.X, np.ndarray):
        arrays["X"] = dataset.X
    else:
        arrays |= _parts_of(dataset.X, "X") | {"X_data": dataset.X.data}
    arrays |= _parts_of(dataset.Y, "Y")
    if dataset.train is not None and dataset.test is not None:
        arrays |= {"train": dataset.train, "test": dataset.test}
    about = {
        "feature_names": list(dataset.feature_names),
        "label_names": list(dataset.label_names),
        "row_names": dataset.row_names,
        "source": dataset.source,
    }
    arrays["about"] = np.frombuffer(json.dumps(about, ensure_ascii=False).encode(), dtype=np.uint8)
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                npy.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
    write_data(path, [content.getvalue()])


def _parts_of(matrix: Csr, prefix: str) -> dict[str, NDArray[Any]]:
    """Return the structure of a CSR by name."""
    return {
        f"{prefix}_indices": matrix.indices,
        f"{prefix}_indptr": matrix.indptr,
        f"{prefix}_shape": np.array(matrix.shape, dtype=np.int64),
    }
