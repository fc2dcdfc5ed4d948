"""Mulan's format: an ARFF file, and an XML file that names the attributes that are labels."""

from collections.abc import Collection

from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath


def read_mulan(
    arff: FilePath,
    xml: FilePath | None = None,
    *,
    nominal: str = "auto",
    drop: Collection[str] = (),
    encoding: str = "utf-8",
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Dataset:
    """Read an ARFF file whose labels an XML file names."""
    raise NotImplementedError


def write_mulan(dataset: Dataset, arff: FilePath, xml: FilePath | None = None) -> None:
    """Write an ARFF file, and beside it the XML file that names its labels."""
    raise NotImplementedError
