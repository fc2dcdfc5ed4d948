"""Texts as bags of words, by scikit-learn's vectorisers."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

from vicinal._base.arrays import Csr, Features
from vicinal._base.errors import DataFormatError, InvalidArgumentError
from vicinal._base.validation import check_integer, check_option
from vicinal.datasets.columns import by_content
from vicinal.datasets.files import FilePath

Text: TypeAlias = str | list[str]
"""A text, or the tokens it has been cut into already."""

WEIGHTINGS = ("binary", "counts", "tfidf")


def tokenizer(token_pattern: str, lowercase: bool) -> Callable[[Text], list[str]]:
    r"""Return the function that cuts a text into tokens and leaves ready tokens alone.

    Examples
    --------
    >>> cut = tokenizer(r"\w+", lowercase=True)
    >>> cut("A tree, a house"), cut(["A tree"])
    (['a', 'tree', 'a', 'house'], ['A tree'])
    """
    try:
        pattern = re.compile(token_pattern)
    except re.error as error:
        raise InvalidArgumentError("token_pattern", "a regular expression", str(error)) from None
    if pattern.groups > 1:
        raise InvalidArgumentError("token_pattern", "at most one group", pattern.groups)

    def cut(text: Text) -> list[str]:
        if isinstance(text, list):
            return text
        return pattern.findall(text.lower() if lowercase else text)

    return cut


def bag_of_words(
    texts: Sequence[Text],
    cut: Callable[[Text], list[str]],
    weighting: str,
    vocabulary: Sequence[str] | None,
    min_rows: int,
    max_features: int | None,
    path: FilePath,
) -> tuple[Features, tuple[str, ...]]:
    """Return the features of texts and their names, sorted unless a vocabulary gives the order."""
    check_option("weighting", weighting, WEIGHTINGS)
    check_integer("min_rows", min_rows, low=1)
    if vocabulary is not None and not len(vocabulary):
        return np.zeros((len(texts), 0)), ()
    vectorizer = CountVectorizer(
        analyzer=cut,
        lowercase=False,
        binary=weighting == "binary",
        vocabulary=vocabulary,
        min_df=min_rows,
        max_features=max_features,
        dtype=np.float64,
    )
    try:
        counts: Csr = sparse.csr_array(vectorizer.fit_transform(texts))
    except ValueError as error:
        raise DataFormatError(str(path), "texts with words to keep", str(error)) from None
    names = tuple(map(str, vectorizer.get_feature_names_out()))
    if weighting == "tfidf":
        counts = sparse.csr_array(TfidfTransformer().fit_transform(counts))
    return by_content(counts), names
