"""The labels in one cell of a table: a list, or names joined by a separator."""

import ast
import json
import re
from typing import Any

_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_ARRAY = re.compile(rf"\[\s*{_QUOTED}(?:\s+{_QUOTED})+\s*\]")
"""An array of strings as NumPy prints it, without commas."""
_LITERAL = re.compile(r"(?s)[\[({].*[\])}]|set\(\)")
_ENDS = ("]", ")", "}")
_MOST_LITERAL = 1_000_000
"""Maximum length of a cell that is parsed as a Python list."""


def cell_labels(value: Any, separator: str) -> list[str] | None:
    """Return the labels in a cell, each once; None if it contains anything else.

    Of objects, as issue trackers export them, the label is their ``name``.

    Examples
    --------
    >>> cell_labels("red;round;red", ";"), cell_labels('["red"]', ";"), cell_labels(3, ";")
    (['red', 'round'], ['red'], ['3'])
    >>> cell_labels([{"name": "bug", "color": "d73a4a"}], ";")
    ['bug']
    >>> cell_labels([0.5], ";") is None
    True
    """
    if isinstance(value, str):
        found = listed_labels(value)
        if found is None:
            return list(dict.fromkeys(split_labels(value, separator)))
        value = found
    elif isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, list):
        return None
    value = [label.get("name") if isinstance(label, dict) else label for label in value]
    if any(isinstance(label, bool) or not isinstance(label, str | int) for label in value):
        return None
    return list(dict.fromkeys(map(str, value)))


def listed_labels(cell: str) -> list[Any] | None:
    """Return the list that a cell contains as text, or None if it is not a list.

    Accepts JSON lists, Python's notation for lists, tuples and sets, NumPy's for arrays, and names
    in square brackets without quotes.

    Examples
    --------
    >>> listed_labels('["a", "b"]'), listed_labels("['a', 'b']"), listed_labels("{'a'}")
    (['a', 'b'], ['a', 'b'], ['a'])
    >>> listed_labels("['a' 'b']"), listed_labels("[a, b c]"), listed_labels("a, b")
    (['a', 'b'], ['a', 'b c'], None)
    """
    cell = cell.strip()
    if not cell.endswith(_ENDS) or len(cell) > _MOST_LITERAL or not _LITERAL.fullmatch(cell):
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
    """Return the names in a cell without surrounding blanks; ``""`` does not split it.

    Examples
    --------
    >>> split_labels("red; ;round ", ";"), split_labels("a b", ""), split_labels("", "")
    (['red', 'round'], ['a b'], [])
    """
    names = cell.split(separator) if separator else [cell]
    return [name.strip() for name in names if name.strip()]
