"""The labels of a table: from a column of names, or from columns of 0 and 1."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from vicinal._base.log import logger
from vicinal.datasets.files import FilePath
from vicinal.datasets.tables.delimiters import shown
from vicinal.datasets.tables.label_cells import listed_labels, split_labels
from vicinal.datasets.tables.reading import Reading
from vicinal.datasets.tables.records import Records
from vicinal.datasets.tables.separators import detect_separator

ONES = frozenset({"1", "1.0", "true", "yes", "x", "y"})
ZEROS = frozenset({"0", "0.0", "false", "no", "n", ""})
FEWEST_SUSPICIOUS = 10
"""Labels below which nobody wonders that most occur once."""


def read_labels(records: Records, reading: Reading) -> list[list[str]]:
    """Return the labels of each row, each once, and say what looks wrong.

    Parameters
    ----------
    records : Records
    reading : Reading
        Says where the labels are; its separator is one, or ``""``.
    """
    sets = label_sets(records, reading)
    if not reading.label_columns and reading.labels is not None:
        counts = Counter(label for row in sets for label in row)
        warn_if_rare(counts, records.path, reading.labels)
    return sets


def label_sets(records: Records, reading: Reading) -> list[list[str]]:
    """Return the labels of each row, each once."""
    if reading.label_columns:
        return _marked(records, reading.label_columns)
    column = reading.labels
    if column is None:
        raise records.error(0, "a column of labels", "none")
    separator = reading.separator or ""
    return [
        _cell_labels(records, at, column, cell, separator)
        for at, cell in enumerate(records.cells(column))
    ]


def find_separator(records: Records, column: str, given: str | None) -> str:
    """Return the separator that the caller gave, or the one that the cells show, and say which."""
    if given is not None:
        return given
    cells = records.cells(column)
    found = detect_separator(cells)
    if any(isinstance(cell, str) for cell in cells):
        names = {
            name
            for cell in cells
            if isinstance(cell, str)
            for name in map(str, listed_labels(cell) or split_labels(cell, found))
        }
        how = f"split at {shown(found)}" if found else "one label or a list per cell"
        logger.info(
            "labels from column %r, %s: %d labels (--labels and --separator change this)",
            column,
            how,
            len(names),
        )
    return found


def _cell_labels(records: Records, at: int, column: str, value: Any, separator: str) -> list[str]:
    """Return the labels in a cell."""
    if isinstance(value, str):
        found = listed_labels(value)
        value = split_labels(value, separator) if found is None else found
    elif isinstance(value, int) and not isinstance(value, bool):
        value = [value]
    if not isinstance(value, list):
        raise records.error(at, f"labels in {column!r}", repr(value))
    for label in value:
        if isinstance(label, bool) or not isinstance(label, str | int):
            raise records.error(at, "a label's name", repr(label))
    return list(dict.fromkeys(map(str, value)))


def _marked(records: Records, columns: Sequence[str]) -> list[list[str]]:
    """Return the labels whose columns say 1."""
    sets: list[list[str]] = [[] for _ in range(records.n_rows)]
    for column in columns:
        for at, cell in enumerate(records.cells(column)):
            word = str(cell).strip().lower()
            if cell is not None and word in ONES:
                sets[at].append(column)
            elif cell is None or word not in ZEROS:
                raise records.error(at, f"0 or 1 in the label column {column!r}", repr(cell))
    return sets


def warn_if_rare(counts: Counter[str], path: FilePath, column: str) -> None:
    """Warn where most labels occur once, as they do if a set of labels is read as one."""
    once = sum(count == 1 for count in counts.values())
    if len(counts) >= FEWEST_SUSPICIOUS and 2 * once > len(counts):
        example = next(label for label, count in counts.items() if count == 1)
        logger.warning(
            "%s: %d of %d labels in column %r occur once, such as %r; if that is a set of labels, "
            "say what separates them (--separator)",
            path,
            once,
            len(counts),
            column,
            example,
        )
