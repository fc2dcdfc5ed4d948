"""Read the cells of a table from a file or from standard input."""

import sys
from collections.abc import Sequence
from pathlib import Path

from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal.datasets.files import FilePath, bare_name, open_data
from vicinal.datasets.tables.csv_records import DELIMITERS, csv_records
from vicinal.datasets.tables.encodings import decode_table
from vicinal.datasets.tables.json_records import JSON_ENDINGS, json_records
from vicinal.datasets.tables.options import TableOptions
from vicinal.datasets.tables.parquet_records import parquet_records
from vicinal.datasets.tables.reading import Reading
from vicinal.datasets.tables.records import Records

STANDARD_INPUT = "-"
"""The path that stands for standard input on the command line."""
PARQUET = ".parquet"
TABLE_ENDINGS = (*JSON_ENDINGS, *DELIMITERS, PARQUET)
ARCHIVES = (".zip", ".7z", ".rar", ".tar", ".tgz")
SPREADSHEETS = (".xlsx", ".xls", ".ods", ".xlsm", ".numbers")


def is_table(path: FilePath) -> bool:
    """Tell whether a file is a table, by its extension.

    Examples
    --------
    >>> is_table("songs.jsonl.gz"), is_table("-"), is_table("songs.arff")
    (True, True, False)
    """
    refuse_spreadsheet(path)
    return str(path) == STANDARD_INPUT or bare_name(path).lower().endswith(TABLE_ENDINGS)


def refuse_spreadsheet(path: FilePath) -> None:
    """Raise an error that explains how to convert a spreadsheet, or to unpack an archive."""
    name = bare_name(path).lower()
    if name.endswith(ARCHIVES):
        expected = "a file, packed by gzip, bzip2 or xz or not at all: unpack the archive first"
        raise InvalidArgumentError("path", expected, str(path))
    if name.endswith(SPREADSHEETS):
        raise InvalidArgumentError(
            "path",
            "a table as text or Parquet: in the spreadsheet program, save the sheet as CSV UTF-8 "
            "(pandas: read_excel(…).to_csv(…, index=False))",
            str(path),
        )


def table_ending(path: FilePath, endings: Sequence[str] = TABLE_ENDINGS) -> str:
    """Return the extension of a table, or raise if it is not among `endings`."""
    name = bare_name(path).lower()
    for ending in endings:
        if name.endswith(ending):
            return ending
    wanted = ", ".join(endings)
    raise InvalidArgumentError("path", f"a name that ends in {wanted}", str(path))


def read_records(
    path: FilePath, options: TableOptions, wanted: Sequence[str] = (), known: Reading | None = None
) -> Records:
    """Return the cells of a table.

    Parameters
    ----------
    path : path
        ``-`` for standard input, where JSON and CSV are distinguished by their content.
    options : TableOptions
    wanted : sequence of str
        Columns that the table must have; they help to detect the delimiter.
    known : Reading or None
        How an earlier file of the same kind was read; its encoding and delimiter are tried first.

    Notes
    -----
    Memory: at the same time the file, its decoded text, and every cell as a Python object.
    """
    is_piped = str(path) == STANDARD_INPUT
    refuse_spreadsheet(path)
    ending = None if is_piped else table_ending(path)
    data = (
        _standard_input(options.max_bytes)
        if is_piped
        else open_data(Path(path), max_bytes=options.max_bytes)
    )
    name: FilePath = "standard input" if is_piped else path
    if ending == PARQUET or data.startswith(b"PAR1"):
        return parquet_records(data, name)
    earlier = None if known is None else known.encoding
    fallback = None if earlier is None or earlier.startswith("utf") else earlier
    text, encoding = decode_table(data, name, options.encoding, fallback)
    if not text.strip():
        raise DataFormatError(str(name), "rows of a table", "an empty file")
    if ending in JSON_ENDINGS or (is_piped and text.lstrip()[:1] in ("{", "[")):
        found = json_records(text, name)
    else:
        usual = DELIMITERS[ending or ".csv"]
        if known is not None and known.delimiter is not None:
            usual = known.delimiter
        found = csv_records(text, name, options, usual, wanted)
    found.encoding = encoding
    return found


def _standard_input(max_bytes: int) -> bytes:
    """Return the content of standard input."""
    data = sys.stdin.buffer.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise DataFormatError("standard input", f"at most {max_bytes} bytes", "more")
    return data
