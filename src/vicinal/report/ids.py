"""Ids of a page: readable, and each once."""

import re


class Ids:
    """Hands out ids that no other part of the page has.

    Examples
    --------
    >>> ids = Ids()
    >>> ids.take("Hamming loss"), ids.take("hamming-loss"), ids.take("<>")
    ('hamming-loss', 'hamming-loss-2', 'part')
    """

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        """Return an id made of the words wanted, numbered where another part has it."""
        stem = "-".join(re.findall(r"[a-z0-9]+", wanted.lower()))[:60] or "part"
        if not stem[0].isalpha():
            stem = f"at-{stem}"
        found, number = stem, 1
        while found in self._taken:
            number += 1
            found = f"{stem}-{number}"
        self._taken.add(found)
        return found
