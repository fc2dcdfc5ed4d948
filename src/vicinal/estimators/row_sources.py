"""The rows to explain in their original form: numbers, or the texts they were made from."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from scipy import sparse

from vicinal._base.arrays import Csr, Features, stack_rows
from vicinal._base.validation import as_csr
from vicinal.preprocess import TextVectorizer, WordPlace


class RowSource(Protocol):
    """Rows that can be shown, and built again without some of their features."""

    def text(self, row: int) -> str | None:
        """Return the text of a row, or None if rows are numbers."""

    def word_places(self, text: str) -> list[WordPlace]:
        """Return the positions of those words of a text that are features."""

    def without(self, row: int, groups: Sequence[Collection[int]]) -> Features:
        """Return one copy of the row per group of columns, without these features."""


@dataclass(frozen=True, eq=False)
class PlainRows:
    """Rows of numbers. A feature is removed by setting it to 0.

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
        """Return an empty list: rows are numbers."""
        return []

    def without(self, row: int, groups: Sequence[Collection[int]]) -> Features:
        """Return one copy of the row per group of columns, without these features."""
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
    """Rows made from texts. A feature is removed by deleting its words before preprocessing.

    Parameters
    ----------
    texts : list of str
    vectorizer : TextVectorizer
    prepare : callable
        Turns texts into rows for the estimator.
    """

    texts: list[str]
    vectorizer: TextVectorizer
    prepare: Callable[[list[str]], Features]

    def text(self, row: int) -> str | None:
        """Return the text of a row."""
        return self.texts[row]

    def word_places(self, text: str) -> list[WordPlace]:
        """Return the positions of those words of a text that are features."""
        return self.vectorizer.word_places(text)

    def without(self, row: int, groups: Sequence[Collection[int]]) -> Features:
        """Return one copy of the row per group of columns, without these features."""
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
