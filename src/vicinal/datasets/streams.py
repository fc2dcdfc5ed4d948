"""Files larger than memory, read in chunks: extreme-classification text, and texts in tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from scipy import sparse

from vicinal._base.arrays import Csr
from vicinal._base.errors import DataFormatError
from vicinal._base.validation import check_integer
from vicinal.datasets.columns import labels_of
from vicinal.datasets.files import FilePath, open_stream
from vicinal.datasets.native_parsers import parse_xc
from vicinal.datasets.tables.content import joined
from vicinal.datasets.tables.csv_records import DELIMITERS
from vicinal.datasets.tables.labels import label_sets
from vicinal.datasets.tables.options import TableOptions
from vicinal.datasets.tables.read import table_ending
from vicinal.datasets.tables.reading import Reading
from vicinal.datasets.tables.row_stream import TableFile, record_blocks
from vicinal.datasets.tables.text_cells import row_texts

CHUNK_BYTES = 2**25
"""Number of bytes parsed at a time: 32 MiB."""

CHUNK_ROWS = 10_000
"""Number of texts read at a time."""

LONGEST_LINE = 2**24
_MARK = b"\xef\xbb\xbf"


class RowChunk(NamedTuple):
    """Some rows of a file: features and labels."""

    X: Csr
    Y: Csr


class TextChunk(NamedTuple):
    """Some rows of a table: texts and the names of their labels."""

    texts: list[str]
    labels: list[list[str]]


def xc_chunks(path: FilePath, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[RowChunk]:
    r"""Yield the rows of extreme-classification text (a line ``n m L``, then one row per line).

    The rows equal those of :func:`~vicinal.datasets.xc.read_xc`, whatever the chunk size. Memory:
    about 3 × `chunk_bytes`. The file may be compressed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "some.xc.txt"
    ...     _ = path.write_text("2 5 3\n0,2 1:0.5 4:1\n 0:2\n")
    ...     [chunk.X.shape for chunk in xc_chunks(path, chunk_bytes=16)]
    [(1, 5), (1, 5)]
    """
    check_integer("chunk_bytes", chunk_bytes, low=1)
    with open_stream(path) as stream:
        sizes = _header(stream.readline(LONGEST_LINE), path)
        n_rows = 0
        for text in _whole_lines(stream, chunk_bytes, path):
            chunk = _parsed(text, sizes, n_rows, path)
            n_rows += int(chunk.X.shape[0])
            yield chunk
    if n_rows != sizes[0]:
        expected = f"{sizes[0]} rows, as the header says"
        raise DataFormatError(str(path), expected, str(n_rows))


def _header(line: bytes, path: FilePath) -> tuple[int, int, int]:
    """Return the counts of rows, features and labels."""
    try:
        n_rows, n_features, n_labels = map(int, line.removeprefix(_MARK).split())
        sizes = n_rows, n_features, n_labels
    except ValueError:
        sizes = -1, -1, -1
    if min(sizes) < 0:
        got = repr(line[:60])
        expected = "the counts of rows, features and labels (a table? name it .csv or .tsv)"
        raise DataFormatError(str(path), expected, got, 1)
    return sizes


def _whole_lines(stream: Any, chunk_bytes: int, path: FilePath) -> Iterator[bytes]:
    """Yield blocks of whole lines; the last line may lack its line break."""
    rest = b""
    while block := stream.read(chunk_bytes):
        text = rest + block
        end = text.rfind(b"\n") + 1
        rest = text[end:]
        if len(rest) > max(LONGEST_LINE, chunk_bytes):
            raise DataFormatError(str(path), f"lines of at most {LONGEST_LINE} bytes", "more")
        if end:
            yield text[:end]
    if rest.strip(b"\r\n"):
        yield rest


def _parsed(text: bytes, sizes: tuple[int, int, int], n_before: int, path: FilePath) -> RowChunk:
    """Parse some lines as if they were a file; errors name the line in the real file."""
    body = text.rstrip(b"\r\n") + b"\n"
    left = sizes[0] - n_before
    if body.strip() and body.count(b"\n") > left:
        expected = f"{sizes[0]} rows, as the header says"
        raise DataFormatError(str(path), expected, "more", sizes[0] + 2)
    # Blank lines at the end of a block are rows without labels and features. At the end of the file
    # they are rows only if the header counts them.
    n_lines = min(text.count(b"\n") + (not text.endswith(b"\n")), left)
    body += b"\n" * (n_lines - body.count(b"\n"))
    try:
        parts = parse_xc(b"%d %d %d\n%s" % (n_lines, *sizes[1:], body), path)
    except DataFormatError as error:
        line = None if error.line is None else error.line + n_before
        raise DataFormatError(str(path), error.expected, error.got, line) from None
    rows = (parts.values, parts.indices, parts.indptr)
    X = sparse.csr_array(rows, shape=(parts.n_rows, parts.n_features))
    return RowChunk(X, labels_of(parts.label_indptr, parts.label_indices, parts.n_labels))


def text_chunks(
    path: FilePath,
    text: str = "text",
    labels: str = "labels",
    *,
    separator: str = ",",
    delimiter: str | None = None,
    encoding: str = "utf-8-sig",
    chunk_rows: int = CHUNK_ROWS,
) -> Iterator[TextChunk]:
    r"""Yield the texts and labels of a table: JSON lines, CSV, TSV or Parquet.

    Memory: the rows of one chunk. Nothing is guessed from the content of the file.

    Parameters
    ----------
    path : path
        The extension determines the format; all formats may be compressed.
    text, labels : str
        Names of the columns. Labels are a list of names, or names joined by `separator`.
    separator : str
        ``""`` if each cell is one label.
    delimiter : str or None
        Delimiter of the cells of a CSV file; None for commas, or tabs if the file is ``.tsv``.
    encoding : str
    chunk_rows : int

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.csv"
    ...     _ = path.write_text('text,labels\nbuy milk,"home,shop"\nsleep,home\n')
    ...     [chunk.labels for chunk in text_chunks(path, chunk_rows=1)]
    [[['home', 'shop']], [['home']]]
    """
    check_integer("chunk_rows", chunk_rows, low=1)
    ending = table_ending(path)
    delimiter = delimiter or DELIMITERS.get(ending)
    options = TableOptions(delimiter=delimiter, encoding=encoding)
    reading = Reading(text=(text,), labels=labels, separator=separator)
    file = TableFile(Path(path), str(path), ending)
    for records in record_blocks(file, options, [text, labels], reading, chunk_rows):
        texts = map(joined, row_texts(records, [text]))
        yield TextChunk(list(texts), label_sets(records, reading))
