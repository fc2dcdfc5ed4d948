"""Guess which columns are texts, features and labels."""

import math
import re
from collections.abc import Sequence
from contextlib import suppress
from datetime import date
from typing import Literal

from vicinal.datasets.tables.label_cells import ONES, ZEROS, find_separator
from vicinal.datasets.tables.reading import (
    MISSING,
    Reading,
    Records,
    TableOptions,
    first_of,
    shown_columns,
)
from vicinal.datasets.vector_files import vector_columns
from vicinal.errors import DataFormatError, logger

Kind = Literal["number", "date", "category", "text"]
MOST_CATEGORIES = 50
"""Maximum number of different cells of a categorical column."""
_CODE = re.compile(r"[A-Za-z_-]+[0-9]+[A-Za-z0-9_-]*|[0-9a-f]{8}-[0-9a-f-]{27}")
"""A code such as T01 or row-7a, or a UUID."""
_DATES = (
    re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:$|[ T]\d)", re.ASCII),
    re.compile(r"(?P<d>\d\d?)\.(?P<m>\d\d?)\.(?P<y>\d{4})(?:$| \d)", re.ASCII),
)
"""Dates as files have them, 2026-11-18, and as people write them, 18.11.2026; a time may follow."""
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+\s*")


def number_of(cell: object, decimal: str = ".") -> float | None:
    """Return the number in a cell, or that of a date; None for others, NaN if it is empty."""
    if cell is None:
        return math.nan
    if isinstance(cell, bool | int | float):
        return float(cell)
    if not isinstance(cell, str):
        return day_of(cell)
    text = cell.strip()
    if not text:
        return math.nan
    if decimal == ",":
        day = day_of(text)  # 18.11.2026 has points as well
        if day is not None:
            return day
        text = text.replace(".", "").replace(",", ".")
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return day_of(text)


def day_of(cell: object) -> float | None:
    """Return the number of the day of a date, such as 2026-11-18 or 18.11.2026; None for others."""
    if isinstance(cell, date):
        return float(cell.toordinal())
    matches = (pattern.match(cell.strip()) for pattern in _DATES if isinstance(cell, str))
    for match in filter(None, matches):
        with suppress(ValueError):
            return float(date(int(match["y"]), int(match["m"]), int(match["d"])).toordinal())
    return None


def decimal_sign(columns: Sequence[Sequence[object]], delimiter: str | None) -> str:
    """Return the decimal sign: a comma if it is not the delimiter and most numbers contain it."""
    if delimiter in (None, ","):
        return "."
    cells = [cell for column in columns for cell in column if isinstance(cell, str)]
    with_comma = sum(_COMMA_NUMBER.fullmatch(cell) is not None for cell in cells)
    with_point = sum(re.fullmatch(r"\s*[+-]?\d+\.\d+\s*", cell) is not None for cell in cells)
    return "," if with_comma > with_point else "."


def kind_of(cells: Sequence[object], decimal: str = ".") -> Kind:
    """Return the kind of a column."""
    numbers = [number_of(cell, decimal) for cell in cells]
    dates = [day_of(cell) for cell in cells if cell not in (None, "")]
    if dates and None not in dates:
        return "date"
    if None not in numbers and not all(math.isnan(each) for each in numbers if each is not None):
        return "number"
    if any(isinstance(cell, list) for cell in cells):
        return "text"
    texts = [str(cell) for cell in cells if cell not in (None, "")]
    distinct = set(texts)
    words = sum(len(text.split()) for text in distinct) / max(len(distinct), 1)
    is_category = len(distinct) <= min(MOST_CATEGORIES, max(len(texts) / 2, 1)) and words <= 4
    return "category" if is_category else "text"


def is_identifier(cells: Sequence[object]) -> bool:
    """Tell whether a column only identifies the rows, by consecutive numbers or unique codes."""
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    if len(texts) < 2 or not (texts[0].isdecimal() or _CODE.fullmatch(texts[0])):
        return False
    return len(set(texts)) == len(texts) and (
        is_counting(cells) or all(_CODE.fullmatch(text) for text in texts)
    )


