"""The labels of a table: from a column of names, or from columns of 0 and 1."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain
from typing import Any

from vicinal._base.log import logger
from vicinal.datasets.files import FilePath
from vicinal.datasets.tables.delimiters import shown
from vicinal.datasets.tables.label_cells import cell_labels
from vicinal.datasets.tables.reading import Reading
from vicinal.datasets.tables.records import Records
from vicinal.datasets.tables.separators import detect_separator

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


def read_labels(records: Records, reading: Reading) -> list[list[str]]:
    """Return the labels of each row, each once; warn if the separator looks wrong.

    Parameters
    ----------
    records : Records
    reading : Reading
        States which columns contain the labels.
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
    sets = []
    for at, cell in enumerate(records.cells_or_lists(column)):
        labels = _row_labels(records, column, cell, separator)
        if labels is None:
            raise records.error(at, f"labels in {column!r}", repr(cell))
        sets.append(labels)
    return sets


def _row_labels(records: Records, column: str, cell: Any, separator: str) -> list[str] | None:
    """Return the labels in a cell, or in the cells of all columns of its name."""
    if column not in records.repeated:
        return cell_labels(cell, separator)
    found = [cell_labels(each, separator) for each in cell]
    labels = [names for names in found if names is not None]
    return list(dict.fromkeys(chain.from_iterable(labels))) if len(labels) == len(found) else None


def find_separator(records: Records, column: str, given: str | None) -> str:
    """Return the separator given by the caller, or detect it in the cells and log it."""
    if given is not None:
        return given
    if column in records.repeated:
        _log_repeated(records, column)
        return ""
    cells = records.cells(column)
    found = detect_separator(cells)
    if any(isinstance(cell, list) and isinstance(cell[0], dict) for cell in cells if cell):
        logger.info(
            "labels from column %r, the name of each object (--labels changes this)", column
        )
    texts = {cell for cell in cells if isinstance(cell, str)}
    if texts:
        others = (cell for cell in cells if not isinstance(cell, str))
        names = {name for cell in chain(texts, others) for name in cell_labels(cell, found) or ()}
        how = f"split at {shown(found)}" if found else "one label or a list per cell"
        logger.info(
            "labels from column %r, %s: %d labels (--labels and --separator change this)",
            column,
            how,
            len(names),
        )
    return found


def _log_repeated(records: Records, column: str) -> None:
    """Log that columns of one name contain the labels, as issue trackers export them."""
    sets = (_row_labels(records, column, cell, "") for cell in records.cells_or_lists(column))
    logger.info(
        "labels from %d columns %r, one label per cell: %d labels "
        "(--labels and --separator change this)",
        records.repeated[column],
        column,
        len({label for labels in sets for label in labels or ()}),
    )


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
                raise records.error(at, expected, repr(cell))
    return sets


def warn_if_rare(counts: Counter[str], path: FilePath, column: str) -> None:
    """Warn if most labels occur only once, which suggests that sets of labels were not split."""
    once = sum(count == 1 for count in counts.values())
    if len(counts) >= FEWEST_SUSPICIOUS and 2 * once > len(counts):
        example = next(label for label, count in counts.items() if count == 1)
        logger.warning(
            "%s: %d of %d labels in column %r occur only once, such as %r; if that is a set of "
            "labels, state their separator with --separator",
            path,
            once,
            len(counts),
            column,
            example,
        )
