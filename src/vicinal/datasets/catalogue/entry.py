"""A catalogue entry: the facts about one data set, and how its files become rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from vicinal.datasets.arff import read_meka
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.debtags import load_debtags
from vicinal.datasets.mat import read_mat
from vicinal.datasets.mulan import read_mulan
from vicinal.datasets.xc import read_xc
from vicinal.errors import DataFormatError

Finder = Callable[[str], Path]
"""Maps the name of a data set's file to its path."""


@dataclass(frozen=True)
class Recipe:
    """How files become a data set: ``read(find, **options)``, with `options` of these names."""

    format: str
    files: tuple[str, ...]
    read: Callable[..., Dataset]
    options: tuple[str, ...] = ("max_bytes",)


class Extent(NamedTuple):
    """The sizes of a data set, as :func:`vicinal.datasets.load` returns it."""

    rows: int
    features: int
    labels: int
    cardinality: float
    split: tuple[int, int] | None = None


@dataclass(frozen=True)
class Entry:
    """One data set; its folder has its name unless another is given."""

    name: str
    size: Extent
    recipe: Recipe
    source: str
    licence: str = "none stated"
    folder: str = ""
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    home: str | None = None
    archive: str | None = None
    hint: str = ""

    def __post_init__(self) -> None:
        """Set the folder."""
        object.__setattr__(self, "folder", self.folder or self.name)


def stack(parts: Sequence[Dataset], train: int = 0, test: int = 1) -> Dataset:
    """Concatenate the rows of `parts`; `train` and `test` state which parts are which."""
    first = parts[0]
    for part in parts[1:]:
        _check_same(first.feature_names, part.feature_names, "features", part.source)
        _check_same(first.label_names, part.label_names, "labels", part.source)
    ends = np.cumsum([part.n_rows for part in parts])
    rows = [np.arange(end - part.n_rows, end) for part, end in zip(parts, ends, strict=True)]
    named = [part.row_names for part in parts if part.row_names is not None]
    dense = [part.X for part in parts if isinstance(part.X, np.ndarray)]
    sparse_rows = sparse.vstack([sparse.csr_array(part.X) for part in parts], "csr")
    return replace(
        first,
        X=np.vstack(dense) if len(dense) == len(parts) else sparse.csr_array(sparse_rows),
        Y=sparse.csr_array(sparse.vstack([part.Y for part in parts], format="csr")),
        row_names=sum(named, ()) if len(named) == len(parts) else None,
        train=rows[train],
        test=rows[test],
    )


def _check_same(wanted: Sequence[str], found: Sequence[str], what: str, source: str) -> None:
    """Raise for parts whose names differ, as their columns would have different meanings."""
    if wanted != found:
        expected = f"the {what} of the training part ({len(wanted)})"
        raise DataFormatError(source, expected, f"{len(found)} {what} with other names")


def mulan(*arff: str, xml: str, drop: tuple[str, ...] = ()) -> Recipe:
    """Return a recipe for Mulan's ARFF files; two of them are the training and the test rows."""

    def read(find: Finder, **options: Any) -> Dataset:
        labels = find(xml)
        parts = [read_mulan(find(file), labels, drop=drop, **options) for file in arff]
        return parts[0] if len(parts) == 1 else stack(parts)

    return Recipe("Mulan ARFF + XML", (*arff, xml), read)


def meka(arff: str) -> Recipe:
    """Return a recipe for one of MEKA's ARFF files, without a split."""
    return Recipe("MEKA ARFF", (arff,), lambda find, **options: read_meka(find(arff), **options))


def mat(file: str) -> Recipe:
    """Return a recipe for a MATLAB file with training and test rows."""
    return Recipe("MATLAB v5", (file,), lambda find, **options: read_mat(find(file), **options))


def xc(*files: str, split: tuple[range, range] | None = None) -> Recipe:
    """Return a recipe for XC text and its two files of names; `split` are ranges of the rows."""

    def read(find: Finder, **options: Any) -> Dataset:
        whole = read_xc(*map(find, files), **options)
        if split is None:
            return whole
        return replace(whole, train=np.array(split[0]), test=np.array(split[1]))

    return Recipe("XC text", files, read)


def xc_split(train: str, test: str) -> Recipe:
    """Return a recipe for two XC text files without names: training rows, test rows."""

    def read(find: Finder, **options: Any) -> Dataset:
        return stack([read_xc(find(file), **options) for file in (train, test)])

    return Recipe("XC text", (train, test), read)


def several_labels(whole: Recipe) -> Recipe:
    """Return a recipe for the rows of another that have more than one label, without a split."""

    def read(find: Finder, **options: Any) -> Dataset:
        every = whole.read(find, **options)
        return every.subset(np.flatnonzero(np.diff(every.Y.indptr) > 1))

    return replace(whole, read=read)


EMBEDDED = Recipe("embedded", (), lambda _: load_debtags(), options=())
"""The recipe of the data set inside the package."""
