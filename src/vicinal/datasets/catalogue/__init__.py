"""The catalogue of known data sets: where their files are and how to read them.

Input: a name. Output: an :class:`Entry` (facts, and a recipe that reads the files), the files on
this machine, or an error that states what was looked for and where.
"""

from difflib import get_close_matches

from vicinal.datasets.catalogue.entries import BOOMER, MEKA, MLDR, MULAN, PAPERS, TEXT, YAHOO
from vicinal.datasets.catalogue.entry import Entry
from vicinal.errors import InvalidArgumentError

ENTRIES: dict[str, Entry] = {
    entry.name: entry for entry in (*MULAN, *BOOMER, *MEKA, *MLDR, *YAHOO, *TEXT, *PAPERS)
}
_ALIASES = {alias: entry for entry in ENTRIES.values() for alias in entry.aliases}


def known(name: str) -> bool:
    """Tell whether the catalogue contains `name`, ignoring case."""
    return name.lower() in ENTRIES or name.lower() in _ALIASES


def entry(name: str) -> Entry:
    """Return the entry of a name, or raise an error that suggests similar names."""
    if known(name):
        return ENTRIES.get(name.lower()) or _ALIASES[name.lower()]
    close = get_close_matches(name.lower(), [*ENTRIES, *_ALIASES], n=3)
    listed = "see `vicinal data list` or vicinal.datasets.available()"
    offer = f"did you mean {' or '.join(close)}?" if close else listed
    raise InvalidArgumentError("name", f"the name of a data set or a file ({offer})", repr(name))
