"""Detect the separator of the labels in the cells of a column."""

from collections import Counter
from collections.abc import Iterable, Sequence

from vicinal.datasets.tables.label_cells import listed_labels, split_labels

STRONG = (";", "|", "\t", "\n")
"""Separators that are rarely part of a name."""


def detect_separator(cells: Sequence[object]) -> str:
    """Return the separator of the labels in these cells; ``""`` if there is none.

    Cells that contain a list are ignored. A strong separator is chosen if at least half as many
    cells contain it as contain a comma; otherwise the comma if any cell contains one. Blanks are
    chosen only if splitting at them gives fewer names than there are different cells: splitting
    names of several words would give more.

    Examples
    --------
    >>> detect_separator(["red;round", "red"]), detect_separator(["Roe, A; Doe, B", "Roe, A"])
    (';', ';')
    >>> detect_separator(["a b", "a c", "b c", "a"]), detect_separator(["deep learning", "music"])
    (' ', '')
    """
    every = Counter(cell for cell in cells if isinstance(cell, str))  # cells often recur
    texts = {cell: count for cell, count in every.items() if listed_labels(cell) is None}
    counts = {
        sign: sum(count for cell, count in texts.items() if sign in cell.strip())
        for sign in (*STRONG, ",")
    }
    strong = max(STRONG, key=counts.__getitem__)
    if counts[strong] and 2 * counts[strong] >= counts[","]:
        return strong
    if counts[","]:
        return ","
    return " " if _blanks_separate(texts) else ""


def _blanks_separate(texts: Iterable[str]) -> bool:
    """Tell whether the cells have fewer different words than there are different cells."""
    whole = {" ".join(text.split()) for text in texts if text.strip()}
    words = {word for text in whole for word in split_labels(text, " ")}
    return any(" " in text for text in whole) and len(words) < len(whole)
