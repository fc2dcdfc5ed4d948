"""The data sets of the papers, by the names their tables use."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np

from vicinal.datasets import Dataset, available, load
from vicinal.datasets.generated import generated_dataset
from vicinal.errors import DataNotFoundError

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
"""Names in the catalogue, if they differ from the paper's."""

UNAVAILABLE = ("bookmarks", "mediamill", "wiki-lshtc", "wiki10")
"""Data sets that are unavailable; their experiments run once the files are provided."""

IMDB_TRAIN_ROWS = 72_551
"""The paper's number of training rows; the file has no split, and MEKA uses the first rows."""


GENERATED: dict[str, dict[str, Any]] = {
    "wiki10, generated": {
        "n_train": 14_147,
        "n_test": 6_617,
        "n_features": 101_890,
        "n_labels": 30_940,
        "features_per_row": 674.4,
        "labels_per_row": 18.64,
    },
    "wiki-lshtc, generated": {
        "n_train": 1_778_352,
        "n_test": 587_085,
        "n_features": 1_617_899,
        "n_labels": 325_060,
        "features_per_row": 42.2,
        "labels_per_row": 3.19,
    },
}
"""Synthetic data with the shape of unavailable data sets, for timings only."""


def catalogue_name(name: str) -> str:
    """Return the catalogue's name of a data set.

    Examples
    --------
    >>> catalogue_name("arts"), catalogue_name("yeast")
    ('yahoo-arts', 'yeast')
    """
    return CATALOGUE_NAMES.get(name, name)


def is_available(name: str) -> bool:
    """Tell whether a data set is available locally or generated."""
    if name in GENERATED:
        return True
    wanted = catalogue_name(name)
    return any(listing.entry.name == wanted and listing.at_hand for listing in available())


@lru_cache(maxsize=2)
def read(name: str) -> Dataset:
    """Return a data set as the paper used it.

    Raises
    ------
    DataNotFoundError
        The files are not on this machine; a reproduction never downloads data.
    """
    if name in GENERATED:
        return generated_dataset(**GENERATED[name])
    if not is_available(name):
        raise DataNotFoundError(
            f"{name}: the files of {catalogue_name(name)} are not available locally"
        )
    data = load(catalogue_name(name))
    if name == "image-filtered":
        return data.subset(np.flatnonzero(np.diff(data.Y.indptr) > 1))
    if name == "imdb-f":
        rows = np.arange(data.n_rows)
        return replace(data, train=rows[:IMDB_TRAIN_ROWS], test=rows[IMDB_TRAIN_ROWS:])
    return data
