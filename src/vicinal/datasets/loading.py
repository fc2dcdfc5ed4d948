"""Data sets by name or by file: the door that users come through."""

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
    """Return a data set of the catalogue, or the one in a file.

    A name is looked for in the folders of ``$VICINAL_DATA`` (each holds one folder per data set),
    then in the cache of this user (``$VICINAL_CACHE``), then downloaded into it. A name of the
    catalogue wins over a file called the same; write ``./name`` for the file.

    Parameters
    ----------
    name_or_path : str or path
        A name of :func:`available`, capitals ignored, or a file.
    verify : bool
        Compare the files with their known checksums first. Downloads are always compared.
    **options
        For a file, those of :func:`~vicinal.datasets.read_file` and of its reader. For a data set
        ``max_bytes``, the most that a file may unpack to; for one of text also ``weighting``
        (``"binary"``, ``"counts"``, ``"tfidf"``) and ``min_rows``, the rows a word must stand in.

    Returns
    -------
    Dataset
        All rows; where a split is published, ``train`` and ``test`` hold its row ids.

    Raises
    ------
    DataNotFoundError
        The files are not on this machine and cannot be had; says what was looked for where.

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
    """List the catalogue by name, with what is on this machine.

    Examples
    --------
    >>> [listing.at_hand for listing in available() if listing.entry.name == "debtags"]
    [True]
    """
    return [Listing(ENTRIES[name], at_hand(ENTRIES[name])) for name in sorted(ENTRIES)]


def describe(name: str) -> dict[str, Any]:
    """Return what the catalogue knows of a data set, as plain values.

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
