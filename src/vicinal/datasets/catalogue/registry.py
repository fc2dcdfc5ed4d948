"""Every entry by its name and its aliases."""

from difflib import get_close_matches

from vicinal._base.errors import InvalidArgumentError
from vicinal.datasets.catalogue.entries.boomer import BOOMER
from vicinal.datasets.catalogue.entries.meka import MEKA
from vicinal.datasets.catalogue.entries.mldr import MLDR
from vicinal.datasets.catalogue.entries.mulan import MULAN
from vicinal.datasets.catalogue.entries.papers import PAPERS
from vicinal.datasets.catalogue.entries.text import TEXT
from vicinal.datasets.catalogue.entries.yahoo import YAHOO
from vicinal.datasets.catalogue.entry import Entry

ENTRIES: dict[str, Entry] = {
    entry.name: entry for entry in (*MULAN, *BOOMER, *MEKA, *MLDR, *YAHOO, *TEXT, *PAPERS)
}
_ALIASES = {alias: entry for entry in ENTRIES.values() for alias in entry.aliases}


def known(name: str) -> bool:
    """Tell whether the catalogue contains `name`, ignoring case."""
    return name.lower() in ENTRIES or name.lower() in _ALIASES


def entry(name: str) -> Entry:
    """Return the entry of a name, or raise an error that suggests similar names.

    Examples
    --------
    >>> entry("imdb-f").name, entry("Arts").name
    ('imdb', 'yahoo-arts')
    >>> try:
    ...     entry("corel5")
    ... except ValueError as error:
    ...     print(error)
    name: expected the name of a data set or a file (did you mean corel5k?), got 'corel5'
    """
    if known(name):
        return ENTRIES.get(name.lower()) or _ALIASES[name.lower()]
    close = get_close_matches(name.lower(), [*ENTRIES, *_ALIASES], n=3)
    listed = "see `vicinal data list` or vicinal.datasets.available()"
    offer = f"did you mean {' or '.join(close)}?" if close else listed
    raise InvalidArgumentError("name", f"the name of a data set or a file ({offer})", repr(name))
