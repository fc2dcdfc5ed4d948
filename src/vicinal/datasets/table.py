"""Tables with a column of text and a column of labels: JSONL, CSV, TSV."""

from collections.abc import Sequence

from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath


def read_table(
    path: FilePath,
    text: str | Sequence[str] = "text",
    labels: str = "labels",
    *,
    row_names: str | None = None,
    weighting: str = "binary",
    separator: str | None = None,
    columns: Sequence[str] | None = None,
    quoting: bool = True,
    vocabulary: Sequence[str] | None = None,
    label_names: Sequence[str] | None = None,
    token_pattern: str = r"(?u)\b\w\w+\b",
    lowercase: bool = True,
    min_rows: int = 1,
    max_features: int | None = None,
    encoding: str = "utf-8",
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Dataset:
    """Read a table: the text becomes a bag of words, the labels a set per row."""
    raise NotImplementedError


def write_table(
    dataset: Dataset,
    path: FilePath,
    *,
    text: str = "text",
    labels: str = "labels",
    row_names: str = "name",
) -> None:
    """Write a table whose text column lists each row's tokens."""
    raise NotImplementedError
