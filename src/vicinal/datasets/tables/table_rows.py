"""The rows of a table as they are read, for files that need not fit into memory."""

import io
import itertools
import json
import shutil
import sys
import tempfile
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from vicinal.datasets.data_files import (
    PACKED,
    FilePath,
    bare_name,
    open_data,
    open_stream,
    unpacked_limit,
)
from vicinal.datasets.tables.csv import DELIMITERS, csv_blocks, find_encoding
from vicinal.datasets.tables.folder import folder_records, is_folder
from vicinal.datasets.tables.reading import (
    MOST_CHARACTERS,
    Reading,
    Record,
    Records,
    TableOptions,
    gather,
    whole_table,
)
from vicinal.datasets.tables.spreadsheet import SPREADSHEETS, spreadsheet_records
from vicinal.errors import DataFormatError, InvalidArgumentError, optional_module

LINE_ENDINGS = (".jsonl", ".ndjson")
JSON_ENDINGS = (*LINE_ENDINGS, ".json")
ROW_KEYS = ("data", "rows", "records", "items", "documents", "examples")
"""Where an object that is a whole table may hold its rows."""


def table_document(content: str) -> list[Record] | None:
    """Return the rows of one JSON object that holds a whole table; None where it holds none."""
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not value:
        return None
    for key in ROW_KEYS:
        rows = value.get(key)
        if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
            return [Record(row, at) for at, row in enumerate(rows, start=1)]
    columns = list(value.values())
    if all(isinstance(column, dict) for column in columns):
        columns = [
            list(column.values()) for column in columns if column.keys() == columns[0].keys()
        ]
    if not all(isinstance(column, list) for column in columns) or len(columns) < len(value):
        return None
    if len({len(column) for column in columns}) != 1:
        return None
    rows_of = zip(*columns, strict=True)
    return [Record(dict(zip(value, cells, strict=True)), at) for at, cells in enumerate(rows_of, 1)]


def array_rows(pieces: Iterable[str], path: FilePath) -> Iterator[Record]:
    """Yield the objects of an array that comes in pieces, each with the line it begins on."""
    decoder = json.JSONDecoder()
    buffer = _Pieces(pieces)
    buffer.skip("[")
    while True:
        buffer.skip(",")
        if buffer.text[buffer.at : buffer.at + 1] == "]":
            return
        while True:
            try:
                values, end = decoder.raw_decode(buffer.text, buffer.at)
                break
            except (ValueError, RecursionError) as error:
                is_long = len(buffer.text) - buffer.at > MOST_CHARACTERS
                if is_long or not buffer.more():
                    got = str(error)[:80]
                    raise DataFormatError(path, "a JSON object", got, buffer.line) from None
        _check_size(end - buffer.at, path, buffer.line)
        yield _record(values, path, buffer.line)
        buffer.at = end


class _Pieces:
    """The part of a text that is being read: what is done with is dropped."""

    def __init__(self, pieces: Iterable[str]) -> None:
        self._pieces = iter(pieces)
        self.text, self.at, self._counted = "", 0, 0
        self.line = 1

    def more(self) -> bool:
        """Append a piece; tell whether there was one."""
        piece = next(self._pieces, None)
        if piece is None:
            return False
        self.text = self.text[self.at :] + piece
        self._counted -= self.at
        self.at = 0
        return True

    def skip(self, sign: str) -> None:
        """Go past blanks and a sign, and count the lines up to there."""
        while True:
            while self.at < len(self.text) and (
                self.text[self.at].isspace() or self.text[self.at] == sign
            ):
                self.at += 1
            self.line += self.text.count("\n", self._counted, self.at)
            self._counted = self.at
            if self.at < len(self.text) or not self.more():
                return


def line_records(lines: Iterable[str], path: FilePath) -> Iterator[Record]:
    """Yield the objects of JSON lines; blank lines are skipped."""
    for line, text in enumerate(lines, start=1):
        if not text.strip():
            continue
        _check_size(len(text), path, line)
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise DataFormatError(path, "a JSON object", str(error)[:80], line) from None
        yield _record(values, path, line)