def is_counting(cells: Sequence[object]) -> bool:
    """Tell whether cells are consecutive numbers."""
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    if not all(text.isdecimal() for text in texts):
        return False
    first = int(texts[0])
    return all(int(text) == number for number, text in enumerate(texts, first))


LABEL_NAMES = (
    "labels", "label", "tags", "tag", "categories", "category", "classes", "topics", "topic",
    "subjects", "keywords", "genres", "genre", "schlagworte", "schlagwörter", "stichworte",
    "stichwörter", "kategorien", "kategorie", "themen", "avainsanat", "asiasanat", "luokat",
    "étiquettes", "mots-clés", "catégories", "etiquetas", "categorías",
)  # fmt: skip
"""Names of label columns; the first that exists is used."""
TEXT_NAMES = (
    "text", "texts", "content", "body", "document", "description", "abstract",
    "beschreibung", "teksti", "kuvaus", "texte", "texto",
)  # fmt: skip
ROW_COLUMNS = ("", "id", "ids", "index", "row", "row_id", "unnamed: 0")
"""Names of columns that number the rows; they are only used as features if the caller says so."""


def find_reading(records: Records, options: TableOptions, *, labelled: bool = True) -> Reading:
    """Return how to read a table; what `options` leaves open is guessed and logged."""
    label_columns = _expand(records, options.label_columns, "--label-columns")
    labels = None
    if labelled and not label_columns:
        labels = _label_column(records, options)
    separator = None if labels is None else find_separator(records, labels, options.separator)
    if options.row_names is not None:
        records.require([options.row_names], "--row-names")
    row_names = options.row_names or records.row_names or _row_names(records, options, labels)
    used = {labels, row_names, *label_columns}
    text, numbers, categories, decimal = _features(records, options, used)
    return Reading(
        text=text,
        numbers=numbers,
        categories=categories,
        labels=labels,
        label_columns=label_columns,
        separator=separator,
        row_names=row_names,
        decimal=decimal,
        encoding=records.encoding,
        delimiter=records.delimiter,
        columns=records.given_names,
        quoting=records.quoting,
    )


def _named(records: Records, names: Sequence[str]) -> str | None:
    """Return the column of the first possible of `names`, ignoring case and a part in brackets."""
    exact = {name.lower(): name for name in reversed(records.names)}
    present = {name.partition("(")[0].strip(): column for name, column in exact.items()} | exact
    return next((present[name] for name in names if name in present), None)


def _label_column(records: Records, options: TableOptions) -> str:
    """Return the column of the labels."""
    if options.labels is not None:
        records.join(options.labels)
        records.require([options.labels], "--labels")
        return options.labels
    taken = {*(options.text or ()), *(options.feature_columns or ()), options.row_names}
    found = _named(records, [name for name in LABEL_NAMES if name not in taken])
    if found is not None and found not in taken:
        return found
    zeros_and_ones = [name for name in records.names if _is_indicator(records.columns[name])]
    hint = f"; columns of 0 and 1: {first_of(zeros_and_ones)}" if zeros_and_ones else ""
    raise DataFormatError(
        records.path,
        "a column 'labels' (name it with --labels, several as a,b; columns of 0 and 1 with "
        "--label-columns)",
        f"{shown_columns(records.names)}{hint}",
        records.header_line,
    )


