"""The readers and writers of all file formats, chosen by a file's extension."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any, NamedTuple

from vicinal._core.checks import check_option
from vicinal.datasets.arff import read_meka, write_meka
from vicinal.datasets.catalogue import ENTRIES, entry, known
from vicinal.datasets.catalogue.download import at_hand, finder
from vicinal.datasets.catalogue.entry import Entry
from vicinal.datasets.data_files import FilePath, bare_name
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.mat import read_mat
from vicinal.datasets.mulan import find_labels_xml, read_mulan, write_mulan
from vicinal.datasets.npz import read_npz, write_npz
from vicinal.datasets.tables.folder import is_folder
from vicinal.datasets.tables.table_file import read_table, write_table
from vicinal.datasets.tables.table_rows import TABLE_ENDINGS, refuse_archive
from vicinal.datasets.xc import read_xc, write_xc
from vicinal.errors import DataNotFoundError, InvalidArgumentError, similar_file

READERS: dict[str, Callable[..., Dataset]] = {
    "mulan": read_mulan,
    "meka": read_meka,
    "xc": read_xc,
    "mat": read_mat,
    "table": read_table,
    "npz": read_npz,
}
WRITERS: dict[str, Callable[..., None]] = {
    "mulan": write_mulan,
    "meka": write_meka,
    "xc": write_xc,
    "table": write_table,
    "npz": write_npz,
}
ARFF = ("mulan", "meka")
ENDINGS = {
    ".meka.arff": "meka",
    ".arff": "mulan",
    ".xc": "xc",
    ".txt": "xc",
    ".mat": "mat",
    ".npz": "npz",
    **dict.fromkeys(TABLE_ENDINGS, "table"),
}
"""Formats by the extension of a file, before ``.gz``, ``.bz2`` or ``.xz``."""


def read_file(
    path: FilePath, *, file_format: str | None = None, unlabelled: bool = False, **options: Any
) -> Dataset:
    r"""Read a file in any of the known formats.

    Parameters
    ----------
    path : path
        The extension determines the format: ``.arff`` (Mulan's format if its XML file of labels is
        in the same folder or given as ``xml``, otherwise MEKA's), ``.xc``, ``.txt`` (extreme
        classification), ``.mat``, ``.jsonl``, ``.json``, ``.csv``, ``.tsv``, ``.parquet``,
        ``.xlsx``, ``.ods`` and ``.npz``. It may be followed by ``.gz``, ``.bz2`` or ``.xz``. A
        folder has one text per file, ``NAME.txt``, and its labels in ``NAME.tsv`` or ``NAME.key``.
    file_format : {"mulan", "meka", "xc", "mat", "table", "npz"} or None
        Overrides the extension.
    unlabelled : bool
        Whether to accept ``.arff`` and ``.npz`` files without labels, for prediction.
    **options
        Options of the format's reader; see ``read_mulan``, ``read_table`` and so on.

    Examples
    --------
    Two rows, three features, two labels; the first row has both labels and the second feature.

    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiny.xc"
    ...     _ = path.write_text("2 3 2\n0,1 1:0.5\n1 0:1 2:2\n")
    ...     found = read_file(path)
    >>> found.X, found.Y.toarray()
    (array([[0. , 0.5, 0. ],
            [1. , 0. , 2. ]]),
     array([[1, 1],
            [0, 1]], dtype=int32))
    """
    if file_format is None:
        file_format = file_format_of(path, options)
    if unlabelled and file_format in ("meka", "npz"):
        options["unlabelled"] = True
    return READERS[check_option("file_format", file_format, READERS)](path, **options)


def file_format_of(path: FilePath, options: Mapping[str, Any]) -> str:
    """Return the format to read a file in: the one given, that of its ending, or MEKA's."""
    given = options.get("file_format")
    if given is not None:
        return check_option("file_format", given, READERS)
    found = format_of(path)
    if found == "mulan" and "xml" not in options and find_labels_xml(path) is None:
        return "meka"
    return found


def write_file(
    dataset: Dataset, path: FilePath, *, file_format: str | None = None, **options: Any
) -> None:
    """Write a file in the format of its extension.

    Parameters
    ----------
    dataset : Dataset
        The data set to write.
    path : path
        As for :func:`read_file`; ``.arff`` is Mulan's format, ``.meka.arff`` MEKA's. ``.mat`` files
        cannot be written.
    file_format : {"mulan", "meka", "xc", "table", "npz"} or None
        Overrides the extension.
    **options
        Options of the format's writer; see ``write_mulan``, ``write_table`` and so on.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> data = Dataset([[0.5], [0.0]], [[1], [0]], feature_names=("f",), label_names=("l",))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "tiny.xc"
    ...     write_file(data, path)
    ...     path.read_text().splitlines()
    ['2 1 1', '0 0:0.5', ' ']
    """
    chosen = format_of(path) if file_format is None else file_format
    WRITERS[check_option("file_format", chosen, WRITERS)](dataset, path, **options)


def format_of(path: FilePath) -> str:
    """Return the format of a file by its extension."""
    refuse_archive(path)
    if is_folder(path):
        return "table"
    name = bare_name(path).lower()
    for ending, name_of_format in ENDINGS.items():
        if name.endswith(ending):
            return name_of_format
    known = ", ".join(ENDINGS)
    raise InvalidArgumentError(
        "path",
        f"a name that ends in one of {known} (in Python, file_format= overrides the name)",
        str(path),
    )


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
        found = entry(name)
        for option in options:
            if option not in found.recipe.options:
                takes = ", ".join(found.recipe.options) or "none"
                raise InvalidArgumentError(option, f"an option of {found.name} ({takes})", option)
        return replace(found.recipe.read(finder(found, verify), **options), source=found.name)
    if Path(name).is_file() or Path(name).is_dir():
        return read_file(name, **options)
    if isinstance(name_or_path, str) and Path(name).name == name and not Path(name).suffix:
        entry(name)
    raise DataNotFoundError(
        f"{name}: no such file, and no data set of that name{similar_file(name)}"
    )


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
    one, size = entry(name), entry(name).size
    train, test = size.split or (None, None)
    return {
        "name": one.name,
        "aliases": list(one.aliases),
        "rows": size.rows,
        "features": size.features,
        "labels": size.labels,
        "cardinality": size.cardinality,
        "density": size.cardinality / size.labels,
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
