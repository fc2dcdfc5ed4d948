"""MATLAB files (version 5 to 7), in the two layouts that are common for multi-label data.

``X``, ``Y`` (and ``Xt``, ``Yt`` for the test rows) with one row per instance; or ``train_data``
with one row per instance and ``train_target`` with one *column* per instance (and ``test_data``,
``test_target``). Label values are 0/1 or −1/+1. The files contain no names.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal._base.validation import check_features
from vicinal.datasets.columns import by_content
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath, open_data, unpacked_limit
from vicinal.datasets.mat_elements import read_matrices
from vicinal.datasets.names import MAX_NUMBERED, numbered

# Variables of training and test features and labels; whether labels have one column per instance.
_LAYOUTS = (
    ("train_data", "train_target", "test_data", "test_target", True),
    ("X", "Y", "Xt", "Yt", False),
)


def read_mat(path: FilePath, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Dataset:
    """Read a MATLAB file. Test rows follow the training rows; the split states which is which.

    Parameters
    ----------
    path : path
    max_bytes : int
        Maximum size in bytes of the unpacked file and of the unpacked variables in it.
    """
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
    raise DataFormatError(str(path), f"the variables {wanted}", got)


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
            raise DataFormatError(str(path), expected, f"{sets.shape[0]} × {sets.shape[1]}")
        if part.shape[1] != rows[0].shape[1]:
            got = f"{part.shape[1]} in {names[2]}"
            raise DataFormatError(str(path), f"{rows[0].shape[1]} features", got)
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
        raise DataFormatError(str(path), expected, f"no {name}")
    if max(value.shape) > MAX_NUMBERED:
        raise DataFormatError(str(path), expected, f"shape {value.shape}")
    try:
        return sparse.csr_array(check_features(value, name))
    except InvalidArgumentError as error:
        raise DataFormatError(str(path), expected, str(error.got)) from None


def _indicator(matrix: Csr, name: str, by_column: bool, path: FilePath) -> Csr:
    """Return label values 0/1 or −1/+1 as an indicator with one row per instance."""
    values: NDArray[Any] = matrix.data
    strange = values[(values != 1) & (values != -1)]
    if strange.size:
        raise DataFormatError(str(path), f"values 0, 1 and −1 in {name}", f"{strange[0]:g}")
    ones = matrix.copy()
    ones.data = (values == 1).astype(np.int32)
    return sparse.csr_array(ones.T) if by_column else ones
