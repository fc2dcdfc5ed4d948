"""Rows to be explained, as they came: numbers, or texts that were turned into numbers."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, stack_rows
from vicinal._base.validation import as_csr
from vicinal.preprocess import TextVectorizer, WordPlace


class RowSource(Protocol):
    """Rows that can be shown, and made again without some of their features."""

    def text(self, row: int) -> str | None:
        """Return the text of a row, None where rows are numbers."""

    def word_places(self, text: str) -> list[WordPlace]:
        """Return where the words of a text stand that are features."""

    def without(self, row: int, groups: Sequence[Collection[int]]) -> Features:
        """Return the row once for each group of columns, without these features."""


@dataclass(frozen=True, eq=False)
class PlainRows:
    """Rows of numbers. A feature is removed by making it 0.

    Examples
    --------
    >>> PlainRows(np.array([[1.0, 2.0]])).without(0, [[0], [0, 1]])
    array([[0., 2.],
           [0., 0.]])
    """

    X: Features

    def text(self, row: int) -> str | None:
        """Return None: rows are numbers."""
        return None

    def word_places(self, text: str) -> list[WordPlace]:
        """Return nothing: rows are numbers."""
        return []

    def without(self, row: int, groups: Sequence[Collection[int]]) -> Features:
        """Return the row once for each group of columns, without these features."""
        one = as_csr(self.X[row : row + 1])
        changed = []
        for columns in groups:
            kept = ~np.isin(one.indices, list(columns))
            parts = (one.data[kept], one.indices[kept], np.array([0, np.count_nonzero(kept)]))
            changed.append(cast("Csr", sparse.csr_array(parts, shape=one.shape)))
        rows = stack_rows(changed)
        return rows if sparse.issparse(self.X) else rows.toarray()


@dataclass(frozen=True, eq=False)
class TextRows:
    """Rows that were texts. A feature is removed by deleting its words, and preparing anew.

    Parameters
    ----------
    texts : list of str
    vectorizer : TextVectorizer
    prepare : callable
        Texts to the rows that the estimator takes.
    """

    texts: list[str]
    vectorizer: TextVectorizer
    prepare: Callable[[list[str]], Features]

    def text(self, row: int) -> str | None:
        """Return the text of a row."""
        return self.texts[row]

    def word_places(self, text: str) -> list[WordPlace]:
        """Return where the words of a text stand that are features."""
        return self.vectorizer.word_places(text)

    def without(self, row: int, groups: Sequence[Collection[int]]) -> Features:
        """Return the row once for each group of columns, without these features."""
        text = self.texts[row]
        places = self.word_places(text)
        return self.prepare([without_words(text, places, set(columns)) for columns in groups])


def without_words(text: str, places: Sequence[WordPlace], columns: Collection[int]) -> str:
    """Return a text without the words of these columns.

    Examples
    --------
    >>> without_words("row a boat", [WordPlace(0, 3, (7,)), WordPlace(6, 10, (2,))], {7})
    ' a boat'
    """
    kept, done = [], 0
    for place in places:
        if any(column in columns for column in place.columns):
            kept.append(text[done : place.start])
            done = place.stop
    return "".join([*kept, text[done:]])
