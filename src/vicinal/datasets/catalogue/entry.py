"""A catalogue entry: the facts about one data set."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from scipy import sparse

from vicinal._core.arrays import Csr, Features
from vicinal.datasets.arff import read_meka
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.debtags import load_debtags
from vicinal.datasets.mat import read_mat
from vicinal.datasets.mulan import read_mulan
from vicinal.datasets.xc import read_xc
from vicinal.errors import DataFormatError

Finder = Callable[[str], Path]
"""Maps the name of a data set's file to its path."""


class Recipe(Protocol):
    """How the files of a data set become one :class:`Dataset`."""

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files that are read."""

    @property
    def format(self) -> str:
        """The format, in words."""

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the keyword arguments that ``read`` takes."""

    def read(self, find: Finder, **options: Any) -> Dataset:
        """Read the files."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One data set: its facts as returned by :func:`vicinal.datasets.load`, and its recipe."""

    name: str
    folder: str
    n_rows: int
    n_features: int
    n_labels: int
    cardinality: float
    split: tuple[int, int] | None = None
    recipe: Recipe
    source: str
    licence: str = "none stated"
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    home: str | None = None
    archive: str | None = None
    hint: str = ""


def stack(parts: tuple[Dataset, ...], train: int = 0, test: int = 1) -> Dataset:
    """Concatenate the rows of `parts`; `train` and `test` state which parts are which."""
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


LIMIT = ("max_bytes",)


@dataclass(frozen=True)
class Mulan:
    """Mulan ARFF files with one XML file; two files are the training and the test rows."""

    arff: tuple[str, ...]
    xml: str
    drop: tuple[str, ...] = ()
    format = "Mulan ARFF + XML"
    options = LIMIT

    @property
    def files(self) -> tuple[str, ...]:
        """The ARFF files and the XML file."""
        return (*self.arff, self.xml)

    def read(self, find: Finder, **options: Any) -> Dataset:
        """Read and stack the parts."""
        xml = find(self.xml)
        parts = tuple(read_mulan(find(one), xml, drop=self.drop, **options) for one in self.arff)
        return parts[0] if len(parts) == 1 else stack(parts)


@dataclass(frozen=True)
class Meka:
    """One MEKA ARFF file, without a split."""

    arff: str
    format = "MEKA ARFF"
    options = LIMIT

    @property
    def files(self) -> tuple[str, ...]:
        """The one file."""
        return (self.arff,)

    def read(self, find: Finder, **options: Any) -> Dataset:
        """Read the file."""
        return read_meka(find(self.arff), **options)


@dataclass(frozen=True)
class Mat:
    """One MATLAB file with training and test rows."""

    mat: str
    format = "MATLAB v5"
    options = LIMIT

    @property
    def files(self) -> tuple[str, ...]:
        """The one file."""
        return (self.mat,)

    def read(self, find: Finder, **options: Any) -> Dataset:
        """Read the file."""
        return read_mat(find(self.mat), **options)


@dataclass(frozen=True)
class Xc:
    """One XC text file with its names; `train` and `test` are ranges of its rows."""

    data: str
    labels: str
    features: str
    train: range | None = None
    test: range | None = None
    format = "XC text"
    options = LIMIT

    @property
    def files(self) -> tuple[str, ...]:
        """The rows and the two files of names."""
        return (self.data, self.labels, self.features)

    def read(self, find: Finder, **options: Any) -> Dataset:
        """Read the file and mark the split."""
        whole = read_xc(find(self.data), find(self.labels), find(self.features), **options)
        if self.train is None or self.test is None:
            return whole
        return replace(whole, train=np.array(self.train), test=np.array(self.test))


@dataclass(frozen=True)
class XcSplit:
    """Two XC text files without names: training rows, test rows."""

    train: str
    test: str
    format = "XC text"
    options = LIMIT

    @property
    def files(self) -> tuple[str, ...]:
        """The two files."""
        return (self.train, self.test)

    def read(self, find: Finder, **options: Any) -> Dataset:
        """Read and stack the two files."""
        return stack(tuple(read_xc(find(one), **options) for one in self.files))


@dataclass(frozen=True)
class SeveralLabels:
    """The rows of another recipe that have more than one label, without a split."""

    whole: Mulan
    options = LIMIT

    @property
    def files(self) -> tuple[str, ...]:
        """The files of the whole set."""
        return self.whole.files

    @property
    def format(self) -> str:
        """The format of the whole set."""
        return self.whole.format

    def read(self, find: Finder, **options: Any) -> Dataset:
        """Read the whole set and keep the rows in question."""
        whole = self.whole.read(find, **options)
        return whole.subset(np.flatnonzero(np.diff(whole.Y.indptr) > 1))


@dataclass(frozen=True)
class Embedded:
    """The data set inside the package."""

    format = "embedded"
    files: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def read(self, find: Finder, **options: Any) -> Dataset:
        """Unpack it; nothing is looked for."""
        return load_debtags()
