"""MEKA's format: an ARFF file whose relation name says how many attributes are labels."""

from collections.abc import Collection

from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath


def read_meka(
    arff: FilePath,
    *,
    n_labels: int | None = None,
    nominal: str = "auto",
    drop: Collection[str] = (),
    encoding: str = "utf-8",
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Dataset:
    """Read an ARFF file whose relation name holds ``-C n``."""
    raise NotImplementedError


def write_meka(dataset: Dataset, arff: FilePath, *, labels_first: bool = True) -> None:
    """Write an ARFF file whose relation name holds ``-C n``."""
    raise NotImplementedError
