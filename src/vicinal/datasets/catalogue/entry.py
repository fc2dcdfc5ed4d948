"""A catalogue entry: the facts about one data set."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from vicinal.datasets.dataset import Dataset

Finder = Callable[[str], Path]
"""Maps the name of a data set's file to its path."""


class Recipe(Protocol):
    """How the files of a data set become one :class:`Dataset`."""

    @property
    def files(self) -> tuple[str, ...]:
        """Names of the files that are read."""

    @property
    def format(self) -> str:
        """The format, in words."""

    @property
    def options(self) -> tuple[str, ...]:
        """Names of the keyword arguments that ``read`` takes."""

    def read(self, find: Finder, **options: Any) -> Dataset:
        """Read the files."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One data set: its facts as returned by :func:`vicinal.datasets.load`, and its recipe.

    Parameters
    ----------
    name, folder : str
        Its name for loading, and the folder that contains its files.
    n_rows, n_features, n_labels : int
        Shape; for text data sets, the number of features with default options.
    cardinality : float
        Mean number of labels per row, to three decimals.
    split : (int, int) or None
        Numbers of training and test rows; None if no split is published.
    recipe : Recipe
    source, licence : str
    aliases : tuple of str
        Other names, such as those of the papers.
    notes : tuple of str
        Peculiarities, and how they are handled.
    home : str or None
        Address of the folder from which the files are downloaded, under their own names without the
        compression extension.
    archive : str or None
        Address of a zip archive that holds the files.
    hint : str
        How to get the files if neither address is known.
    """

    name: str
    folder: str
    n_rows: int
    n_features: int
    n_labels: int
    cardinality: float
    split: tuple[int, int] | None = None
    recipe: Recipe
    source: str
    licence: str = "none stated"
    aliases: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    home: str | None = None
    archive: str | None = None
    hint: str = ""
