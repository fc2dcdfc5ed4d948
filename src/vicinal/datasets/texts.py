"""Raw texts, for models that include a text vectoriser."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from vicinal._core.arrays import Csr, Features
from vicinal._core.checks import WEIGHTINGS, check_integer, check_option
from vicinal.datasets.data_files import DEFAULT_MAX_BYTES, FilePath, open_data
from vicinal.datasets.dataset import by_content
from vicinal.datasets.tables.content import Text, read_content
from vicinal.datasets.tables.csv import decode_table, find_encoding
from vicinal.datasets.tables.reading import Reading, TableOptions
from vicinal.datasets.tables.table_rows import TableFile, is_table
from vicinal.errors import DataFormatError, InvalidArgumentError


@dataclass(frozen=True)
class Texts:
    """Texts, with their label names and row names if the file contains them.

    ``reading`` states how a table was read; None for other files.
    """

    texts: list[str]
    labels: list[list[str]] | None = None
    row_names: tuple[str, ...] | None = None
    reading: Reading | None = None


def read_texts(
    path: FilePath,
    text: str | Sequence[str] | None = None,
    labels: str | None = "labels",
    *,
    label_columns: Sequence[str] | None = None,
    encoding: str | None = None,
    max_bytes: int = DEFAULT_MAX_BYTES,
    **options: Any,
) -> Texts:
    r"""Read the texts of a table (CSV, TSV, JSON, Parquet), or one text per line of another file.

    Parameters
    ----------
    path : path
        The file.
    text, encoding, max_bytes, **options
        As for :class:`TableOptions`. A list of tokens is joined by blanks.
    labels : str or None
        Column of the labels; None to omit them.
    label_columns : sequence of str or None
        Columns of 0 and 1, one per label, instead of `labels`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "notes.jsonl"
    ...     _ = path.write_text('{"text": "buy milk", "labels": ["home", "shop"]}\n')
    ...     texts = read_texts(path)
    >>> texts.texts, texts.labels
    (['buy milk'], [['home', 'shop']])
    """
    if not is_table(path):
        data = open_data(path, max_bytes=max_bytes)
        return Texts(decode_table(data, path, encoding).splitlines())
    how = TableOptions(
        text=(text,) if isinstance(text, str) else text,
        labels=None if label_columns is not None or labels == "labels" else labels,
        label_columns=label_columns,
        encoding=encoding,
        max_bytes=max_bytes,
        **options,
    )
    found = read_content(path, how, labelled=labels is not None or label_columns is not None)
    if not found.reading.reads_text_only:
        others = ", ".join(found.reading.numbers + found.reading.categories)
        raise InvalidArgumentError("text", "a column of text (text=)", f"columns {others}")
    return Texts(list(found.X), found.labels, found.row_names, found.reading)


def text_blocks(path: FilePath, block_rows: int, *, encoding: str | None = None) -> Iterator[Texts]:
    r"""Yield the texts of a file that has one per line, some at a time."""
    file = TableFile(Path(path), str(path), None)
    found = find_encoding(file.pieces, path, encoding)
    with file.open_text(found, None) as lines:
        texts = chain.from_iterable(line.splitlines() for line in lines)
        while block := list(islice(texts, block_rows)):
            yield Texts(block)


@dataclass(frozen=True)
class Words:
    r"""How texts become features."""

    weighting: str = "binary"
    vocabulary: Sequence[str] | None = None
    token_pattern: str = r"(?u)\b\w\w+\b"
    lowercase: bool = True
    min_rows: int = 1
    max_features: int | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        check_option("weighting", self.weighting, WEIGHTINGS)
        check_integer("min_rows", self.min_rows, low=1)
        if self.max_features is not None:
            check_integer("max_features", self.max_features, low=1)
        try:
            n_groups = re.compile(self.token_pattern).groups
        except re.error as error:
            expected = "a regular expression"
            raise InvalidArgumentError("token_pattern", expected, str(error)) from None
        if n_groups > 1:
            raise InvalidArgumentError("token_pattern", "at most one group", n_groups)
        known = self.vocabulary
        if known is not None and len(set(known)) != len(known):
            raise InvalidArgumentError("vocabulary", "different tokens", "a repeated token")

    def cut(self, text: Text) -> list[str]:
        """Return the tokens of a text; a list of tokens is returned unchanged."""
        if isinstance(text, list):
            return text
        return re.findall(self.token_pattern, text.lower() if self.lowercase else text)


def bag_of_words(
    texts: Sequence[Text], words: Words, path: FilePath
) -> tuple[Features, tuple[str, ...]]:
    """Return the features of texts, and their names."""
    if words.vocabulary is not None and not len(words.vocabulary):
        return np.zeros((len(texts), 0)), ()
    vectorizer = CountVectorizer(
        analyzer=words.cut,
        lowercase=False,
        binary=words.weighting == "binary",
        vocabulary=words.vocabulary,
        min_df=words.min_rows,
        max_features=words.max_features,
        dtype=np.float64,
    )
    try:
        counts: Csr = sparse.csr_array(vectorizer.fit_transform(texts))
    except ValueError as error:
        raise DataFormatError(path, "texts with words to keep", str(error)) from None
    names = tuple(map(str, vectorizer.get_feature_names_out()))
    if words.weighting == "tfidf":
        counts = sparse.csr_array(TfidfTransformer().fit_transform(counts))
    return by_content(counts), names