def _features(
    records: Records, options: TableOptions, used: set[str | None]
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], str]:
    """Return the columns of text, of numbers and of categories, and the decimal sign."""
    if options.text is not None:
        records.require(options.text, "--text")
        return tuple(options.text), (), (), "."
    given = _expand(records, options.feature_columns, "--feature-columns")
    if not given:
        used = used | set(_vectors(records, [name for name in records.names if name not in used]))
        text = _named(records, TEXT_NAMES)
        if text is not None and text not in used:
            _log_text(records, text, used)
            return (text,), (), (), "."
    free = [name for name in records.names if name not in used]
    without = [name for name in free if name in records.repeated or _names_rows(records, name)]
    left_out = [] if given else without
    if len(left_out) == len(free):  # nothing but names of rows is left
        own = options.row_names
        if own is not None and not _names_rows(records, own):
            free = [own]  # a text that also names the rows
        else:
            left_out = []  # row numbers are better than no features at all
    names = given or [name for name in free if name not in left_out]
    if not names:
        got = shown_columns(records.names)
        expected = "columns to learn from (name them with --text or --feature-columns)"
        raise DataFormatError(records.path, expected, got, records.header_line)
    decimal = decimal_sign([records.columns[name] for name in names], records.delimiter)
    kinds: dict[Kind, list[str]] = {"text": [], "number": [], "date": [], "category": []}
    for name in names:
        kinds[kind_of(records.cells(name), decimal)].append(name)
    _log_kinds(kinds, left_out, decimal)
    numbers = (*kinds["number"], *kinds["date"])
    return tuple(kinds["text"]), numbers, tuple(kinds["category"]), decimal


def _vectors(records: Records, free: list[str]) -> list[str]:
    """Return the columns of vectors in a Parquet file that has other columns too, and log them."""
    if not str(records.path).lower().endswith(".parquet"):
        return []
    found = vector_columns({name: records.columns[name] for name in free})
    if not found or all(name in found or _names_rows(records, name) for name in free):
        return []
    logger.info("vectors in %s: train uses them with the blend", first_of(found))
    return found


def _names_rows(records: Records, column: str) -> bool:
    """Tell whether a column names or numbers the rows and is therefore useless as a feature."""
    return column.lower() in ROW_COLUMNS or is_identifier(records.columns[column])


def _row_names(records: Records, options: TableOptions, labels: str | None) -> str | None:
    """Return the first column that names the rows and does more than count them, and log it."""
    taken = {labels, *(options.text or ()), *(options.feature_columns or ())}
    for name in records.names:
        cells = records.columns[name]
        if name in taken or name in records.repeated or not _names_rows(records, name):
            continue
        texts = {str(cell).strip() for cell in cells if cell is not None and cell is not MISSING}
        if len(texts) == len(cells) and "" not in texts and not is_counting(cells):
            logger.info("rows are named by column %r (--row-names changes this)", name)
            return name
    return None


def _log_text(records: Records, text: str, used: set[str | None]) -> None:
    """Log which column the texts come from, and which others might add to them."""
    free = [name for name in records.names if name != text and name not in used]
    others = [name for name in free if not _names_rows(records, name)]
    if text != "text" or others:
        besides = f"; not used: {first_of(others)}" if others else ""
        logger.info("texts from column %r%s (--text changes this)", text, besides)


def _log_kinds(kinds: dict[Kind, list[str]], left_out: list[str], decimal: str) -> None:
    """Log the guessed kind of each column."""
    words = {"text": "text", "number": "numeric", "date": "date", "category": "categorical"}
    said = ", ".join(
        f"{len(names)} {words[kind]} ({first_of(names)})" for kind, names in kinds.items() if names
    )
    if decimal == "," and kinds["number"]:
        said += "; decimal comma"
    if left_out:
        said += f"; not used: {first_of([name or 'unnamed' for name in left_out])}"
    logger.info("features: %s (--feature-columns or --text changes this)", said)


def _expand(records: Records, names: Sequence[str] | None, option: str) -> tuple[str, ...]:
    """Return columns from names and ranges of names (``first:last``)."""
    found: list[str] = []
    for name in names or ():
        first, colon, last = name.partition(":")
        if name in records.columns or not colon:
            records.require([name], option)
            found.append(name)
            continue
        every = records.names
        records.require([each for each in (first, last) if each], option)
        start = every.index(first) if first else 0
        stop = every.index(last) if last else len(every) - 1
        found.extend(every[start : stop + 1])
    return tuple(dict.fromkeys(found))


def _is_indicator(cells: Sequence[object]) -> bool:
    """Tell whether a column contains both 0 and 1 and nothing else."""
    words = {str(cell).strip().lower() for cell in cells if cell is not MISSING}
    return bool(words & ONES and words & ZEROS) and words <= ONES | ZEROS
