"""Which character separates the labels in the cells of a column."""

from collections.abc import Sequence

from vicinal.datasets.tables.label_cells import listed_labels, split_labels

STRONG = (";", "|", "\t", "\n")
"""Separators that are rarely part of a name."""


def detect_separator(cells: Sequence[object]) -> str:
    """Return what separates the labels in these cells; ``""`` if nothing does.

    Cells that hold a list have no say. A strong separator wins where it is in at least half as many
    cells as commas are; else commas, where any cell has one. Blanks separate labels only where that
    leaves fewer names than there are different cells: names of several words would give more.

    Examples
    --------
    >>> detect_separator(["red;round", "red"]), detect_separator(["Roe, A; Doe, B", "Roe, A"])
    (';', ';')
    >>> detect_separator(["a b", "a c", "b c", "a"]), detect_separator(["deep learning", "music"])
    (' ', '')
    """
    texts = [cell for cell in cells if isinstance(cell, str) and listed_labels(cell) is None]
    counts = {sign: sum(sign in cell.strip() for cell in texts) for sign in (*STRONG, ",")}
    strong = max(STRONG, key=counts.__getitem__)
    if counts[strong] and 2 * counts[strong] >= counts[","]:
        return strong
    if counts[","]:
        return ","
    return " " if _blanks_separate(texts) else ""


def _blanks_separate(texts: Sequence[str]) -> bool:
    """Tell whether the words of the cells are fewer than the cells, as those of tags are."""
    whole = {" ".join(text.split()) for text in texts if text.strip()}
    words = {word for text in whole for word in split_labels(text, " ")}
    return any(" " in text for text in whole) and len(words) < len(whole)
