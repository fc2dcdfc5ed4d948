"""Locate the files of a data set: in given folders, the cache, then on the network."""

from functools import partial
from pathlib import Path

from vicinal._base.errors import DataNotFoundError
from vicinal.datasets.catalogue.checksums import verify
from vicinal.datasets.catalogue.download import download
from vicinal.datasets.catalogue.entry import Entry, Finder
from vicinal.datasets.catalogue.folders import cache_folder, data_folders
from vicinal.datasets.files import PACKED, bare_name


def finder(entry: Entry, check: bool = False) -> Finder:
    """Return the function that finds the files of `entry` for its recipe."""
    return partial(_locate, entry, check)


def at_hand(entry: Entry) -> bool:
    """Tell whether every file of `entry` is on this machine."""
    return all(_on_disk(entry, file) is not None for file in entry.recipe.files)


def _locate(entry: Entry, check: bool, file: str) -> Path:
    """Find a file, downloading it if it is not on this machine."""
    path = _on_disk(entry, file)
    if path is None:
        path = _fetch(entry, file)
    elif check:
        verify(path, entry.folder)
    return path


def _on_disk(entry: Entry, file: str) -> Path | None:
    """Return the first file of that name, whether or not it is compressed."""
    names = [file, *(bare_name(file) + ending for ending in ("", *PACKED))]
    paths = (folder / entry.folder / name for folder in data_folders() for name in names)
    return next((path for path in paths if path.is_file()), None)


def _fetch(entry: Entry, file: str) -> Path:
    """Download a file, or raise an error that states what was looked for, where, and what to do."""
    try:
        return download(entry, file, cache_folder())
    except DataNotFoundError as error:
        folders = ", ".join(str(folder / entry.folder) for folder in data_folders())
        raise DataNotFoundError(
            f"{entry.name}: {file} is not in {folders}, and could not be downloaded ({error}). "
            f"Put the files of the data set ({', '.join(entry.recipe.files)}) into a folder "
            f"{entry.folder} and set VICINAL_DATA to the folder that holds it, or VICINAL_DATA_URL "
            f"to the address of a mirror." + (f" Note: {entry.hint}." if entry.hint else "")
        ) from error
