"""The text format of the extreme classification repository."""

from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath


def read_xc(
    path: FilePath,
    labels: FilePath | None = None,
    features: FilePath | None = None,
    *,
    encoding: str = "utf-8",
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Dataset:
    """Read rows of ``label,label feature:value …`` under a line ``n m L``."""
    raise NotImplementedError


def write_xc(
    dataset: Dataset,
    path: FilePath,
    labels: FilePath | None = None,
    features: FilePath | None = None,
) -> None:
    """Write rows of ``label,label feature:value …``, and the names beside them."""
    raise NotImplementedError
