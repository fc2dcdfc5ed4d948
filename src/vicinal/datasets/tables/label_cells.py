"""What one cell says about a row's labels: a list, or names with a separator between them."""

import ast
import json
import re
from typing import Any

_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_ARRAY = re.compile(rf"\[\s*{_QUOTED}(?:\s+{_QUOTED})+\s*\]")
"""What NumPy prints for an array of strings: no commas between them."""
_LITERAL = re.compile(r"(?s)[\[({].*[\])}]|set\(\)")
_MOST_LITERAL = 1_000_000
"""Longest cell that is read as Python's text for a list."""


def listed_labels(cell: str) -> list[Any] | None:
    """Return the list that a cell holds as text, else None.

    JSON lists, what Python writes for a list, a tuple or a set, what NumPy writes for an array, and
    names in square brackets without quotes.

    Examples
    --------
    >>> listed_labels('["a", "b"]'), listed_labels("['a', 'b']"), listed_labels("{'a'}")
    (['a', 'b'], ['a', 'b'], ['a'])
    >>> listed_labels("['a' 'b']"), listed_labels("[a, b c]"), listed_labels("a, b")
    (['a', 'b'], ['a', 'b c'], None)
    """
    cell = cell.strip()
    if len(cell) > _MOST_LITERAL or not _LITERAL.fullmatch(cell):
        return None
    try:
        value = json.loads(cell)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, list):
        return value
    if _ARRAY.fullmatch(cell):
        return [ast.literal_eval(name) for name in re.findall(_QUOTED, cell)]
    try:
        value = ast.literal_eval("()" if cell == "set()" else cell)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = None
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, set):
        return sorted(value, key=str)
    return _unquoted(cell)


def _unquoted(cell: str) -> list[str] | None:
    """Return the names in square brackets, written without quotes."""
    inner = cell[1:-1]
    if not cell.startswith("[") or any(sign in inner for sign in "[]{}'\""):
        return None
    return [name.strip() for name in inner.split(",") if name.strip()]


def split_labels(cell: str, separator: str) -> list[str]:
    """Return the names in a cell, without the blanks around them; ``""`` leaves it whole.

    Examples
    --------
    >>> split_labels("red; ;round ", ";"), split_labels("a b", ""), split_labels("", "")
    (['red', 'round'], ['a b'], [])
    """
    names = cell.split(separator) if separator else [cell]
    return [name.strip() for name in names if name.strip()]
