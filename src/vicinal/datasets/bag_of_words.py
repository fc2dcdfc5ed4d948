"""Texts as bags of words, by scikit-learn's vectorisers."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from vicinal._base.arrays import Csr, Features
from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal._base.validation import check_integer, check_option
from vicinal.datasets.columns import by_content
from vicinal.datasets.files import FilePath
from vicinal.datasets.tables.text_cells import Text

WEIGHTINGS = ("binary", "counts", "tfidf")


class WordOptions(TypedDict, total=False):
    """Keyword arguments of :class:`Words`."""

    weighting: str
    vocabulary: Sequence[str] | None
    token_pattern: str
    lowercase: bool
    min_rows: int
    max_features: int | None


@dataclass(frozen=True)
class Words:
    r"""How texts become features.

    Parameters
    ----------
    weighting : {"binary", "counts", "tfidf"}
        ``"tfidf"`` takes document frequencies from all rows, test rows too; use
        ``vicinal.preprocess`` to fit on training rows only.
    vocabulary : sequence of str or None
        The features, in order; other tokens are ignored. By default all that occur, sorted.
    token_pattern : str
        Regular expression of a token.
    lowercase : bool
        Whether texts are converted to lower case first.
    min_rows : int
        Minimum number of rows in which a token must occur.
    max_features : int or None
        Maximum number of tokens; the most frequent ones are kept.

    Examples
    --------
    >>> words = Words(token_pattern=r"\w+")
    >>> words.cut("A tree, a house"), words.cut(["A tree"])
    (['a', 'tree', 'a', 'house'], ['A tree'])
    """

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
        raise DataFormatError(str(path), "texts with words to keep", str(error)) from None
    names = tuple(map(str, vectorizer.get_feature_names_out()))
    if words.weighting == "tfidf":
        counts = sparse.csr_array(TfidfTransformer().fit_transform(counts))
    return by_content(counts), names
