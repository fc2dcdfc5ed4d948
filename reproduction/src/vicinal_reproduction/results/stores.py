"""A folder of results, one file per paper."""

import os
from importlib.resources import files
from pathlib import Path

from vicinal.results import ResultStore


class Stores:
    """The results of the papers in a folder.

    Parameters
    ----------
    folder : str or path
        The folder need not exist yet.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def of(self, paper: str) -> ResultStore:
        """Return the results of a paper."""
        return ResultStore(self.folder / f"{paper}.jsonl")


def stored() -> Stores:
    """Return the results that are part of this distribution."""
    return Stores(str(files("vicinal_reproduction.results")))
