"""Classify the columns of a table: numbers, categories or texts."""

import math
import re
from collections.abc import Sequence
from typing import Literal

Kind = Literal["number", "category", "text"]
MOST_CATEGORIES = 50
"""Maximum number of different cells of a categorical column."""
_CODE = re.compile(r"[A-Za-z_-]+[0-9]+[A-Za-z0-9_-]*|[0-9a-f]{8}-[0-9a-f-]{27}")
"""A code such as T01 or row-7a, or a UUID."""
_COMMA_NUMBER = re.compile(r"\s*[+-]?\d+,\d+\s*")


def number_of(cell: object, decimal: str = ".") -> float | None:
    """Return the number in a cell; None if it is not a number, NaN if the cell is empty.

    Examples
    --------
    >>> number_of("3,5", ","), number_of("3.5"), number_of("red"), number_of(True)
    (3.5, 3.5, None, 1.0)
    """
    if cell is None:
        return math.nan
    if isinstance(cell, bool | int | float):
        return float(cell)
    if not isinstance(cell, str):
        return None
    text = cell.strip()
    if not text:
        return math.nan
    if decimal == ",":
        text = text.replace(".", "").replace(",", ".")
    if "_" in text:
        return None
    try:
        return float(text)
    except ValueError:
        return None


def decimal_sign(columns: Sequence[Sequence[object]], delimiter: str | None) -> str:
    """Return the decimal sign: a comma if it is not the delimiter and most numbers contain it.

    Examples
    --------
    >>> decimal_sign([["3,5", "4"], ["red"]], ";"), decimal_sign([["3.5"]], ";")
    (',', '.')
    """
    if delimiter in (None, ","):
        return "."
    cells = [cell for column in columns for cell in column if isinstance(cell, str)]
    with_comma = sum(_COMMA_NUMBER.fullmatch(cell) is not None for cell in cells)
    with_point = sum(re.fullmatch(r"\s*[+-]?\d+\.\d+\s*", cell) is not None for cell in cells)
    return "," if with_comma > with_point else "."


def kind_of(cells: Sequence[object], decimal: str = ".") -> Kind:
    """Return the kind of a column.

    Examples
    --------
    >>> kind_of(["1", "2.5", ""]), kind_of(["red", "blue"] * 5), kind_of(["A red house", "The sea"])
    ('number', 'category', 'text')
    """
    numbers = [number_of(cell, decimal) for cell in cells]
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
    """Tell whether a column only identifies the rows, by consecutive numbers or unique codes.

    Examples
    --------
    >>> is_identifier(["1", "2", "3"]), is_identifier(["T01", "T02"]), is_identifier(["red", "x1"])
    (True, True, False)
    >>> is_identifier([0.5, 2.0, 3.5])
    False
    """
    texts = ["" if cell is None else str(cell).strip() for cell in cells]
    if len(texts) < 2 or len(set(texts)) < len(texts):
        return False
    if all(text.isdigit() for text in texts):
        numbers = [int(text) for text in texts]
        return numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    return all(_CODE.fullmatch(text) for text in texts)
