"""The labels of a table: from a column of names, or from columns of 0 and 1."""

import ast
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from vicinal.datasets.data_files import FilePath
from vicinal.datasets.tables.csv import URIS, shown
from vicinal.datasets.tables.reading import Reading, Records, described
from vicinal.errors import logger

_QUOTED = r"""(?:'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
_ARRAY = re.compile(rf"\[\s*{_QUOTED}(?:\s+{_QUOTED})+\s*\]")
"""An array of strings as NumPy prints it, without commas."""
_LITERAL = re.compile(r"(?s)[\[({].*[\])}]|set\(\)")
_ENDS = ("]", ")", "}")
_MOST_LITERAL = 1_000_000
"""Maximum length of a cell that is parsed as a Python list."""


def cell_labels(
    value: Any, separator: str, strip: Callable[[str], str] = str.strip
) -> list[str] | None:
    """Return the labels in a cell, each once; None if it contains anything else."""
    if isinstance(value, str):
        found = None if value[-1:].isalnum() else listed_labels(value)
        if found is None:
            return split_labels(value, separator, strip)
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
    """Return the list that a cell holds in the notation of JSON, Python or NumPy; None if none."""
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
    inner = cell[1:-1]  # names without quotes?
    if not cell.startswith("[") or any(sign in inner for sign in "[]{}'\""):
        return None
    return [part.strip() for part in inner.split(",") if part.strip()]


def split_labels(cell: str, separator: str, strip: Callable[[str], str] = str.strip) -> list[str]:
    """Return the names in a cell, each once and without blanks; ``""`` does not split it."""
    found = filter(None, map(strip, cell.split(separator) if separator else (cell,)))
    return list(dict.fromkeys(map(_bare, found) if "<" in cell else found))


def _bare(name: str) -> str:
    """Return a URI without angle brackets; other names are returned unchanged."""
    return name[1:-1] if name[0] + name[-1] == "<>" and URIS.fullmatch(name) else name


STRONG = (";", "|", "\t", "\n")
"""Separators that are rarely part of a name."""


def detect_separator(cells: Sequence[object]) -> str:
    """Return the separator of the labels in these cells; ``""`` if there is none.

    A strong separator is chosen if at least half as many cells contain it as contain a comma, and
    blanks only if splitting at them gives fewer names than there are different cells: splitting
    names of several words would give more.
    """
    texts = Counter(map(str.strip, [cell for cell in cells if isinstance(cell, str)]))
    for cell in [cell for cell in texts if not cell[-1:].isalnum()]:
        if listed_labels(cell) is not None:
            del texts[cell]
    if any(texts) and all(URIS.fullmatch(cell) for cell in texts if cell):
        return " "
    together, counts = "\0".join(texts), dict.fromkeys((*STRONG, ","), 0)
    for sign in filter(together.__contains__, counts):
        counts[sign] = sum(n for cell, n in texts.items() if sign in cell)
    strong = max(STRONG, key=counts.__getitem__)
    if counts[strong] and 2 * counts[strong] >= counts[","]:
        return strong
    if counts[","]:
        return ","
    whole = {" ".join(text.split()) for text in texts if text.strip()}
    words = {word for text in whole for word in split_labels(text, " ")}
    return " " if any(" " in text for text in whole) and len(words) < len(whole) else ""


ONES = frozenset({
    "1", "1.0", "true", "yes", "x", "y",
    "wahr", "ja", "tosi", "kyllä", "vrai", "oui", "verdadero", "sí", "si", "vero",
})  # fmt: skip
ZEROS = frozenset({
    "0", "0.0", "false", "no", "n", "", "-",
    "falsch", "nein", "epätosi", "ei", "faux", "non", "falso",
})  # fmt: skip
"""What spreadsheets write into columns of 0 and 1, in several languages."""
FEWEST_SUSPICIOUS = 10
"""Number of labels from which on there is a warning if most of them occur only once."""


def read_labels(records: Records, reading: Reading) -> tuple[list[list[str]], tuple[str, ...]]:
    """Return the labels of each row and those that occur; warn if the separator looks wrong."""
    sets = label_sets(records, reading)
    counts = Counter(chain.from_iterable(sets))
    if not reading.label_columns and reading.labels is not None:
        warn_if_rare(counts, records.path, reading)
    return sets, tuple(sorted(counts))


def label_sets(records: Records, reading: Reading) -> list[list[str]]:
    """Return the labels of each row, each once."""
    if reading.label_columns:
        return _marked(records, reading.label_columns)
    column = reading.labels
    if column is None:
        raise records.error(0, "a column of labels", "none")
    records.join(column)
    separator = reading.separator or ""
    parsed = records.parsed.get((column, separator), {})
    cells = records.cells_or_lists(column)
    known = [parsed.get(cell) if isinstance(cell, str) else None for cell in cells]
    return [
        _row_labels(records, column, at, separator) if labels is None else labels
        for at, labels in enumerate(known)
    ]


def _row_labels(records: Records, column: str, at: int, separator: str) -> list[str]:
    """Return the labels in the cell of a row, or in those of all columns of the name."""
    cell = records.columns[column][at]
    cells = cell if column in records.repeated else [cell]
    found = [cell_labels(each, separator) for each in cells]
    labels = [names for names in found if names is not None]
    if len(labels) < len(found):
        remedy = " ([] for a row without labels)" if cell is None else ""
        raise records.error(at, f"labels in {column!r}{remedy}", described(cell))
    return list(dict.fromkeys(chain.from_iterable(labels)))


class _Stripped(dict[str, str]):
    """Parts of cells without blanks, so that cells share their labels and strip each part once."""

    def __missing__(self, part: str) -> str:
        """Keep a new part."""
        name = part.strip()
        self[part] = name = self.setdefault(name, name)
        return name


LABELS_FROM = "labels from %s %r, %s: %d labels (--labels and --separator change this)"


def find_separator(records: Records, column: str, given: str | None) -> str | None:
    """Return the separator given, or detect and log it; None if every cell is a list."""
    if given is not None:
        return given
    if column in records.repeated:
        return _repeated_separator(records, column)
    cells = records.cells(column)
    found, strip = detect_separator(cells), _Stripped().__getitem__
    lists = [cell for cell in cells if isinstance(cell, list)]
    if any(cell and isinstance(cell[0], dict) for cell in lists):
        logger.info(
            "labels from column %r, the name of each object (--labels changes this)", column
        )
    texts = {cell for cell in cells if isinstance(cell, str)}
    if texts:
        parsed = {cell: cell_labels(cell, found, strip) or [] for cell in texts}
        records.parsed[column, found] = parsed
        others = (cell_labels(cell, found) or () for cell in cells if not isinstance(cell, str))
        labels = set(chain(chain.from_iterable(parsed.values()), chain.from_iterable(others)))
        how = f"split at {shown(found)}" if found else "one label or a list per cell"
        logger.info(LABELS_FROM, "column", column, how, len(labels))
    elif lists:
        logger.info("labels from column %r, a list per cell (--labels changes this)", column)
    return found if texts else None


def _repeated_separator(records: Records, column: str) -> str:
    """Return what separates the labels of several columns, and log that they are used.

    Columns of one name have one label per cell. Those that the caller names may be split.
    """
    cells = records.cells_or_lists(column)
    found = detect_separator(list(chain.from_iterable(cells))) if "," in column else ""
    found = found if found in STRONG else ""
    sets = (_row_labels(records, column, at, found) for at in range(records.n_rows))
    how = f"split at {shown(found)}" if found else "one label per cell"
    n_labels = len(set(chain.from_iterable(sets)))
    logger.info(LABELS_FROM, f"{records.repeated[column]} columns", column, how, n_labels)
    return found


def _marked(records: Records, columns: Sequence[str]) -> list[list[str]]:
    """Return the labels whose columns contain 1."""
    sets: list[list[str]] = [[] for _ in range(records.n_rows)]
    for column in columns:
        for at, cell in enumerate(records.cells(column)):
            word = str(cell).strip().lower()
            if cell is not None and word in ONES:
                sets[at].append(column)
            elif cell is None or word not in ZEROS:
                expected = f"0 or 1 in the label column {column!r} (or true and false, yes and no)"
                raise records.error(at, expected, described(cell))
    return sets


def warn_if_rare(counts: Counter[str], path: FilePath, reading: Reading) -> None:
    """Warn if most labels occur only once and could be split: perhaps they are sets of labels.

    Blanks separate words of a name if something else separates the labels, or if they are in lists.
    """
    split = re.compile(r"[\s,;|/+&]" if reading.separator == "" else r"[,;|/+&]").search
    once = (label for label, count in counts.items() if count == 1)
    rare = [label for label in once if "://" not in label and split(label)]
    if len(counts) >= FEWEST_SUSPICIOUS and 2 * len(rare) > len(counts):
        logger.warning(
            "%s: %d of %d labels in column %r occur only once, such as %r; if that is a set of "
            "labels, state their separator with --separator",
            *(path, len(rare), len(counts), reading.labels, rare[0]),
        )
