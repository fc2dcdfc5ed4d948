"""The readers and writers of all file formats, chosen by a file's extension."""

from collections.abc import Callable, Mapping
from typing import Any

from vicinal._base.errors import InvalidArgumentError
from vicinal._base.validation import check_option
from vicinal.datasets.dataset import Dataset
from vicinal.datasets.files import FilePath, bare_name
from vicinal.datasets.mat import read_mat
from vicinal.datasets.meka import read_meka, write_meka
from vicinal.datasets.mulan import find_labels_xml, read_mulan, write_mulan
from vicinal.datasets.npz import read_npz, write_npz
from vicinal.datasets.table import read_table, write_table
from vicinal.datasets.tables.read import refuse_spreadsheet
from vicinal.datasets.xc import read_xc, write_xc

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
    ".jsonl": "table",
    ".ndjson": "table",
    ".json": "table",
    ".parquet": "table",
    ".csv": "table",
    ".tsv": "table",
    ".npz": "npz",
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
        classification), ``.mat``, ``.jsonl``, ``.json``, ``.csv``, ``.tsv``, ``.parquet`` and
        ``.npz``. It may be followed by ``.gz``, ``.bz2`` or ``.xz``.
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
    """Return the format to read a file in: the one given, that of its ending, or MEKA's.

    An ARFF file is Mulan's where an XML file of its labels is given or stands beside it.
    """
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
    """Return the format of a file by its extension.

    Examples
    --------
    >>> format_of("scene-train.arff.gz"), format_of("rcv1sub1.xc.txt.xz")
    ('mulan', 'xc')
    """
    refuse_spreadsheet(path)
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
