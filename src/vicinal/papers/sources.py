"""The data sets of the papers, by the names their tables use."""

from dataclasses import replace
from functools import lru_cache

import numpy as np

from vicinal._base.errors import DataNotFoundError
from vicinal.datasets import Dataset, available, load

YAHOO = (
    "arts",
    "business",
    "computers",
    "education",
    "entertainment",
    "health",
    "recreation",
    "reference",
    "science",
    "social",
    "society",
)

CATALOGUE_NAMES = {
    **{name: f"yahoo-{name}" for name in YAHOO},
    "imdb-f": "imdb",
    "image-filtered": "image",
    "rcv1": "rcv1sub1",
    "wiki10": "wiki10-31k",
    "wiki-lshtc": "wiki-lshtc-325k",
}
"""Where the catalogue has another name than the paper."""

NOT_TO_BE_HAD = ("bookmarks", "mediamill", "wiki-lshtc", "wiki10")
"""Of these no copy was found; their specifications run when the files appear."""

IMDB_TRAIN_ROWS = 72_551
"""The paper's number of training rows; the file has no split, and MEKA takes the first rows."""


def catalogue_name(name: str) -> str:
    """Return the catalogue's name of a data set.

    Examples
    --------
    >>> catalogue_name("arts"), catalogue_name("yeast")
    ('yahoo-arts', 'yeast')
    """
    return CATALOGUE_NAMES.get(name, name)


def is_at_hand(name: str) -> bool:
    """Tell whether the files of a data set are on this machine."""
    wanted = catalogue_name(name)
    return any(listing.entry.name == wanted and listing.at_hand for listing in available())


@lru_cache(maxsize=2)
def read(name: str) -> Dataset:
    """Return a data set as the paper used it.

    Raises
    ------
    DataNotFoundError
        Its files are not on this machine: nothing is downloaded for a reproduction.
    """
    if not is_at_hand(name):
        raise DataNotFoundError(f"{name}: the files of {catalogue_name(name)} are not at hand")
    data = load(catalogue_name(name))
    if name == "image-filtered":
        return data.subset(np.flatnonzero(np.diff(data.Y.indptr) > 1))
    if name == "imdb-f":
        rows = np.arange(data.n_rows)
        return replace(data, train=rows[:IMDB_TRAIN_ROWS], test=rows[IMDB_TRAIN_ROWS:])
    return data
