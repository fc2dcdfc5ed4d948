"""Combine data sets: a published split as one set of rows, or a selection of rows."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features
from vicinal._base.errors import DataFormatError
from vicinal.datasets.dataset import Dataset


def stack(parts: tuple[Dataset, ...], train: int = 0, test: int = 1) -> Dataset:
    """Concatenate the rows of `parts`; `train` and `test` state which parts are which.

    The parts must name the same features and labels in the same order.
    """
    first = parts[0]
    for part in parts[1:]:
        _check_same(first.feature_names, part.feature_names, "features", part.source)
        _check_same(first.label_names, part.label_names, "labels", part.source)
    ends = np.cumsum([part.X.shape[0] for part in parts])
    rows = [np.arange(end - part.X.shape[0], end) for part, end in zip(parts, ends, strict=True)]
    named = [part.row_names for part in parts if part.row_names is not None]
    return replace(
        first,
        X=_stack_rows([part.X for part in parts]),
        Y=sparse.csr_array(sparse.vstack([part.Y for part in parts], format="csr")),
        row_names=sum(named, ()) if len(named) == len(parts) else None,
        train=rows[train],
        test=rows[test],
    )


def _stack_rows(parts: list[Features]) -> Features:
    """Stack dense or sparse rows; one sparse part makes all sparse."""
    dense = [part for part in parts if isinstance(part, np.ndarray)]
    if len(dense) == len(parts):
        return np.vstack(dense)
    stacked: Csr = sparse.csr_array(sparse.vstack([sparse.csr_array(p) for p in parts], "csr"))
    return stacked


def _check_same(wanted: Sequence[str], found: Sequence[str], what: str, source: str) -> None:
    """Raise for parts whose names differ, as their columns would have different meanings."""
    if wanted != found:
        raise DataFormatError(
            source,
            f"the {what} of the training part ({len(wanted)})",
            f"{len(found)} {what} with other names",
        )
