"""The rows of a table as they are read, for files that need not fit into memory."""

import io
import itertools
import json
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from vicinal._base.errors import DataFormatError, MissingExtraError
from vicinal.datasets.files import FilePath, open_stream
from vicinal.datasets.tables.csv_records import DELIMITERS, csv_rows, long_cells
from vicinal.datasets.tables.encodings import find_encoding
from vicinal.datasets.tables.json_records import (
    JSON_ENDINGS,
    array_rows,
    is_array,
    is_lines,
    line_records,
    table_document,
)
from vicinal.datasets.tables.options import TableOptions
from vicinal.datasets.tables.read import PARQUET, STANDARD_INPUT, table_ending
from vicinal.datasets.tables.reading import Reading
from vicinal.datasets.tables.records import Record, Records, gather

_PIECE = 2**20
"""Bytes, or characters, that are read at a time."""


class TableFile(NamedTuple):
    """A table that can be read more than once.

    Parameters
    ----------
    path : Path
    name : str
        What messages call it.
    ending : str or None
        What kind of table its name promises; None where its content tells.
    encoding : str or None
        Known from an earlier pass, in which all bytes were valid; None to find it.
    """

    path: Path
    name: str
    ending: str | None
    encoding: str | None = None


@contextmanager
def table_file(path: FilePath) -> Iterator[TableFile]:
    """Give a table as a file; standard input is copied to a temporary file first."""
    if str(path) != STANDARD_INPUT:
        yield TableFile(Path(path), str(path), table_ending(path))
        return
    with tempfile.TemporaryDirectory(prefix="vicinal-") as folder:
        copy = Path(folder) / "standard-input"
        with copy.open("wb") as target:
            shutil.copyfileobj(sys.stdin.buffer, target, _PIECE)
        yield TableFile(copy, "standard input", None)


def record_blocks(
    file: TableFile,
    options: TableOptions,
    wanted: Sequence[str],
    known: Reading | None,
    block_rows: int,
) -> Iterator[Records]:
    """Yield the rows of a table, `block_rows` at a time; each block is a table of its own.

    Encoding, delimiter and kind of file are found as :func:`~vicinal.datasets.tables.read.
    read_records` finds them. Memory: the cells of one block.

    Parameters
    ----------
    file : TableFile
    options, wanted, known
        As for ``read_records``.
    block_rows : int
    """
    with _open_rows(file, options, wanted, known) as found:
        n_blocks = 0
        while True:
            with long_cells():
                block = list(itertools.islice(found.rows, block_rows))
            if not block:
                break
            n_blocks += 1
            yield gather(file.name, block, found.names, **found.facts)
    if not n_blocks:
        got = "a header only" if found.names else "none"
        raise DataFormatError(file.name, "rows of a table", got)


class _Opened(NamedTuple):
    """Rows to come, the names of columns that are known from a header, and further facts."""

    rows: Iterator[Record]
    names: Sequence[str]
    facts: dict[str, Any]


@contextmanager
def _open_rows(
    file: TableFile, options: TableOptions, wanted: Sequence[str], known: Reading | None
) -> Iterator[_Opened]:
    """Open a table for one pass over its rows."""
    with open_stream(file.path) as stream:
        magic = stream.read(4)
    if file.ending == PARQUET or magic == b"PAR1":
        with _parquet_rows(file) as found:
            yield found
        return
    earlier = None if known is None else known.encoding
    fallback = None if earlier is None or earlier.startswith("utf") else earlier
    encoding = file.encoding or find_encoding(
        lambda: byte_pieces(file.path), file.name, options.encoding, fallback
    )
    head = _head(file.path, encoding)
    if not head.strip():
        raise DataFormatError(file.name, "rows of a table", "an empty file")
    is_json = file.ending in JSON_ENDINGS
    if is_json or (file.ending is None and head.lstrip()[:1] in ("{", "[")):
        with open_lines(file.path, encoding, "\n") as lines:
            yield _Opened(_json_rows(lines, head, file.name), (), {"encoding": encoding})
        return
    usual = DELIMITERS[file.ending or ".csv"]
    if known is not None and known.delimiter is not None:
        usual = known.delimiter
    with open_lines(file.path, encoding, "") as lines:
        rows = csv_rows(lines, file.name, options, usual, wanted)
        yield _Opened(iter(rows), rows.header, {**rows.facts, "encoding": encoding})


def byte_pieces(path: Path) -> Iterator[bytes]:
    """Yield the unpacked bytes of a file."""
    with open_stream(path) as stream:
        while piece := stream.read(_PIECE):
            yield piece


def _head(path: Path, encoding: str) -> str:
    """Return the beginning of a text, from the first character that is not blank."""
    with open_lines(path, encoding, "") as lines:
        while (piece := lines.read(_PIECE)) and not piece.strip():
            pass
        return piece


@contextmanager
def open_lines(path: Path, encoding: str, newline: str | None) -> Iterator[io.TextIOBase]:
    """Open a text without the byte order mark that it may begin with."""
    with open_stream(path) as stream:
        text = io.TextIOWrapper(stream, encoding, newline=newline)
        if text.read(1) != "\ufeff":
            text.seek(0)
        try:
            yield text
        finally:
            text.detach()


def _json_rows(lines: io.TextIOBase, head: str, name: str) -> Iterator[Record]:
    """Yield the rows of JSON lines, of an array of objects, or of one object: a whole table.

    Memory: an object that is a whole table is read at once.
    """
    if is_array(head):
        return array_rows(iter(lambda: lines.read(_PIECE), ""), name)
    if is_lines(name):
        return line_records(lines, name)
    first = _first_lines(lines, 2)
    if sum(bool(line.strip()) for line in first) == 2 and _is_object(first):
        return line_records(itertools.chain(first, lines), name)
    content = "".join(first) + lines.read()
    document = table_document(content)
    if document is not None:
        return iter(document)
    return line_records(io.StringIO(content, newline="\n"), name)


def _first_lines(lines: io.TextIOBase, count: int) -> list[str]:
    """Return the first lines up to so many that are not blank."""
    found: list[str] = []
    while count and (line := lines.readline()):
        found.append(line)
        count -= bool(line.strip())
    return found


def _is_object(lines: Sequence[str]) -> bool:
    """Tell whether the first line that is not blank is an object by itself."""
    try:
        return isinstance(json.loads(next(line for line in lines if line.strip())), dict)
    except (ValueError, RecursionError):
        return False


@contextmanager
def _parquet_rows(file: TableFile) -> Iterator[_Opened]:
    """Open a Parquet file; a row's line is its number."""
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "frames") from None
    try:
        with (
            open_stream(file.path) as stream,
            parquet.ParquetFile(stream, buffer_size=_PIECE) as table,
        ):
            names = table.schema_arrow.names
            yield _Opened(_numbered(table.iter_batches(_BATCH, use_threads=False)), names, {})
    except (pa.ArrowException, OSError) as error:
        raise DataFormatError(file.name, "a Parquet file", str(error)[:80]) from None


_BATCH = 1024
"""Rows of a Parquet file that are taken apart at a time."""


def _numbered(batches: Iterable[Any]) -> Iterator[Record]:
    """Yield the rows of batches, counted from 1."""
    rows = itertools.chain.from_iterable(batch.to_pylist() for batch in batches)
    return (Record(row, at) for at, row in enumerate(rows, start=1))
