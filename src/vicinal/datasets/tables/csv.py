"""Rows of CSV and TSV files."""

import codecs
import csv
import io
import itertools
import re
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from vicinal.datasets.files import FilePath
from vicinal.datasets.tables.reading import MOST_CHARACTERS, Record, Records, TableOptions, gather
from vicinal.errors import DataFormatError, logger

CANDIDATES = (",", ";", "\t", "|")
SHOWN = {"\t": "tab", " ": "space", "\n": "newline"}
_SAMPLE = 50
SAMPLED_LINES = 20 * _SAMPLE
"""Lines from which the delimiter is told."""


def shown(separator: str) -> str:
    r"""Return a separator as it is shown in messages.

    Examples
    --------
    >>> shown(";"), shown("\t")
    ("';'", 'tab')
    """
    return SHOWN.get(separator, repr(separator))


def detect_delimiter(
    content: str, usual: str, wanted: Sequence[str], *, quoting: bool, path: FilePath
) -> str:
    r"""Return the delimiter that fits the first rows of a table.

    The usual delimiter is kept if it gives at least two columns in all rows, and no other delimiter
    finds more of the wanted columns; otherwise the delimiter of the widest table is chosen.

    Parameters
    ----------
    content : str
    usual : str
        The delimiter of the file's extension, or of an earlier file of the same kind.
    wanted : sequence of str
        Columns that the caller has named.
    quoting : bool
    path : path

    Examples
    --------
    >>> text = "text;tags\nred, round;a,b\nblue, square;c\n"
    >>> detect_delimiter(text, ",", [], quoting=True, path="x.csv")
    ';'
    """
    ranked = [usual, *(each for each in CANDIDATES if each != usual)]
    fits = {each: _fit(content, each, wanted, quoting) for each in ranked}
    best = max(ranked, key=lambda each: fits[each])
    is_usual = fits[usual][1] >= 2 and fits[usual][0] == fits[best][0]
    found = best if fits[best][1] >= 2 and not is_usual else usual
    if found != usual:
        logger.info("%s: cells separated by %s (--delimiter changes this)", path, shown(found))
    return found


def _fit(content: str, delimiter: str, wanted: Sequence[str], quoting: bool) -> tuple[int, int]:
    """Return the number of wanted columns, and the width of the rows (0 if they differ in it)."""
    lines = itertools.islice(io.StringIO(content, newline=""), SAMPLED_LINES)
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
        strict=True,
    )
    try:
        rows = list(itertools.islice((cells for cells in reader if cells), _SAMPLE))
    except csv.Error:
        return 0, 0
    if not rows:
        return 0, 0
    header = rows[0]
    is_even = all(len(cells) == len(header) for cells in rows)
    return sum(name in header for name in wanted), len(header) if is_even else 0


DELIMITERS = {".csv": ",", ".tsv": "\t"}
_EXCEL_HINT = re.compile(r"\A\s*\"?sep=(.)\"?\r?\n")

# The csv module keeps its limit on the length of a cell for the whole process.
_cell_limit = threading.Lock()


def csv_records(
    content: str, path: FilePath, options: TableOptions, usual: str, wanted: Sequence[str]
) -> Records:
    """Return the rows of a CSV file.

    Parameters
    ----------
    content : str
    path : path
    options : TableOptions
    usual : str
        The delimiter to prefer: that of the extension or of an earlier file of the same kind.
    wanted : sequence of str
        Columns that the file must have; they help to detect the delimiter.
    """
    rows = csv_rows(io.StringIO(content, newline=""), path, options, usual, wanted)
    with long_cells():
        return gather(path, rows, rows.header, **rows.facts)


@contextmanager
def long_cells() -> Iterator[None]:
    """Let the csv module read cells of up to :data:`MOST_CHARACTERS` within."""
    with _cell_limit:
        before = csv.field_size_limit(MOST_CHARACTERS)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def csv_rows(
    lines: Iterable[str], path: FilePath, options: TableOptions, usual: str, wanted: Sequence[str]
) -> "CsvRows":
    """Return the rows of a CSV file, read line by line as they are asked for.

    Parameters
    ----------
    lines : iterable of str
        Lines with their ends; an empty first line does no harm.
    path, options, usual, wanted
        As for :func:`csv_records`.
    """
    remaining = iter(lines)
    head = "".join(itertools.islice(remaining, SAMPLED_LINES))
    hint = _EXCEL_HINT.match(head)  # Excel's own way of telling the delimiter
    head = head if hint is None else head[hint.end() :]
    delimiter = options.delimiter or (hint.group(1) if hint else None)
    with long_cells():
        if delimiter is None:
            delimiter = detect_delimiter(head, usual, wanted, quoting=options.quoting, path=path)
        every = itertools.chain(io.StringIO(head, newline=""), remaining)
        return CsvRows(every, delimiter, options, path, 1 if hint is None else 2)


