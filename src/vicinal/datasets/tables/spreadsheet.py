"""Spreadsheets: ``.xlsx``, ``.xlsm``, ``.xlsb``, ``.xls`` and ``.ods``, read by python-calamine."""

import io
import zipfile
from array import array
from collections.abc import Sequence
from typing import Any

from vicinal.datasets.data_files import FilePath
from vicinal.datasets.tables.reading import Records, TableOptions, by_column
from vicinal.errors import DataFormatError, InvalidArgumentError, logger, optional_module

SPREADSHEETS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")


def spreadsheet_records(data: bytes, path: FilePath, options: TableOptions) -> Records:
    """Return the rows of a sheet; cells become text, as in a CSV file."""
    calamine = optional_module("python_calamine", "frames", "python-calamine")
    _check_size(data, path, options.max_bytes)
    try:
        book = calamine.CalamineWorkbook.from_filelike(io.BytesIO(data))
        name, rows = _chosen_sheet(book, path, options.sheet)
    except (calamine.CalamineError, OSError) as error:
        hint = "save it again, or as CSV"
        raise DataFormatError(path, "a spreadsheet", str(error)[:80], hint=hint) from None
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # raised by Rust for some damaged files
            raise
        hint = "save it again, or as CSV"
        raise DataFormatError(path, "a spreadsheet", "a damaged file", hint=hint) from None
    return _records(rows, path, name)


def _check_size(data: bytes, path: FilePath, max_bytes: int) -> None:
    """Raise if the parts of a spreadsheet, which is an archive, are too long when unpacked."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            size = sum(part.file_size for part in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError):
        return  # .xls is no archive; a damaged one is recognised later
    if size > max_bytes:
        raise DataFormatError(path, f"at most {max_bytes} bytes when unpacked", str(size))


def _chosen_sheet(book: Any, path: FilePath, wanted: str | None) -> tuple[str, list[list[Any]]]:
    """Return the name and the rows of a sheet."""
    names = list(book.sheet_names)
    if wanted is not None and wanted not in names:
        raise InvalidArgumentError("sheet", f"one of {', '.join(names)}", repr(wanted))
    for name in names if wanted is None else [wanted]:
        rows = book.get_sheet_by_name(name).to_python(skip_empty_area=False)
        if any(any(cell != "" for cell in row) for row in rows):
            if wanted is None and len(names) > 1:
                logger.info("%s: sheet %r of %d (--sheet changes this)", path, name, len(names))
            return name, rows
    raise DataFormatError(path, "rows of a table", "an empty sheet")


def _records(rows: Sequence[Sequence[Any]], path: FilePath, sheet: str) -> Records:
    """Return rows below the first one that is not empty, which has the names of the columns."""
    filled = [(at, row) for at, row in enumerate(rows, start=1) if any(c != "" for c in row)]
    (header_line, first), *rest = filled
    width = max(at for at, cell in enumerate(first, start=1) if cell != "")
    header = [_text(cell).strip() for cell in first[:width]]
    if not rest:
        raise DataFormatError(path, "rows of a table", f"a header only in sheet {sheet!r}")
    cells = ([_text(row[at]) for _, row in rest] for at in range(width))
    columns, repeated = by_column(header, cells)
    lines = array("q", [line for line, _ in rest])
    return Records(path, columns, lines, header_line=header_line, repeated=repeated)


def _text(cell: Any) -> str:
    """Return a cell as a CSV file would have it; dates in ISO format, whole numbers without .0."""
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return cell.isoformat() if hasattr(cell, "isoformat") else str(cell)
