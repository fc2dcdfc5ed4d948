"""Columns of data frames as features: texts, numbers, categories and dates."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from vicinal._core.arrays import Csr, Float
from vicinal._core.checks import all_or_nothing, check_flag
from vicinal._core.labels import is_missing
from vicinal._core.state import State, read_array, read_names, read_part
from vicinal._core.validation import has_text
from vicinal.datasets.tables.guess import is_identifier, kind_of, number_of
from vicinal.errors import InvalidArgumentError, ModelFormatError, logger
from vicinal.methods.fitted_state import index_names
from vicinal.persistence import register
from vicinal.preprocess import TextVectorizer
from vicinal.preprocess.languages import check_language

KINDS = ("text", "number", "date", "category")
_PLURALS = {
    "text": "texts", "number": "numbers", "date": "dates", "category": "categories",
}  # fmt: skip


class FrameColumns(TransformerMixin, BaseEstimator, auto_wrap_output_keys=None):
    """Turn the columns of a data frame into sparse rows.

    Each column is recognised as the command line recognises columns of a table, and the choice is
    logged. Texts become tf-idf weights of their words, of unit length per row; numbers and dates
    are scaled to [0, 1]; each category is a column of 0 and 1. Columns that only number or name
    the rows are left out.

    Parameters
    ----------
    language : str or None
        The language of the texts; see :class:`~vicinal.preprocess.TextVectorizer`.
    characters : bool
        Whether parts of long words are features too.

    Attributes
    ----------
    kinds_ : dict of str to str
        The kind of each column that is used: text, number, date or category.

    Examples
    --------
    >>> import pandas as pd
    >>> from vicinal import BRkNN, make_pipeline
    >>> titles = ["old red house", "deep blue sea", "small red boat"]
    >>> frame = pd.DataFrame({"title": titles, "year": [1990, 2005, 2010]})
    >>> model = make_pipeline(FrameColumns(), BRkNN(1, metric="cosine"))
    >>> model = model.fit(frame, [["land"], ["water"], ["land"]])
    >>> model[0].kinds_, model.predict_names(frame[:1])
    ({'title': 'text', 'year': 'number'}, [['land']])
    """

    kinds_: dict[str, str]
    words_: TextVectorizer | None
    low_: Float
    high_: Float
    categories_: list[list[str]]

    def __init__(self, *, language: str | None = "auto", characters: bool = False) -> None:
        self.language = language
        self.characters = characters

    def fit(self, X: Any, y: object = None) -> Self:
        """Recognise the columns and learn words, ranges and categories."""
        self.fit_transform(X)
        return self

    @all_or_nothing
    def fit_transform(self, X: Any, y: object = None, **fit_params: object) -> Csr:
        """Recognise the columns, and return the rows."""
        columns = _columns(X)
        self.kinds_ = _kinds(columns)
        texts, numbers = self._texts(columns), self._numbers(columns)
        self.low_ = numbers.min(axis=0, initial=np.inf)
        self.high_ = numbers.max(axis=0, initial=-np.inf)
        self.categories_ = [
            sorted(set(_category_names(columns[name]))) for name in self._named("category")
        ]
        self.words_ = None
        if texts is not None:
            words = TextVectorizer(
                weighting="tfidf", language=self.language, characters=self.characters
            )
            self.words_ = words.fit(texts)
        return self._rows(columns)

    def transform(self, X: Any) -> Csr:
        """Return the rows of a frame that has the columns of the training frame, in any order."""
        check_is_fitted(self)
        columns = _columns(X)
        missing = [name for name in self.kinds_ if name not in columns]
        if missing:
            expected = f"a frame with the columns {', '.join(self.kinds_)}"
            raise InvalidArgumentError("X", expected, f"no column {missing[0]!r}")
        return self._rows(columns)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[Any]:
        """Return the words, the columns of numbers and dates, and ``column=category``."""
        check_is_fitted(self)
        names = [] if self.words_ is None else list(map(str, self.words_.vocabulary_))
        names += [*self._named("number"), *self._named("date")]
        for name, values in zip(self._named("category"), self.categories_, strict=True):
            names += [f"{name}={value}" for value in values]
        return np.array(names, dtype=object)

    def _named(self, kind: str) -> list[str]:
        return [name for name, own in self.kinds_.items() if own == kind]

    def _texts(self, columns: Mapping[str, Sequence[Any]]) -> list[str] | None:
        """Return the texts of each row on a line each; None if there are no texts."""
        names = self._named("text")
        if not names:
            return None
        rows = zip(*(columns[name] for name in names), strict=True)
        return ["\n".join(cell for cell in row if isinstance(cell, str)) for row in rows]

    def _numbers(self, columns: Mapping[str, Sequence[Any]]) -> Float:
        """Return numbers and dates as columns of floats."""
        named = [*self._named("number"), *self._named("date")]
        found = [_floats(columns[name], name) for name in named]
        n_rows = len(next(iter(columns.values())))
        return np.column_stack(found) if found else np.zeros((n_rows, 0))

    def _rows(self, columns: Mapping[str, Sequence[Any]]) -> Csr:
        """Return the features of a frame with these columns."""
        blocks: list[Any] = []
        texts = self._texts(columns)
        if self.words_ is not None and texts is not None:
            blocks.append(self.words_.transform(texts))
        spans = np.where(self.high_ > self.low_, self.high_ - self.low_, 1.0)
        blocks.append(sparse.csr_array((self._numbers(columns) - self.low_) / spans))
        for name, known in zip(self._named("category"), self.categories_, strict=True):
            blocks.append(_one_hot(_category_names(columns[name]), known))
        return sparse.csr_array(sparse.hstack(blocks, format="csr"))

    def get_state(self) -> dict[str, State]:
        """Return the parameters and what was learned about each column."""
        check_is_fitted(self)
        return {
            "language": check_language(self.language),
            "characters": check_flag("characters", self.characters),
            "columns": list(self.kinds_),
            "kinds": list(self.kinds_.values()),
            "words": self.words_,
            "low": self.low_,
            "high": self.high_,
            "categories": [list(values) for values in self.categories_],
        }

    @classmethod
    def from_state(cls, state: Mapping[str, State]) -> Self:
        """Build from :meth:`get_state`, checked."""
        language, characters = state.get("language"), state.get("characters")
        if not isinstance(characters, bool) or not isinstance(language, str | None):
            raise ModelFormatError("language: expected text or null, and characters true or false")
        self = cls(language=language, characters=characters)
        names, kinds = read_names(state, "columns"), read_names(state, "kinds")
        if len(names) != len(kinds) or not names or not set(kinds) <= set(KINDS):
            raise ModelFormatError(f"kinds: expected one of {', '.join(KINDS)} per column")
        self.kinds_ = dict(zip(names, kinds, strict=True))
        n_numbers = len(self._named("number")) + len(self._named("date"))
        self.low_ = read_array(state, "low", np.float64, (n_numbers,))
        self.high_ = read_array(state, "high", np.float64, (n_numbers,))
        unread = state.get("words") is None
        self.words_ = None if unread else read_part(state, "words", TextVectorizer)
        lists = read_part(state, "categories", list)
        self.categories_ = [list(read_names({"x": each}, "x")) for each in lists]
        sizes = len(self.categories_) == len(self._named("category"))
        if unread == bool(self._named("text")) or not sizes:
            raise ModelFormatError("expected words and categories of the columns")
        return self


register("methods.FrameColumns", FrameColumns)


def is_mixed(X: Any) -> bool:
    """Tell whether `X` is a data frame with texts, categories or dates."""
    names = getattr(X, "columns", None)
    if names is None or len(getattr(X, "shape", ())) != 2 or sparse.issparse(X):
        return False
    return any(
        has_text(X[name]) or str(getattr(X[name], "dtype", "")).lower().startswith("date")
        for name in names
    )


def identifiers(X: Any) -> list[str] | None:
    """Return the first column of a mixed frame that only identifies its rows; None without one."""
    if index_names(X) is not None or not is_mixed(X):
        return None
    columns = _columns(X)
    named = [cells for cells in columns.values() if is_identifier(cells)]
    return list(map(str, named[0])) if 0 < len(named) < len(columns) else None


def _columns(X: Any) -> dict[str, list[Any]]:
    """Return the cells of a pandas or polars frame by column."""
    names = getattr(X, "columns", None)
    if names is None or not hasattr(X, "shape") or len(X.shape) != 2:
        raise InvalidArgumentError("X", "a data frame", type(X).__name__)
    columns = {str(name): list(X[name].to_list()) for name in names}
    for name, cells in columns.items():
        if any(hasattr(cell, "__len__") and not isinstance(cell, str) for cell in cells):
            expected = "texts, numbers, dates or categories"
            hint = "make_views puts vectors next to other columns"
            raise InvalidArgumentError("X", expected, f"lists in column {name!r}", hint)
    if not columns or not X.shape[0] or len(columns) < len(names):
        got = f"shape {tuple(X.shape)}"
        raise InvalidArgumentError("X", "a data frame with rows and different columns", got)
    return columns


def _kinds(columns: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """Return the kind of each column that is used, and log it."""
    left_out = [name for name, cells in columns.items() if is_identifier(cells)]
    left_out = [] if len(left_out) == len(columns) else left_out
    kinds: dict[str, str] = {
        name: kind_of([None if is_missing(cell) else cell for cell in cells])
        for name, cells in columns.items()
        if name not in left_out
    }
    described = [
        f"{_PLURALS[kind]} {', '.join(name for name, own in kinds.items() if own == kind)}"
        for kind in KINDS
        if kind in kinds.values()
    ]
    besides = f"; not used: {', '.join(left_out)}" if left_out else ""
    logger.info("columns: %s%s (choose others with X[[...]])", "; ".join(described), besides)
    return kinds


def _floats(cells: Sequence[Any], name: str) -> Float:
    """Return cells as numbers, or raise an error that names the column and the row."""
    values = [None if is_missing(cell) else number_of(cell) for cell in cells]
    for row, value in enumerate(values):
        if value is None or not math.isfinite(value):
            got = "a missing value" if is_missing(cells[row]) else "another value"
            where = f"{got} in column {name!r}, row {row}"
            hint = "fillna fills missing values" if is_missing(cells[row]) else ""
            raise InvalidArgumentError("X", "numbers or dates", where, hint)
    return np.array(values, dtype=np.float64)


def _category_names(cells: Sequence[Any]) -> list[str]:
    return ["" if is_missing(cell) else str(cell).strip() for cell in cells]


def _one_hot(values: Sequence[str], known: Sequence[str]) -> Csr:
    """Return one column per known category; other categories have none."""
    place = {value: column for column, value in enumerate(known)}
    rows = [row for row, value in enumerate(values) if value in place]
    columns = [place[values[row]] for row in rows]
    shape = (len(values), len(known))
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