def _record(values: Any, path: FilePath, line: int) -> Record:
    """Return a row after checking that it is an object."""
    if not isinstance(values, dict):
        raise DataFormatError(path, "a JSON object", type(values).__name__, line)
    return Record(values, line)


def _check_size(size: int, path: FilePath, line: int) -> None:
    """Raise if a row is too long."""
    if size > MOST_CHARACTERS:
        expected = f"lines of at most {MOST_CHARACTERS} characters"
        raise DataFormatError(path, expected, f"one of {size}", line)


STANDARD_INPUT = "-"
"""The path that stands for standard input on the command line."""
PARQUET = ".parquet"
TABLE_ENDINGS = (*JSON_ENDINGS, *DELIMITERS, PARQUET, *SPREADSHEETS)
ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".tgz")


def is_table(path: FilePath) -> bool:
    """Tell whether a path is a table, by its extension, or a folder of documents.

    Examples
    --------
    >>> is_table("songs.jsonl.gz"), is_table("-"), is_table("songs.arff")
    (True, True, False)
    """
    refuse_archive(path)
    is_file = str(path) == STANDARD_INPUT or bare_name(path).lower().endswith(TABLE_ENDINGS)
    return is_file or is_folder(path)


def refuse_archive(path: FilePath) -> None:
    """Raise an error that explains how to unpack an archive, or to convert other files."""
    name = bare_name(path).lower()
    if name.endswith(ARCHIVES):
        expected = "a file, packed by gzip, bzip2 or xz or not at all: unpack the archive first"
        raise InvalidArgumentError("path", expected, str(path))
    if name.endswith(".numbers"):
        expected = "a table: in the spreadsheet program, save the sheet as CSV UTF-8 or .xlsx"
        raise InvalidArgumentError("path", expected, str(path))


def table_ending(path: FilePath, endings: Sequence[str] = TABLE_ENDINGS) -> str:
    """Return the extension of a table, or raise if it is not among `endings`."""
    refuse_archive(path)
    name = bare_name(path).lower()
    for ending in endings:
        if name.endswith(ending):
            return ending
    wanted = ", ".join(endings)
    raise InvalidArgumentError("path", f"a name that ends in {wanted}", str(path))


def read_records(
    path: FilePath,
    options: TableOptions,
    wanted: Sequence[str] = (),
    known: Reading | None = None,
    *,
    labelled: bool = True,
) -> Records:
    """Return the cells of a table: all its blocks. Memory: the file, and every cell."""
    if is_folder(path):
        return folder_records(path, options, labelled=labelled)
    most_bytes = options.max_bytes
    if str(path) == STANDARD_INPUT:
        data = sys.stdin.buffer.read(most_bytes + 1)
        file = TableFile(Path(path), "standard input", None, data=data)
        if len(data) > most_bytes:
            raise DataFormatError(file.name, f"at most {most_bytes} bytes", "more")
    else:
        ending, data = table_ending(path), open_data(path, max_bytes=most_bytes)
        file = TableFile(Path(path), str(path), ending, data=data)
        if Path(path).suffix.lower() in PACKED:
            most_bytes = unpacked_limit(path, most_bytes)
    return whole_table(record_blocks(file, options, wanted, known, WHOLE_BLOCK), most_bytes)


WHOLE_BLOCK = 512
"""Rows that are parsed at a time where the whole table is wanted."""


_PIECE = 2**20
"""Bytes, or characters, that are read at a time."""


class TableFile(NamedTuple):
    """A table that can be read more than once."""

    path: Path
    name: str
    ending: str | None
    encoding: str | None = None
    data: bytes | None = None

    @contextmanager
    def open(self) -> Iterator[BinaryIO]:
        """Open the unpacked content."""
        if self.data is not None:
            yield io.BytesIO(self.data)
            return
        with open_stream(self.path) as stream:
            yield stream

    def pieces(self) -> Iterator[bytes]:
        """Yield the unpacked bytes."""
        with self.open() as stream:
            while piece := stream.read(_PIECE):
                yield piece

    @contextmanager
    def open_text(self, encoding: str, newline: str | None) -> Iterator[io.TextIOBase]:
        """Open the content as text, without the byte order mark that it may begin with."""
        with self.open() as stream:
            text = io.TextIOWrapper(stream, encoding, newline=newline)
            if text.read(1) != "\ufeff":
                text.seek(0)
            try:
                yield text
            finally:
                text.detach()


