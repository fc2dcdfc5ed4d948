"""Folders of documents: one text per file, with its labels in a file beside it.

``NAME.txt`` is a text. ``NAME.tsv`` lists the URIs of its labels, one per line, each followed by a
tab and a name; ``NAME.key`` lists the names of its labels. Annif reads the same folders.
"""

from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vicinal.datasets.data_files import FilePath, bare_name, open_data
from vicinal.datasets.tables.csv import find_encoding
from vicinal.datasets.tables.reading import Records, TableOptions
from vicinal.errors import DataFormatError, logger

LABEL_ENDINGS = (".tsv", ".key")
"""Extensions of files of labels, in the order of preference."""


def is_folder(path: FilePath) -> bool:
    """Tell whether a path is a folder."""
    return str(path) != "-" and Path(path).is_dir()


def folder_records(path: FilePath, options: TableOptions, *, labelled: bool) -> Records:
    r"""Return the documents of a folder as a table, in the order of their names."""
    documents = {_stem(each): each for each in _files(path, ".txt")}
    if not documents:
        expected = "documents NAME.txt, with labels in NAME.tsv or NAME.key"
        raise DataFormatError(path, expected, "a folder without .txt files")
    found = {}
    for ending in LABEL_ENDINGS:
        files = {_stem(each): each for each in _files(path, ending)}
        found[ending] = {name: file for name, file in files.items() if name in documents}
    ending = max(LABEL_ENDINGS, key=lambda each: len(found[each]))  # what more documents have
    keys = found[ending]
    names = [name for name in documents if name in keys or not labelled]
    if labelled:
        _check_labels(path, documents, keys, ending)
    decoder = _Decoder(options)
    texts = [decoder.text(documents[name]) for name in names]
    labels = [_labels(decoder, keys[name], ending) if name in keys else [] for name in names]
    columns: dict[str, list[Any]] = {"document": names, "text": texts, "labels": labels}
    lines = array("q", range(1, len(names) + 1))
    return Records(path, columns, lines, encoding=decoder.encoding, row_names="document")


def _files(path: FilePath, ending: str) -> Iterator[Path]:
    """Yield the files of a folder with an extension, sorted by name, compressed or not."""
    for each in sorted(Path(path).iterdir()):
        if each.is_file() and bare_name(each).lower().endswith(ending):
            yield each


def _stem(file: Path) -> str:
    return Path(bare_name(file)).stem


def _check_labels(
    path: FilePath, documents: dict[str, Path], keys: dict[str, Path], ending: str
) -> None:
    """Log which files the labels come from; raise if there are none."""
    if not keys:
        got = f"{len(documents)} documents without labels"
        raise DataFormatError(path, "labels in NAME.tsv or NAME.key", got)
    missing = len(documents) - len(keys)
    without = f"; {missing} documents without such a file are left out" if missing else ""
    logger.info("%s: %d documents, labels from NAME%s%s", path, len(keys), ending, without)


def _labels(decoder: "_Decoder", file: Path, ending: str) -> list[str]:
    """Return the labels of a document, each once."""
    lines = [line.strip() for line in decoder.text(file).splitlines()]
    if ending == ".tsv":
        lines = [line.split("\t")[0].strip().removeprefix("<").removesuffix(">") for line in lines]
    return list(dict.fromkeys(filter(None, lines)))


class _Decoder:
    """Reads files, all in UTF-8 or in the encoding of the first one that is not."""

    def __init__(self, options: TableOptions) -> None:
        self._other = options.encoding
        self._left = options.max_bytes
        self._most = options.max_bytes
        self.encoding = options.encoding or "utf-8"

    def text(self, file: Path) -> str:
        """Return the text of a file."""
        data = open_data(file, max_bytes=self._most)
        self._left -= len(data)
        if self._left < 0:
            expected = f"at most {self._most} bytes in all documents (max_bytes)"
            raise DataFormatError(file, expected, "more")
        try:
            return data.decode(self.encoding).removeprefix("\ufeff")
        except UnicodeDecodeError:
            if self._other is None:
                self._other = find_encoding(lambda: [data], file, None)
            find_encoding(lambda: [data], file, self._other)
            return data.decode(self._other).removeprefix("\ufeff")
