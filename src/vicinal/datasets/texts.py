"""Raw texts, for models that include a text vectoriser."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath, open_data
from vicinal.datasets.tables.content import check_text_only, read_content
from vicinal.datasets.tables.encodings import decode_table, find_encoding
from vicinal.datasets.tables.options import TableOptions
from vicinal.datasets.tables.read import is_table
from vicinal.datasets.tables.reading import Reading
from vicinal.datasets.tables.row_stream import byte_pieces, open_lines


@dataclass(frozen=True)
class Texts:
    """Texts, with their label names and row names if the file contains them.

    ``reading`` states how a table was read; None for other files.
    """

    texts: list[str]
    labels: list[list[str]] | None = None
    row_names: tuple[str, ...] | None = None
    reading: Reading | None = None


def read_texts(
    path: FilePath,
    text: str | Sequence[str] | None = None,
    labels: str | None = "labels",
    *,
    label_columns: Sequence[str] | None = None,
    row_names: str | None = None,
    separator: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Texts:
    r"""Read the texts of a table (CSV, TSV, JSON, Parquet), or one text per line of another file.

    Parameters
    ----------
    path : path
    text, row_names, separator, delimiter, encoding, max_bytes
        As for :func:`~vicinal.datasets.table.read_table`. A list of tokens is joined by blanks.
    labels : str or None
        Column of the labels; None to omit them.
    label_columns : sequence of str or None
        Columns of 0 and 1, one per label, instead of `labels`.

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
        data = open_data(path, max_bytes=max_bytes)
        return Texts(decode_table(data, path, encoding, None).text.splitlines())
    options = TableOptions(
        text=(text,) if isinstance(text, str) else text,
        labels=None if label_columns is not None or labels == "labels" else labels,
        label_columns=label_columns,
        row_names=row_names,
        separator=separator,
        delimiter=delimiter,
        encoding=encoding,
        max_bytes=max_bytes,
    )
    found = read_content(path, options, labelled=labels is not None or label_columns is not None)
    check_text_only(found.reading)
    return Texts(list(found.X), found.labels, found.row_names, found.reading)


def text_blocks(path: FilePath, block_rows: int, *, encoding: str | None = None) -> Iterator[Texts]:
    r"""Yield the texts of a file that has one per line, some at a time.

    The texts are those of :func:`read_texts`. Memory: one block.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.txt"
    ...     _ = path.write_text("buy milk\nsleep\nrun\n")
    ...     [block.texts for block in text_blocks(path, 2)]
    [['buy milk', 'sleep'], ['run']]
    """
    found = find_encoding(lambda: byte_pieces(Path(path)), path, encoding)
    with open_lines(Path(path), found, None) as lines:
        texts = chain.from_iterable(line.splitlines() for line in lines)
        while block := list(islice(texts, block_rows)):
            yield Texts(block)
