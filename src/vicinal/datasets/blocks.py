"""Files larger than memory, read in chunks: extreme-classification text, and texts in tables."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from vicinal._core.arrays import Csr
from vicinal._core.checks import check_integer
from vicinal.datasets.arff import DATA_LINE, ArffFile, dataset_of, meka_labels, parsed_header
from vicinal.datasets.data_files import DEFAULT_MAX_BYTES, FilePath, open_stream
from vicinal.datasets.dataset import Dataset, by_content
from vicinal.datasets.formats import ARFF, file_format_of
from vicinal.datasets.mulan import mulan_labels
from vicinal.datasets.tables.content import Content, content_of
from vicinal.datasets.tables.csv import DELIMITERS
from vicinal.datasets.tables.label_cells import label_sets
from vicinal.datasets.tables.reading import Reading, TableOptions
from vicinal.datasets.tables.table_rows import TableFile, record_blocks, table_ending
from vicinal.datasets.xc import names_beside, parse_xc
from vicinal.errors import DataFormatError

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


def xc_chunks(path: FilePath, *, chunk_bytes: int = CHUNK_BYTES) -> Iterator[RowChunk]:
    """Yield the rows of :func:`~vicinal.datasets.xc.read_xc`, in memory of 3 × `chunk_bytes`."""
    check_integer("chunk_bytes", chunk_bytes, low=1)
    with open_stream(path) as stream:
        header = stream.readline(LONGEST_LINE)
        try:
            n_rows, n_features, n_labels = sizes = [*map(int, header.removeprefix(_MARK).split())]
        except ValueError:
            sizes = [-1]
        if min(sizes) < 0:
            expected = "the counts of rows, features and labels (a table? name it .csv or .tsv)"
            raise DataFormatError(path, expected, repr(header[:60]), 1)
        n_read = 0
        for text in _whole_lines(stream, chunk_bytes, path):
            chunk = _parsed(text, (n_rows, n_features, n_labels), n_read, path)
            n_read += int(chunk.X.shape[0])
            yield chunk
    if n_read != n_rows:
        raise DataFormatError(path, f"{n_rows} rows, as the header says", str(n_read))


def _whole_lines(stream: Any, chunk_bytes: int, path: FilePath) -> Iterator[bytes]:
    """Yield blocks of whole lines; the last line may lack its line break."""
    rest = b""
    while block := stream.read(chunk_bytes):
        text = rest + block
        end = text.rfind(b"\n") + 1
        rest = text[end:]
        if len(rest) > max(LONGEST_LINE, chunk_bytes):
            raise DataFormatError(path, f"lines of at most {LONGEST_LINE} bytes", "more")
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
        raise DataFormatError(path, expected, "more", sizes[0] + 2)
    # Blank lines at the end of a block are rows without labels and features. At the end of the file
    # they are rows only if the header counts them.
    n_lines = min(text.count(b"\n") + (not text.endswith(b"\n")), left)
    body += b"\n" * (n_lines - body.count(b"\n"))
    try:
        return RowChunk(*parse_xc(b"%d %d %d\n%s" % (n_lines, *sizes[1:], body), path))
    except DataFormatError as error:
        line = None if error.line is None else error.line + n_before
        raise DataFormatError(path, error.expected, error.got, line) from None


def text_chunks(
    path: FilePath,
    text: str = "text",
    labels: str = "labels",
    *,
    separator: str = ",",
    delimiter: str | None = None,
    encoding: str = "utf-8-sig",
    chunk_rows: int = CHUNK_ROWS,
) -> Iterator[Content]:
    r"""Yield the texts and labels of a table: JSON lines, CSV, TSV or Parquet."""
    check_integer("chunk_rows", chunk_rows, low=1)
    ending = table_ending(path)
    delimiter = delimiter or DELIMITERS.get(ending)
    options = TableOptions(delimiter=delimiter, encoding=encoding)
    reading = Reading(text=(text,), labels=labels, separator=separator)
    file = TableFile(Path(path), str(path), ending)
    for records in record_blocks(file, options, [text, labels], reading, chunk_rows):
        yield content_of(records, reading, label_sets(records, reading))


BLOCK_CHUNK_BYTES = 2**22
"""Text of extreme classification that is parsed at a time: 4 MiB."""


def file_blocks(
    path: FilePath, block_rows: int, *, unlabelled: bool = False, **options: Any
) -> Iterator[Dataset] | None:
    """Yield the rows of ``read_file`` in blocks, or return None if the format is read whole.

    Each block is dense or sparse by its own content. Memory: the text and the rows of one block.
    """
    kind = file_format_of(path, options)
    if kind == "xc":
        return _xc_blocks(path, block_rows, options.get("encoding", "utf-8"))
    if kind in ARFF:
        return _arff_blocks(path, block_rows, kind, unlabelled, options)
    return None


def _xc_blocks(path: FilePath, block_rows: int, encoding: str) -> Iterator[Dataset]:
    """Yield rows of extreme-classification text."""
    names: dict[str, Any] = {}
    for chunk in xc_chunks(path, chunk_bytes=BLOCK_CHUNK_BYTES):
        if not names:
            facts = (encoding, DEFAULT_MAX_BYTES)
            n_labels, n_features = int(chunk.Y.shape[1]), int(chunk.X.shape[1])
            names["label_names"] = names_beside(path, None, "label", n_labels, *facts)
            names["feature_names"] = names_beside(path, None, "feature", n_features, *facts)
        for start in range(0, int(chunk.X.shape[0]), block_rows):
            rows = slice(start, start + block_rows)
            X, Y = by_content(chunk.X[rows]), chunk.Y[rows]
            yield Dataset(X=X, Y=Y, source=Path(path).name, **names)


def _arff_blocks(
    path: FilePath, block_rows: int, kind: str, unlabelled: bool, options: dict[str, Any]
) -> Iterator[Dataset]:
    """Yield rows of an ARFF file, each block parsed as a file with the same header."""
    encoding = options.get("encoding", "utf-8")
    with open_stream(path) as stream:
        lines = _lines(stream, path)
        head = _arff_head(lines, path, encoding)
        if kind == "mulan":
            labels: Any = mulan_labels(head, options.get("xml"))
        else:
            labels = meka_labels(head, options.get("n_labels"), unlabelled)
        line, n_rows = head.rows_line, 0
        while block := list(islice(lines, block_rows)):
            part = replace(head, data=b"\n" + b"".join(block), rows_start=0, rows_line=line)
            found = dataset_of(part, labels, (), "auto")
            line += len(block)
            n_rows += found.n_rows
            if found.n_rows:
                yield found
    if not n_rows:
        yield dataset_of(replace(head, rows_start=len(head.data)), labels, (), "auto")


def _arff_head(lines: Iterator[bytes], path: FilePath, encoding: str) -> ArffFile:
    """Return the header of an ARFF file, read up to the line ``@data``."""
    text, size = list[bytes](), 0
    for line in lines:
        text.append(line)
        size += len(line)
        if DATA_LINE.match(line):
            break
        if size > DEFAULT_MAX_BYTES:
            raise DataFormatError(path, "a line '@data'", "none")
    return parsed_header(b"".join(text), path, encoding, DEFAULT_MAX_BYTES)


def _lines(stream: BinaryIO, path: FilePath) -> Iterator[bytes]:
    """Yield the lines of a file, which must not be too long to hold."""
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise DataFormatError(path, f"lines of at most {LONGEST_LINE} bytes", "more")
        yield line
