"""Files of features and labels in blocks of rows: extreme-classification text and ARFF."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from vicinal._base.errors import DataFormatError
from vicinal.datasets.arff_header import ArffFile, is_data_line, parsed_header
from vicinal.datasets.arff_plan import dataset_of
from vicinal.datasets.columns import by_content
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import DEFAULT_MAX_BYTES, FilePath, open_stream
from vicinal.datasets.formats import ARFF, file_format_of
from vicinal.datasets.meka import meka_labels
from vicinal.datasets.mulan import mulan_labels
from vicinal.datasets.streams import LONGEST_LINE, xc_chunks
from vicinal.datasets.xc import names_beside

IN_BLOCKS = ("xc", *ARFF)
"""Formats that are read in blocks; the others are read whole."""
CHUNK_BYTES = 2**22
"""Text of extreme classification that is parsed at a time: 4 MiB."""


def file_blocks(
    path: FilePath, block_rows: int, *, unlabelled: bool = False, **options: Any
) -> Iterator[Dataset] | None:
    r"""Yield the rows of a file some at a time, or return None where its format is read whole.

    Parameters
    ----------
    path : path
    block_rows : int
        Most rows at a time.
    unlabelled, **options
        As for :func:`~vicinal.datasets.formats.read_file`.

    Notes
    -----
    The rows are those of ``read_file``, however many come at a time; whether features come dense or
    sparse is told by each block. Memory: the text and the rows of one block.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiny.xc"
    ...     _ = path.write_text("3 3 2\n0,1 1:0.5\n1 0:1 2:2\n0 1:1\n")
    ...     [block.n_rows for block in file_blocks(path, 2)]
    [2, 1]
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
    for chunk in xc_chunks(path, chunk_bytes=CHUNK_BYTES):
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
        head = _header(lines, path, encoding)
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


def _header(lines: Iterator[bytes], path: FilePath, encoding: str) -> ArffFile:
    """Return the header of an ARFF file, read up to the line ``@data``."""
    text, size = list[bytes](), 0
    for line in lines:
        text.append(line)
        size += len(line)
        if is_data_line(line):
            break
        if size > DEFAULT_MAX_BYTES:
            raise DataFormatError(str(path), "a line '@data'", "none")
    return parsed_header(b"".join(text), path, encoding, DEFAULT_MAX_BYTES)


def _lines(stream: BinaryIO, path: FilePath) -> Iterator[bytes]:
    """Yield the lines of a file, which must not be too long to hold."""
    while line := stream.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            raise DataFormatError(str(path), f"lines of at most {LONGEST_LINE} bytes", "more")
        yield line