@contextmanager
def table_file(path: FilePath) -> Iterator[TableFile]:
    """Give a table as a file; standard input is copied to a temporary file first."""
    if is_folder(path):
        yield TableFile(Path(path), str(path), None)
        return
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
    *,
    labelled: bool = True,
) -> Iterator[Records]:
    """Yield the rows of a table, at most `block_rows` at a time; each block is a table.

    Memory: the cells of one block; spreadsheets and folders of documents are one block.
    """
    if file.path.is_dir():
        yield folder_records(file.path, options, labelled=labelled)
        return
    if file.ending in SPREADSHEETS:
        data = open_data(file.path, max_bytes=options.max_bytes) if file.data is None else file.data
        yield spreadsheet_records(data, file.name, options)
        return
    with file.open() as stream:
        magic = stream.read(4)
    if file.ending == PARQUET or magic == b"PAR1":
        yield from _parquet_blocks(file, block_rows)
        return
    earlier = None if known is None else known.encoding
    fallback = None if earlier is None or earlier.startswith("utf") else earlier
    encoding = file.encoding or find_encoding(file.pieces, file.name, options.encoding, fallback)
    head = _head(file, encoding)
    if not head.strip():
        raise DataFormatError(file.name, "rows of a table", "an empty file")
    is_json = file.ending in JSON_ENDINGS
    if is_json or (file.ending is None and head.lstrip()[:1] in ("{", "[")):
        is_empty = True
        with file.open_text(encoding, "\n") as lines:
            rows = _json_rows(lines, head, file.name)
            while block := list(itertools.islice(rows, block_rows)):
                is_empty = False
                yield gather(file.name, block, encoding=encoding)
        if is_empty:
            raise DataFormatError(file.name, "rows of a table", "none")
        return
    usual = DELIMITERS[file.ending or ".csv"]
    if known is not None and known.delimiter is not None:
        usual = known.delimiter
    with file.open_text(encoding, "") as lines:
        for each in csv_blocks(lines, file.name, options, wanted, known, usual, block_rows):
            each.encoding = encoding
            yield each


def _head(file: TableFile, encoding: str) -> str:
    """Return the beginning of a text, from the first character that is not blank."""
    with file.open_text(encoding, "") as lines:
        while (piece := lines.read(_PIECE)) and not piece.strip():
            pass
        return piece


def _json_rows(lines: io.TextIOBase, head: str, name: str) -> Iterator[Record]:
    """Yield the rows of JSON lines, of an array of objects, or of one object: a whole table."""
    start = head.lstrip()
    if start.startswith("[") and start[1:].lstrip()[:1] in ("{", "]", ""):
        return array_rows(iter(lambda: lines.read(_PIECE), ""), name)
    if bare_name(name).lower().endswith(LINE_ENDINGS):  # one object per line, whatever it holds
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


def _parquet_blocks(file: TableFile, block_rows: int) -> Iterator[Records]:
    """Yield the rows of a Parquet file; a row's line is its number."""
    pa = optional_module("pyarrow", "frames")
    parquet = optional_module("pyarrow.parquet", "frames")
    n_rows = 0
    try:
        with file.open() as stream, parquet.ParquetFile(stream, buffer_size=_PIECE) as table:
            names = table.schema_arrow.names
            for batch in table.iter_batches(min(block_rows, _BATCH), use_threads=False):
                columns = batch.to_pydict()
                numbers = range(n_rows + 1, n_rows + 1 + batch.num_rows)
                if batch.num_rows:
                    yield Records(file.name, columns, array("q", numbers))
                n_rows += batch.num_rows
    except UnicodeDecodeError:
        expected = "a Parquet file with text in UTF-8"
        raise DataFormatError(file.name, expected, "other bytes", n_rows + 1) from None
    except (pa.ArrowException, OSError) as error:
        raise DataFormatError(file.name, "a Parquet file", str(error)[:80]) from None
    if not n_rows:
        got = "a header only" if names else "none"
        raise DataFormatError(file.name, "rows of a table", got)


_BATCH = 1024
"""Rows of a Parquet file that are taken apart at a time."""
