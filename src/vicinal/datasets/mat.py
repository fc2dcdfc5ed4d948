"""MATLAB files (version 5), in the two layouts multi-label data come in."""

from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath


def read_mat(path: FilePath, *, max_bytes: int = DEFAULT_MAX_BYTES) -> Dataset:
    """Read a MATLAB file."""
    raise NotImplementedError