class CsvRows:
    """The header of a CSV file, and its rows as an iterator."""

    def __init__(
        self,
        lines: Iterable[str],
        delimiter: str,
        options: TableOptions,
        path: FilePath,
        first: int,
    ) -> None:
        self._path, self._first, self._delimiter = path, first, delimiter
        self._reader = csv.reader(
            lines,
            delimiter=delimiter,
            quoting=csv.QUOTE_MINIMAL if options.quoting else csv.QUOTE_NONE,
            strict=True,
        )
        self.header_line: int | None = None
        self.header = list(options.columns) if options.columns is not None else self._header()
        counts = Counter(self.header)
        self._repeated = {name: count for name, count in counts.items() if count > 1}

    def __iter__(self) -> Iterator[Record]:
        """Yield the rows; blank lines are skipped."""
        width = len(self.header)
        while (cells := self._next()) is not None:
            if len(cells) != width:
                expected = f"{width} cells, one per column"
                raise DataFormatError(str(self._path), expected, str(len(cells)), self._line)
            yield Record(self._by_column(cells), self._line)

    def _by_column(self, cells: Sequence[str]) -> dict[str, Any]:
        """Return the cells of a row by column; those of columns of one name as a list."""
        found: dict[str, Any] = dict(zip(self.header, cells, strict=True))
        if self._repeated:
            found |= {name: [] for name in self._repeated}
            for name, cell in zip(self.header, cells, strict=True):
                if name in self._repeated:
                    found[name].append(cell)
        return found

    @property
    def facts(self) -> dict[str, Any]:
        """What a table of these rows keeps besides them."""
        return {
            "header_line": self.header_line,
            "delimiter": self._delimiter,
            "repeated": self._repeated,
        }

    @property
    def _line(self) -> int:
        """The number of the current line."""
        return self._reader.line_num + self._first - 1

    def _next(self) -> list[str] | None:
        """Return the cells of the next row that is not blank."""
        try:
            return next((cells for cells in self._reader if cells), None)
        except csv.Error as error:
            expected = (
                "cells of a table, in quotes as a whole or not at all (quoting=False, "
                "--no-quotes: quotes are characters like others)"
            )
            raise DataFormatError(str(self._path), expected, str(error), self._line) from None

    def _header(self) -> list[str]:
        """Return the names of the columns."""
        cells = self._next()
        if cells is None:
            raise DataFormatError(str(self._path), "rows of a table", "an empty file")
        self.header_line = self._line
        return [cell.strip() for cell in cells]


MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
"""Byte order marks; UTF-32 comes first, because its mark starts like that of UTF-16."""
WESTERN = "cp1252"
"""The encoding of Windows programs in Western Europe and America if they do not write UTF-8."""


class Decoded(NamedTuple):
    """A text and its original encoding."""

    text: str
    encoding: str


def decode_table(
    data: bytes, path: FilePath, encoding: str | None, fallback: str | None = None
) -> Decoded:
    """Return bytes as text.

    Parameters
    ----------
    data : bytes
    path : path
        For error messages.
    encoding : str or None
        The encoding; None to detect it: by a byte order mark, as UTF-16 without one (every other
        byte of most characters is 0), as UTF-8 if the bytes are valid, otherwise `fallback`.
    fallback : str or None
        Encoding of an earlier file of the same kind; None for cp1252.

    Examples
    --------
    >>> decode_table("Größe".encode("cp1252"), "x.csv", None)
    Decoded(text='Größe', encoding='cp1252')
    >>> decode_table("Größe".encode("utf-16"), "x.csv", None).encoding
    'utf-16'
    """
    found = find_encoding(lambda: [data], path, encoding, fallback)
    return Decoded(data.decode(found).removeprefix("\ufeff"), found)


def find_encoding(
    chunks: Callable[[], Iterable[bytes]],
    path: FilePath,
    encoding: str | None,
    fallback: str | None = None,
) -> str:
    """Return the encoding of bytes that come in chunks, all of which are valid in it.

    Parameters
    ----------
    chunks : callable
        Returns the bytes from the start; called again where they are not UTF-8.
    path, encoding, fallback
        As for :func:`decode_table`.
    """
    if encoding is None:
        head = next(iter(chunks()), b"")
        marked = next((name for mark, name in MARKS if head.startswith(mark)), None)
        encoding = marked or _unmarked(head)
    if encoding is not None:
        bad = _first_error(chunks(), encoding)
        if bad is not None:
            raise _not_in(encoding, path, *bad)
        return encoding
    bad = _first_error(chunks(), "utf-8")
    if bad is None:
        return "utf-8"
    chosen = fallback or WESTERN
    worse = _first_error(chunks(), chosen)
    if worse is not None:
        raise _not_in(chosen, path, *worse)
    logger.info(
        "%s: line %d is not UTF-8; read as %s (--encoding changes this)", path, bad[0], chosen
    )
    return chosen


def _unmarked(data: bytes) -> str | None:
    """Return the UTF-16 variant that the zero bytes of Latin letters indicate, or None."""
    head = data[:4096]
    if b"\0" not in head:
        return None
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if odd > 0.4 * len(head) / 2 and even < odd / 10:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 * len(head) / 2 and odd < even / 10 else None


def _first_error(chunks: Iterable[bytes], encoding: str) -> tuple[int, int] | None:
    """Return the line and value of the first byte that is not in `encoding`; None if all are."""
    decoder = codecs.getincrementaldecoder(encoding)("strict")
    line = 1
    try:
        for chunk in chunks:
            decoder.decode(chunk)
            line += chunk.count(b"\n")
        decoder.decode(b"", final=True)
    except UnicodeDecodeError as error:
        bad, start = error.object, error.start
        return line + bad.count(b"\n", 0, start), bad[start] if start < len(bad) else 0
    return None


def _not_in(encoding: str, path: FilePath, line: int, byte: int) -> DataFormatError:
    """Return the error for a byte that is not in `encoding`."""
    expected = f"text in {encoding} (set another with --encoding or encoding=)"
    return DataFormatError(str(path), expected, f"byte 0x{byte:02x}", line)
