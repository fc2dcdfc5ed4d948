"""Rows of CSV and TSV files."""

import codecs
import csv
import io
import itertools
import re
import threading
import unicodedata
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from vicinal.datasets.data_files import FilePath
from vicinal.datasets.tables.reading import (
    MOST_CHARACTERS,
    Reading,
    Records,
    TableOptions,
    by_column,
)
from vicinal.errors import DataFormatError, logger

CANDIDATES = (",", ";", "\t", "|")
SHOWN = {"\t": "tab", " ": "space", "\n": "newline"}
_SAMPLE = 50
SAMPLED_LINES = 20 * _SAMPLE
"""Lines from which the delimiter is told."""


def shown(separator: str) -> str:
    r"""Return a separator as it is shown in messages."""
    return SHOWN.get(separator, repr(separator))


def detect_delimiter(
    content: str, usual: str, wanted: Sequence[str], *, quoting: bool, path: FilePath
) -> str:
    """Return the delimiter that fits the first rows of a table.

    The usual one is kept if it gives at least two columns in all rows and no other finds more of
    the wanted columns; otherwise that of the widest table is chosen.
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
    reader = _reader(lines, delimiter, quoting)
    try:
        with long_cells():
            header, *rows = itertools.islice(filter(None, reader), _SAMPLE)
    except (csv.Error, ValueError):  # damaged, or no row at all
        return 0, 0
    is_even = all(len(cells) == len(header) for cells in rows)
    return sum(name in header for name in wanted), len(header) if is_even else 0


def _reader(lines: Iterable[str], delimiter: str, quoting: bool) -> Any:
    """Return a reader that refuses damaged quotes."""
    quotes: Any = csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE
    return csv.reader(lines, delimiter=delimiter, quoting=quotes, strict=True)


DELIMITERS = {".csv": ",", ".tsv": "\t"}
_EXCEL_HINT = re.compile(r"\A\s*\"?sep=(.)\"?\r?\n")
_URI = r"(?:<[^<>\s]+:[^<>\s]+>|[A-Za-z][A-Za-z0-9+.-]*://[^\s<>]+)"
URIS = re.compile(rf"\s*{_URI}(?:\s+{_URI})*\s*")
"""One or more URIs, in angle brackets or not."""

# The csv module keeps its limit on the length of a cell for the whole process.
_cell_limit = threading.Lock()


@contextmanager
def long_cells() -> Iterator[None]:
    """Let the csv module read cells of up to :data:`MOST_CHARACTERS` within."""
    with _cell_limit:
        before = csv.field_size_limit(MOST_CHARACTERS)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def csv_blocks(
    lines: Iterable[str],
    path: FilePath,
    options: TableOptions,
    wanted: Sequence[str],
    known: Reading | None,
    usual: str,
    block_rows: int,
) -> Iterator[Records]:
    """Yield the rows of a CSV file, some at a time, by column."""
    remaining = iter(lines)
    head = "".join(itertools.islice(remaining, SAMPLED_LINES))
    hint = _EXCEL_HINT.match(head)  # Excel's own way of telling the delimiter
    head = head if hint is None else head[hint.end() :]
    delimiter = options.delimiter or (hint.group(1) if hint else None)
    layout = _layout(head, path, options, known, delimiter or usual)
    if delimiter is None and not layout.names:
        delimiter = detect_delimiter(head, usual, wanted, quoting=layout.quoting, path=path)
    delimiter = delimiter or layout.delimiter
    every = itertools.chain(io.StringIO(head, newline=""), remaining)
    rows = _CsvRows(_reader(every, delimiter, layout.quoting), path, 0 if hint is None else 1)
    header, header_line = list(layout.names), None
    if not header:
        first, at = rows.read(1)
        if not first:
            raise DataFormatError(path, "rows of a table", "an empty file")
        header, header_line = [cell.strip() for cell in first[0]], at[0]
    is_empty = True
    while (block := rows.read(block_rows, len(header)))[0]:
        is_empty = False
        columns, repeated = by_column(header, zip(*block[0], strict=True))
        yield Records(
            path,
            columns,
            block[1],
            header_line=header_line,
            delimiter=delimiter,
            repeated=repeated,
            given_names=layout.names,
            quoting=layout.quoting,
        )
    if is_empty:
        remedy = "the first line names the columns; --columns names them if there is no such line"
        raise DataFormatError(path, "rows of a table", "a header only", hint=remedy)


def written_lines(rows: Iterable[Sequence[object]], delimiter: str) -> Iterator[str]:
    """Yield the lines of a CSV file."""
    line = io.StringIO(newline="")
    writer = csv.writer(line, delimiter=delimiter)
    for row in rows:
        writer.writerow(row)
        yield line.getvalue()
        line.seek(0)
        line.truncate()


class _Layout(NamedTuple):
    """Whether quotes enclose cells, and the names of the columns if the file has no header."""

    quoting: bool
    names: tuple[str, ...] = ()
    delimiter: str = ","


def _layout(
    head: str, path: FilePath, options: TableOptions, known: Reading | None, delimiter: str
) -> _Layout:
    """Return the layout of a file: as the caller says, as in an earlier file, or as it looks."""
    if options.columns is not None:
        quoting = options.quoting is not False
        # Names without a header do not fix the delimiter: it is detected as usual.
        if options.delimiter is None:
            delimiter = detect_delimiter(head, delimiter, [], quoting=quoting, path=path)
        return _Layout(quoting, tuple(options.columns), options.delimiter or delimiter)
    if known is not None and known.columns:
        names = _known_names(head, known, delimiter)
        if names is not None:
            return _Layout(known.quoting if options.quoting is None else options.quoting, *names)
    found = _texts_and_uris(head, "\t" if options.delimiter is None else options.delimiter)
    if found is None:
        earlier = True if known is None else known.quoting
        return _Layout(earlier if options.quoting is None else options.quoting)
    quotes = "" if options.quoting else "; quotes are ordinary characters"
    said = "%s: no header, columns %s%s (--columns and --quotes change this)"
    logger.info(said, path, ", ".join(found[0]), quotes)
    return _Layout(options.quoting is True, *found)


def _known_names(head: str, known: Reading, delimiter: str) -> tuple[tuple[str, ...], str] | None:
    """Return the names of the columns of a file like an earlier one without a header."""
    sign = known.delimiter or delimiter
    cells = _first_cells(head, sign)
    if tuple(cell.strip() for cell in cells) == known.columns:
        return None
    if len(cells) == len(known.features) < len(known.columns):
        return known.features, sign
    return known.columns, sign


def _texts_and_uris(head: str, delimiter: str) -> tuple[tuple[str, ...], str] | None:
    """Return the columns of a table whose first row has URIs, so that it is no header."""
    cells = _first_cells(head, delimiter)
    uris = [at for at, cell in enumerate(cells) if URIS.fullmatch(cell)]
    if len(cells) < 2 or len(uris) != 1:
        return None
    texts = [at for at in range(len(cells)) if at not in uris]
    names = {uris[0]: "labels", texts[0]: "text"}
    return tuple(names.get(at, f"column{at + 1}") for at in range(len(cells))), delimiter


def _first_cells(head: str, delimiter: str) -> list[str]:
    """Return the cells of the first line that is not blank, with their quotes."""
    line = next((line for line in head.splitlines() if line.strip()), "")
    return line.split(delimiter)


_BREAKS = re.compile(r"\r\n?|\n")
IN_QUOTES = (
    "cells of a table, in quotes as a whole or not at all (quoting=False, --no-quotes: quotes are "
    "characters like others)"
)


class _CsvRows:
    """Reads the rows of a CSV file; `before` lines of it are no part of the table."""

    def __init__(self, reader: Any, path: FilePath, before: int) -> None:
        self._reader, self._path, self._before = reader, path, before

    def read(self, most_rows: int, width: int | None = None) -> tuple[list[Any], "array[int]"]:
        """Return the next rows that are not blank, of so many cells each, and their last lines."""
        reader, is_done = self._reader, False
        while not is_done:
            rows: list[list[str]] = []
            start, error = reader.line_num + self._before, None
            try:
                with long_cells():
                    rows.extend(itertools.islice(reader, most_rows))
            except csv.Error as damage:
                error = DataFormatError(
                    self._path, IN_QUOTES, str(damage), reader.line_num + self._before
                )
            lines = _last_lines(rows, start, reader.line_num + self._before)
            is_done = error is not None or not rows
            if [] in rows:
                lines = array("q", [line for row, line in zip(rows, lines, strict=True) if row])
                rows = list(filter(None, rows))
            self._check(rows, lines, width)
            if error is not None:
                raise error
            is_done = is_done or bool(rows)
        return rows, lines

    def _check(self, rows: list[Any], lines: "array[int]", width: int | None) -> None:
        """Raise for the first row that has not one cell per column."""
        if width is None or set(map(len, rows)) <= {width}:
            return
        at = next(at for at, cells in enumerate(rows) if len(cells) != width)
        expected = f"{width} cells, one per column"
        hint = "cells that contain the separator need quotes; --delimiter names another separator"
        raise DataFormatError(self._path, expected, str(len(rows[at])), lines[at], hint)


def _last_lines(rows: Sequence[Sequence[str]], start: int, end: int) -> "array[int]":
    """Return the line on which each row ends, of those that follow on line `start`."""
    if end - start == len(rows):
        return array("q", range(start + 1, end + 1))
    heights = (1 + sum(len(_BREAKS.findall(cell)) for cell in row) for row in rows)
    return array("q", itertools.islice(itertools.accumulate(heights, initial=start), 1, None))


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
LATIN = (WESTERN, "cp1250", "cp1254", "cp1257")
OTHER_SCRIPTS = (
    "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp874", "cp932", "euc_jp", "gb18030", "big5",
    "cp949",
)  # fmt: skip
"""Encodings that are told apart by ``charset-normalizer``."""
_SAMPLED_BYTES = 2**15
_FEWEST_BYTES = 8
"""Bytes outside ASCII from which an encoding is told."""
_NARROW = re.compile("[\uff61-\uff9f]")


def decode_table(
    data: bytes, path: FilePath, encoding: str | None, fallback: str | None = None
) -> str:
    """Return bytes as text."""
    found = find_encoding(lambda: [data], path, encoding, fallback)
    return data.decode(found).removeprefix("\ufeff")


def find_encoding(
    chunks: Callable[[], Iterable[bytes]],
    path: FilePath,
    encoding: str | None,
    fallback: str | None = None,
) -> str:
    """Return the encoding of bytes that come in chunks, all of which are valid in it."""
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
    chosen = fallback or _likely_encoding(chunks())
    worse = _first_error(chunks(), chosen)
    if worse is not None:
        raise _not_in(chosen, path, *worse)
    said = "%s: line %d is not UTF-8; read as %s (--encoding changes this)"
    logger.info(said, path, bad[0], chosen)
    return chosen


def _likely_encoding(chunks: Iterable[bytes]) -> str:
    """Return the encoding of bytes that are not UTF-8; Latin letters are cp1252 if they can be."""
    from charset_normalizer import from_bytes

    lines = itertools.chain.from_iterable(chunk.split(b"\n") for chunk in chunks)
    sample, size = [], 0
    for line in lines:
        if not line.isascii():
            sample.append(line)
            size += len(line)
        if size > _SAMPLED_BYTES:
            break
    if sum(byte > 127 for line in sample for byte in line) < _FEWEST_BYTES:
        return WESTERN
    found = from_bytes(b"\n".join(sample), cp_isolation=[*LATIN, *OTHER_SCRIPTS])
    # No one writes in half-width katakana, which cp932 makes of many other bytes.
    matches = [match for match in found if 4 * len(_NARROW.findall(str(match))) < len(str(match))]
    if not matches:
        return WESTERN
    letters = [sign for sign in str(matches[0]) if sign.isalpha() and not sign.isascii()]
    if 2 * sum("LATIN" in unicodedata.name(sign, "") for sign in letters) < len(letters):
        return matches[0].encoding
    possible = {name for match in matches for name in match.could_be_from_charset}
    return next((name for name in LATIN if name in possible), WESTERN)


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
    return DataFormatError(path, expected, f"byte 0x{byte:02x}", line)
