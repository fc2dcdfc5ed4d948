"""How files in the known formats become a data set: one small recipe per layout."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vicinal.datasets.catalogue.combine import stack
from vicinal.datasets.catalogue.entry import Finder
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.embedded.debtags import load_debtags
from vicinal.datasets.mat import read_mat
from vicinal.datasets.meka import read_meka
from vicinal.datasets.mulan import read_mulan
from vicinal.datasets.xc import read_xc

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
