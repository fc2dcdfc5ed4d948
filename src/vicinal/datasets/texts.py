"""Texts as they stand, for models that read text themselves."""

from collections.abc import Sequence
from dataclasses import dataclass

from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath, bare_name, open_text
from vicinal.datasets.table_cells import label_cell, text_cell, text_columns
from vicinal.datasets.table_rows import DELIMITERS, JSON_ENDINGS, read_rows


@dataclass(frozen=True)
class Texts:
    """Rows of text, with their label names and row names where the file has them."""

    texts: list[str]
    labels: list[list[str]] | None = None
    row_names: tuple[str, ...] | None = None


def is_table(path: FilePath) -> bool:
    """Tell whether a file name promises a table of texts.

    Examples
    --------
    >>> is_table("songs.jsonl.gz"), is_table("songs.arff")
    (True, False)
    """
    return bare_name(path).lower().endswith((*JSON_ENDINGS, *DELIMITERS))


def read_texts(
    path: FilePath,
    text: str | Sequence[str] = "text",
    labels: str | None = "labels",
    *,
    row_names: str | None = None,
    separator: str | None = None,
    encoding: str = "utf-8",
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Texts:
    r"""Read the texts of a table (JSONL, CSV, TSV), or of any other file one a line.

    Parameters
    ----------
    path : path
    text, labels, row_names, separator, encoding, max_bytes
        As for :func:`~vicinal.datasets.table.read_table`; `labels` may be None: there are none. A
        list of tokens becomes a text with blanks between them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.jsonl"
    ...     _ = path.write_text('{"text": "buy milk", "labels": ["home", "shop"]}\n')
    ...     found = read_texts(path)
    >>> found.texts, found.labels
    (['buy milk'], [['home', 'shop']])
    """
    if not is_table(path):
        content = open_text(path, encoding=encoding, max_bytes=max_bytes)
        return Texts(content.splitlines())
    parts = text_columns(text)
    named = [column for column in (labels, row_names) if column is not None]
    rows = read_rows(path, [*parts, *named], None, True, encoding, max_bytes)
    cells = [text_cell(row, parts, path) for row in rows]
    return Texts(
        [cell if isinstance(cell, str) else " ".join(cell) for cell in cells],
        None if labels is None else [label_cell(row, labels, separator, path) for row in rows],
        None if row_names is None else tuple(map(str, rows.cells[row_names])),
    )
