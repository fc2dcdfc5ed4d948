"""Readable, unique ids for the elements of a page."""

import re


class Ids:
    """Creates ids that are unique within the page.

    Examples
    --------
    >>> ids = Ids()
    >>> ids.take("Hamming loss"), ids.take("hamming-loss"), ids.take("<>")
    ('hamming-loss', 'hamming-loss-2', 'part')
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        """Return an id made from the given words, with a number added if it is already taken."""
        stem = "-".join(re.findall(r"[a-z0-9]+", wanted.lower()))[:60] or "part"
        if not stem[0].isalpha():
            stem = f"at-{stem}"
        found, number = stem, 1
        while found in self._taken:
            number += 1
            found = f"{stem}-{number}"
        self._taken.add(found)
        return found
