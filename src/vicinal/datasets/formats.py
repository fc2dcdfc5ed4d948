"""Which format a file is in, and the reader or writer for it."""

from typing import Any

from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import FilePath


def read_file(path: FilePath, *, file_format: str | None = None, **options: Any) -> Dataset:
    """Read a file in any of the known formats."""
    raise NotImplementedError


def write_file(
    dataset: Dataset, path: FilePath, *, file_format: str | None = None, **options: Any
) -> None:
    """Write a file in the format its name asks for."""
    raise NotImplementedError
