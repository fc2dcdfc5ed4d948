"""Load data sets by name or from a file."""

from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from vicinal._base.errors import DataNotFoundError, InvalidArgumentError
from vicinal.datasets.catalogue.entry import Entry
from vicinal.datasets.catalogue.locate import at_hand, finder
from vicinal.datasets.catalogue.registry import ENTRIES, entry, known
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.formats import read_file


class Listing(NamedTuple):
    """A data set of the catalogue, and whether all its files are on this machine."""

    entry: Entry
    at_hand: bool


def load(name_or_path: str | PathLike[str], *, verify: bool = False, **options: Any) -> Dataset:
    """Return a data set of the catalogue, or read one from a file.

    The files of a catalogue name are searched in the folders of ``$VICINAL_DATA`` (each contains
    one folder per data set) and in the user's cache (``$VICINAL_CACHE``), and otherwise downloaded
    into the cache. A catalogue name takes precedence over a file of the same name; write ``./name``
    for the file.

    Parameters
    ----------
    name_or_path : str or path
        A name from :func:`available`, in upper or lower case, or a file.
    verify : bool
        Whether to compare the files with their known checksums. Downloads are always compared.
    **options
        For a file, those of :func:`~vicinal.datasets.read_file` and of its reader. For a catalogue
        name ``max_bytes``, the maximum size of an unpacked file; for text also ``weighting``
        (``"binary"``, ``"counts"``, ``"tfidf"``) and ``min_rows``, the minimum number of rows in
        which a word must occur.

    Returns
    -------
    Dataset
        All rows; if a split is published, ``train`` and ``test`` contain its row ids.

    Raises
    ------
    DataNotFoundError
        The files are neither on this machine nor downloadable; the message lists the folders and
        addresses that were tried.

    Examples
    --------
    >>> debtags = load("debtags")
    >>> debtags.X.shape, debtags.Y.shape
    ((30300, 27005), (30300, 527))
    """
    name = fspath(name_or_path)
    if isinstance(name_or_path, str) and known(name):
        return _load_entry(entry(name), verify, options)
    if Path(name).is_file():
        return read_file(name, **options)
    if isinstance(name_or_path, str) and Path(name).name == name and not Path(name).suffix:
        entry(name)
    raise DataNotFoundError(f"{name}: no such file, and no data set of that name")


def available() -> list[Listing]:
    """List the catalogue by name, and which data sets are on this machine.

    Examples
    --------
    >>> [listing.at_hand for listing in available() if listing.entry.name == "debtags"]
    [True]
    """
    return [Listing(ENTRIES[name], at_hand(ENTRIES[name])) for name in sorted(ENTRIES)]


def describe(name: str) -> dict[str, Any]:
    """Return the catalogue's facts about a data set as plain values.

    Examples
    --------
    >>> facts = describe("emotions")
    >>> facts["rows"], facts["features"], facts["labels"], facts["train"], facts["test"]
    (593, 72, 6, 391, 202)
    """
    one = entry(name)
    train, test = one.split or (None, None)
    return {
        "name": one.name,
        "aliases": list(one.aliases),
        "rows": one.n_rows,
        "features": one.n_features,
        "labels": one.n_labels,
        "cardinality": one.cardinality,
        "density": one.cardinality / one.n_labels,
        "train": train,
        "test": test,
        "format": one.recipe.format,
        "folder": one.folder,
        "files": list(one.recipe.files),
        "options": list(one.recipe.options),
        "source": one.source,
        "licence": one.licence,
        "address": one.home or one.archive,
        "notes": list(one.notes),
        "at_hand": at_hand(one),
    }


def _load_entry(one: Entry, verify: bool, options: dict[str, Any]) -> Dataset:
    """Read a data set of the catalogue."""
    for option in options:
        if option not in one.recipe.options:
            takes = ", ".join(one.recipe.options) or "none"
            raise InvalidArgumentError(option, f"an option of {one.name} ({takes})", option)
    return replace(one.recipe.read(finder(one, verify), **options), source=one.name)
