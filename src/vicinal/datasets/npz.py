"""NumPy's archive: the one format that keeps everything a data set holds."""

from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath


def read_npz(path: FilePath, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Dataset:
    """Read a NumPy archive."""
    raise NotImplementedError


def write_npz(dataset: Dataset, path: FilePath) -> None:
    """Write a NumPy archive."""
    raise NotImplementedError
