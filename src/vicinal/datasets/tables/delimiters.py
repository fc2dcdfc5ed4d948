"""Which character separates the cells of a CSV file."""

import csv
import io
import itertools
from collections.abc import Sequence

from vicinal._base.log import logger
from vicinal.datasets.files import FilePath

CANDIDATES = (",", ";", "\t", "|")
SHOWN = {"\t": "tab", " ": "space", "\n": "newline"}
_SAMPLE = 50
SAMPLED_LINES = 20 * _SAMPLE
"""Lines from which the delimiter is told."""


def shown(separator: str) -> str:
    r"""Return a separator as it is shown in messages.

    Examples
    --------
    >>> shown(";"), shown("\t")
    ("';'", 'tab')
    """
    return SHOWN.get(separator, repr(separator))


def detect_delimiter(
    content: str, usual: str, wanted: Sequence[str], *, quoting: bool, path: FilePath
) -> str:
    r"""Return the delimiter that fits the first rows of a table.

    The usual delimiter is kept if it gives at least two columns in all rows, and no other delimiter
    finds more of the wanted columns; otherwise the delimiter of the widest table is chosen.

    Parameters
    ----------
    content : str
    usual : str
        The delimiter of the file's extension, or of an earlier file of the same kind.
    wanted : sequence of str
        Columns that the caller has named.
    quoting : bool
    path : path

    Examples
    --------
    >>> text = "text;tags\nred, round;a,b\nblue, square;c\n"
    >>> detect_delimiter(text, ",", [], quoting=True, path="x.csv")
    ';'
    """
    ranked = [usual, *(each for each in CANDIDATES if each != usual)]
    fits = {each: _fit(content, each, wanted, quoting) for each in ranked}
    best = max(ranked, key=lambda each: fits[each])
    is_usual = fits[usual][1] >= 2 and fits[usual][0] == fits[best][0]
    found = best if fits[best][1] >= 2 and not is_usual else usual
    if found != usual:
        logger.info("%s: cells separated by %s (--delimiter changes this)", path, shown(found))
    return found


def _fit(content: str, delimiter: str, wanted: Sequence[str], quoting: bool) -> tuple[int, int]:
    """Return the number of wanted columns, and the width of the rows (0 if they differ in it)."""
    lines = itertools.islice(io.StringIO(content, newline=""), SAMPLED_LINES)
    reader = csv.reader(
        lines,
        delimiter=delimiter,
        quoting=csv.QUOTE_MINIMAL if quoting else csv.QUOTE_NONE,
        strict=True,
    )
    try:
        rows = list(itertools.islice((cells for cells in reader if cells), _SAMPLE))
    except csv.Error:
        return 0, 0
    if not rows:
        return 0, 0
    header = rows[0]
    is_even = all(len(cells) == len(header) for cells in rows)
    return sum(name in header for name in wanted), len(header) if is_even else 0
